"""The prompts are the paper's to the letter, and nothing put into them is changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.base.errors import FileError, InputError
from miscal.scoring.questions import MULTIPLE_CHOICE, PREFERENCE, check_template, lettered, read_template, render


def test_multiple_choice_prompt_is_the_papers():
    shown = render(MULTIPLE_CHOICE, question="Why?", choices=lettered(("x", "y")))
    assert shown == "Question: Why?\n\nA. x\nB. y\n\nThe correct answer is:"


def test_preference_prompt_is_the_papers():
    shown = render(PREFERENCE, prompt="P", response_a="one", response_b="two")
    assert shown.split("\n") == [
        "Act as an impartial judge and evaluate the quality of two candidate responses (Response A and Response B) to "
        "the user query displayed below. Make your decision based on which response is more helpful while not being "
        "harmful.",
        "",
        "## Context and Query:",
        "P",
        "",
        "## Response A:",
        "one",
        "",
        "## Response B:",
        "two",
        "",
        "## Your Choice:",
        "In this context, the Assistant should respond with Response ",
    ]


@given(st.text(), st.lists(st.text(), min_size=2, max_size=26))
def test_question_and_choices_stay_verbatim(question, choices):
    shown = render(MULTIPLE_CHOICE, question=question, choices=lettered(tuple(choices)))
    start = f"Question: {question}\n\nA. {choices[0]}\nB. {choices[1]}"
    assert shown.startswith(start)
    assert shown.endswith(f". {choices[-1]}\n\nThe correct answer is:")


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{question}", "choices"),
        ("{question} {choices} {other}", "other"),
        ("{question} {choices} is: ", "white space"),
        ("{question.__class__} {choices}", "question"),
        ("{prompt} {response_a} {response_b}\n", "white space"),
        ("{prompt} {response_a} {response_b}  ", "white space"),
    ],
)
def test_wrong_templates_are_refused(template, said):
    with pytest.raises(InputError, match=said):
        check_template(template, "preference" if "{prompt}" in template else "choice")


def test_a_template_file_loses_one_line_break_and_nothing_else(tmp_path):
    path = tmp_path / "prompt.txt"
    path.write_text("\n{question}\n{choices}\nAnswer:\n", encoding="utf-8")
    assert read_template(path, "choice") == "\n{question}\n{choices}\nAnswer:"
    path.write_bytes(b"\xff\xfe{question}")
    with pytest.raises(FileError, match="UTF-8"):
        read_template(path, "choice")
