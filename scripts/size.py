"""Count what a newcomer has to hold: code, files, rooms, helpers used once, circles of imports, words of the docs.

    python scripts/size.py [FOLDER] [--run]    # --run: what one small run touches, too
    python scripts/size.py --pages             # words of every page

Code lines are neither blank nor comment nor docstring, those of attributes included. A helper used once is a private
function whose name stands once in its file beside its definition. Circles are sets of modules that import each other,
lazily and for types too.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import is_dataclass
from pathlib import Path
from types import CodeType, FrameType

Definition = ast.FunctionDef | ast.AsyncFunctionDef


def docstrings(tree: ast.Module) -> list[ast.Expr]:
    """Texts that stand by themselves: docstrings, those of attributes too."""
    alone = (node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    return [node for node in alone if isinstance(node.value.value, str)]


def code_lines(text: str, tree: ast.Module) -> int:
    """Lines of code of a module."""
    documented = {n for one in docstrings(tree) for n in range(one.lineno, (one.end_lineno or one.lineno) + 1)}
    lines = enumerate(map(str.strip, text.splitlines()), start=1)
    return sum(bool(line) and not line.startswith("#") and number not in documented for number, line in lines)


def tokens(text: str, tree: ast.Module) -> int:
    """Words and signs of a module's code: no comments, no docstrings, no ends of lines."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    every = sum(one.type not in skipped for one in tokenize.generate_tokens(io.StringIO(text).readline))
    # a docstring is one token
    return every - len(docstrings(tree))


def string_characters(tree: ast.Module) -> int:
    """Characters of the strings in a module's code, those between the braces of f-strings too; no docstrings."""
    documented = {id(one.value) for one in docstrings(tree)}
    strings = (one for one in ast.walk(tree) if isinstance(one, ast.Constant) and id(one) not in documented)
    return sum(len(one.value) for one in strings if isinstance(one.value, str))


def used_once(text: str, tree: ast.Module) -> tuple[int, int]:
    """Private functions of a module, and those used once."""
    names = [one.name for one in ast.walk(tree) if isinstance(one, Definition)]
    private = [name for name in names if name.startswith("_") and not name.startswith("__")]
    words = Counter(re.findall(r"\w+", text))
    return len(private), sum(words[name] == 2 for name in private)


