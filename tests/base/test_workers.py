"""Workers: the same results whoever computes, few at a time, and what a fault or the end of a process costs."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.errors import InputError
from miscal.base.workers import InProcess, LostWorker, Processes, Threads, WorkItem, _Worker, choose_workers

pytestmark = pytest.mark.whole

THREADS = "[one['num_threads'] for one in __import__('threadpoolctl').threadpool_info()]"


@pytest.fixture(scope="module")
def processes():
    with Processes(2, remedy="give fewer") as workers:
        yield workers


def squares(n):
    return [WorkItem(f"square {k}", pow, (k, 2), key=k) for k in range(n)]


@settings(max_examples=10)
@given(n=st.integers(0, 6), threads=st.integers(1, 4))
def test_threads_compute_what_this_process_does(n, threads):
    expected = [(ended.task.key, ended.result()) for ended in InProcess().run(squares(n))]
    assert expected == [(k, k * k) for k in range(n)]
    with Threads(threads) as workers:
        assert sorted((ended.task.key, ended.result()) for ended in workers.run(squares(n))) == expected


def test_processes_compute_what_this_process_does(processes):
    assert sorted((ended.task.key, ended.result()) for ended in processes.run(squares(5))) == [
        (k, k * k) for k in range(5)
    ]


@pytest.mark.parametrize("make", [InProcess, lambda: Threads(2)])
def test_no_more_tasks_are_begun_than_there_is_room_for(make):
    asked = []

    def tasks():
        for task in squares(20):
            asked.append(task.key)
            yield task

    with make() as workers:
        for done, _ in enumerate(workers.run(tasks())):
            assert len(asked) - done <= workers.room
    assert asked == list(range(20))


def test_a_task_may_wait_for_others():
    begun, ended = [], 0

    def tasks():
        for task in squares(6):
            while task.key % 3 == 0 and ended < task.key:
                yield None
            begun.append((task.key, ended))
            yield task

    with Threads(4) as workers:
        for _ in workers.run(tasks()):
            ended += 1
    assert [n for key, n in begun if key % 3 == 0] == [0, 3]


@pytest.mark.parametrize("make", [InProcess, lambda: Threads(2), None])
def test_an_error_names_its_task_and_ends_no_other(make, processes):
    tasks = [
        WorkItem("the bad one", int, ("x",)),
        *squares(3),
        WorkItem("the wrong one", choose_workers, ("slurm", None)),
    ]
    workers = make() if make else processes
    ended = {one.task.name: one for one in workers.run(tasks)}
    assert sorted(one.value for one in ended.values() if one.error is None) == [0, 1, 4]
    with pytest.raises(ValueError, match="invalid literal") as raised:
        ended["the bad one"].result()
    assert "while the bad one was computed" in raised.value.__notes__
    # what is said to the user is said as it is
    with pytest.raises(InputError, match=r"^engine must be one of local, ray; got 'slurm'$"):
        ended["the wrong one"].result()
    if make:
        workers.close()


def waited(number, seconds, fails):
    time.sleep(seconds)
    if fails:
        raise InputError(f"number {number} is wrong")
    return number


@pytest.mark.parametrize("slow", [0, 1])
def test_of_several_errors_that_of_the_first_task_is_raised_when_the_others_have_ended(slow):
    tasks = [WorkItem(str(n), waited, (n, 0.2 * (n == slow), n in (0, 1, 9)), n) for n in range(10)]
    got = []
    with Threads(2) as workers, pytest.raises(InputError, match=r"^number 0 is wrong$"):
        got.extend(key for key, _ in workers.results(tasks))
    # what had begun was waited for, and nothing began after
    assert set(got) <= {2, 3}
    assert list(InProcess().results(tasks[2:9])) == [(n, n) for n in range(2, 9)]


def test_a_process_that_is_ended_costs_its_own_task_and_is_replaced(processes):
    ended = {
        one.task.key: one for one in processes.run([WorkItem("the lost one", os._exit, (9,), "lost"), *squares(4)])
    }
    assert [ended[k].result() for k in range(4)] == [0, 1, 4, 9]
    with pytest.raises(LostWorker, match=r"^the lost one: the process .* ended from outside.*: give fewer$"):
        ended["lost"].result()
    assert isinstance(ended["lost"].error, LostWorker)


def test_another_task_may_take_the_place_of_one_whose_process_is_ended(processes):
    (last,) = squares(1)
    once = WorkItem("half", os._exit, (9,), "half", instead=last)
    ended = list(processes.run([WorkItem("whole", os._exit, (9,), "whole", instead=once)]))
    assert [(one.task.key, one.result()) for one in ended] == [(0, 0)]


def test_a_worker_computes_on_one_thread_unless_the_task_decides(processes):
    # the array brings its library's threads with it
    seen = [WorkItem(str(one), eval, (THREADS, {"x": np.zeros(1)}), one_thread=one) for one in (True, False)]
    counts = {ended.task.name: ended.result() for ended in processes.run(seen)}
    assert set(counts["True"]) == {1}
    with Threads(2) as workers:
        assert set(next(iter(workers.run(seen))).result()) == {1}


def test_closing_ends_what_is_computed():
    with Processes(1) as workers:
        workers.submit(WorkItem("pid", os.getpid))
        pid = workers.next().result()
        workers.submit(WorkItem("long", time.sleep, (1000,)))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_ctrl_c_is_left_to_the_process_that_started_the_others(processes):
    processes.submit(WorkItem("pid", os.getpid))
    pid = processes.next().result()
    os.kill(pid, signal.SIGINT)
    processes.submit(WorkItem("pid", os.getpid))
    assert processes.next().error is None


def test_each_process_sees_its_own_gpu():
    workers = Processes(3, ("5", "GPU-ab"))
    assert (workers.room, workers.gpus, Processes(2).gpus) == (3, 2, 0)
    with workers:
        assert [worker.gpu for worker in workers._free] == ["5", "GPU-ab", "5"]
        seen = [worker.pool.submit(os.getenv, "CUDA_VISIBLE_DEVICES").result() for worker in workers._free[:2]]
        assert seen == ["5", "GPU-ab"]


def test_without_gpus_to_deal_a_process_sees_what_its_parent_does(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    worker = _Worker.on(None)
    try:
        assert worker.pool.submit(os.getenv, "CUDA_VISIBLE_DEVICES").result() == "3"
    finally:
        worker.pool.shutdown()


def test_threads_are_of_this_process():
    with Threads(2) as workers:
        names = {ended.result().name for ended in workers.run([WorkItem("name", threading.current_thread)] * 4)}
    assert threading.current_thread().name not in names
    assert len(names) <= 2


def deaf(path):
    """Lose the exit that a signal asks for, as a library does that calls back while it comes."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    path.touch()
    time.sleep(1000)


def test_a_process_that_does_not_hear_is_ended_all_the_same(monkeypatch, tmp_path):
    monkeypatch.setattr("miscal.base.workers.GRACE_SECONDS", 0.2)
    with Processes(1) as workers:
        workers.submit(WorkItem("pid", os.getpid))
        pid = workers.next().result()
        workers.submit(WorkItem("deaf", deaf, (tmp_path / "deaf",)))
        while not (tmp_path / "deaf").exists():
            time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