def imports(tree: ast.Module, module: str, package: bool, known: set[str]) -> Iterator[str]:
    """Name the modules among the known that a module imports anywhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in known)
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".")[: None if package else -1]
            base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            source = ".".join(part for part in (base, node.module) if part)
            for one in node.names:
                if f"{source}.{one.name}" in known:
                    yield f"{source}.{one.name}"
                elif source in known:
                    yield source


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Find the sets of modules that reach each other: strongly connected components of two or more."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    names = sorted(graph)
    at = {name: number for number, name in enumerate(names)}
    pairs = [(at[one], at[other]) for one in names for other in graph[one] if other != one]
    matrix = csr_matrix(([1] * len(pairs), tuple(zip(*pairs, strict=True))), shape=(len(names), len(names)))
    _, component = connected_components(matrix, connection="strong")
    together: dict[int, list[str]] = {}
    for name, number in zip(names, component, strict=True):
        together.setdefault(int(number), []).append(name)
    return [one for one in together.values() if len(one) > 1]


def words(root: Path) -> dict[str, int]:
    """Count the words of the README and of every page of the site that is written by hand."""
    built = {root / "docs" / folder for folder in ("_build", "auto_gallery", "reference", "made")}
    kept = [page for page in sorted((root / "docs").rglob("*.md")) if not built & set(page.parents)]
    return _counted(root, [root / "README.md", *kept])


def other_words(root: Path) -> dict[str, int]:
    """Count the words for those who work on the code: other pages at the root, and the notes of what was measured."""
    notes = [*(root / "benchmarks" / "notes").rglob("*.md"), *(root / "examples").rglob("*.md")]
    return _counted(root, [*(page for page in sorted(root.glob("*.md")) if page.name != "README.md"), *sorted(notes)])


def _counted(root: Path, pages: Iterable[Path]) -> dict[str, int]:
    return {str(page.relative_to(root)): len(page.read_text(encoding="utf-8").split()) for page in pages}


def touched(root: Path) -> dict[str, int]:
    """Count what one small run touches from the file of its rows to its page: 200 rows, a name and a number each.

    Functions are those of the package that are called, comprehensions aside; a generator counts where it starts. A kind
    of dataclass is a class of the package of which one is made: dataclass or document. An edge leads from a file to
    another whose function it calls.
    """
    source = str(root / "src" / "miscal")
    sys.path.insert(0, str(root / "src"))
    from miscal.cli import main as miscal

    calls: Counter[tuple[CodeType, int]] = Counter()
    edges, kinds = set(), set()

    def seen(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call":
            return
        if code.co_name == "__init__" and "self" in frame.f_locals:
            kind = type(frame.f_locals["self"])
            if kind.__module__.startswith("miscal.") and (is_dataclass(kind) or hasattr(kind, "model_fields")):
                kinds.add(kind)
        # bodies of modules and classes keep their names in a dictionary; "<listcomp>" and its like have no name
        if not code.co_filename.startswith(source) or not code.co_flags & inspect.CO_OPTIMIZED or "<" in code.co_name:
            return
        calls[code, frame.f_lasti] += 1
        caller = frame.f_back and frame.f_back.f_code.co_filename
        if caller and caller.startswith(source) and caller != code.co_filename:
            edges.add((caller, code.co_filename))

    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.csv"
        lines = (f"{0.5 + i % 50 / 100:.2f},{int(i % 3 > i % 2)},{'ab'[i % 2]},{i % 7}" for i in range(200))
        rows.write_text("\n".join(["confidence,correct,kind,age", *lines]) + "\n", encoding="utf-8")
        sys.setprofile(seen)
        threading.setprofile(seen)
        try:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                status = miscal(["discover", str(rows), "--out", str(Path(folder) / "run")])
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    if status:
        raise SystemExit(f"the run ended with status {status}")
    starts: dict[CodeType, int] = {}
    for code, at in calls:
        starts[code] = min(at, starts.get(code, at))
    return {
        "files": len({code.co_filename for code in starts}),
        "functions": len(starts),
        "functions called once": sum(calls[code, at] == 1 for code, at in starts.items()),
        "kinds of dataclass": len(kinds),
        "edges between files": len(edges),
    }


def main() -> None:
    """Print the counts of the package in a folder, by default this checkout."""
    if sys.argv[1:] == ["--pages"]:
        root = Path(__file__).parents[1]
        for counts, total in ((words(root), "all of README and site"), (other_words(root), "all others")):
            for page, count in [*sorted(counts.items(), key=lambda one: -one[1]), (total, sum(counts.values()))]:
                print(f"{page:<40}{count:>8,}")
        return
    folders = [one for one in sys.argv[1:] if one != "--run"]
    root = Path(folders[0]).resolve() if folders else Path(__file__).parents[1]
    source = root / "src" / "miscal"
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(source.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    modules = {path: ".".join(("miscal", *path.relative_to(source).with_suffix("").parts)) for path in texts}
    modules = {path: name.removesuffix(".__init__") for path, name in modules.items()}
    known = set(modules.values())
    graph = {name: set(imports(trees[path], name, path.name == "__init__.py", known)) for path, name in modules.items()}
    code: Counter[str] = Counter()
    for path, text in texts.items():
        code[path.relative_to(source).parts[0].removesuffix(".py")] += code_lines(text, trees[path])
    others = [one for one in source.rglob("*") if one.suffix in (".html", ".css", ".js", ".jinja")]
    drawn = sum(bool(line.strip()) for one in others for line in one.read_text(encoding="utf-8").splitlines())
    helpers = [used_once(text, trees[path]) for path, text in texts.items()]
    rooms = [one for one in source.iterdir() if one.is_dir() and (one / "__init__.py").exists()]
    rows = {
        "code lines": sum(code.values()),
        "with templates, styles, scripts": sum(code.values()) + drawn,
        "lines": sum(text.count("\n") for text in texts.values()),
        "tokens": sum(tokens(text, trees[path]) for path, text in texts.items()),
        "characters of strings": sum(map(string_characters, trees.values())),
        "files": len(texts),
        "rooms": len(rooms),
        "private functions": sum(every for every, _ in helpers),
        "of these used once": sum(once for _, once in helpers),
        "circles of imports": len(circles(graph)),
        "words of README and site": sum(words(root).values()),
    }
    if "--run" in sys.argv[1:]:
        rows |= {f"a run: {name}": count for name, count in touched(root).items()}
    for name, count in rows.items():
        print(f"{name:<34}{count:>8,}")
    print("code lines by room: " + ", ".join(f"{name} {lines:,}" for name, lines in code.most_common()))
    for one in circles(graph):
        print("circle: " + ", ".join(one))


if __name__ == "__main__":
    main()
