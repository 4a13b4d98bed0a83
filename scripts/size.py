"""Count what a newcomer has to hold: code, files, rooms, helpers used once, circles of imports, words of the docs.

    python scripts/size.py [FOLDER]
    python scripts/size.py --pages    # words of every page

Code lines are neither blank nor comment nor docstring. A helper used once is a private function whose name stands once
in its file beside its definition. Circles are sets of modules that import each other, lazily and for types too.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

Definition = ast.FunctionDef | ast.AsyncFunctionDef


def docstring_lines(tree: ast.Module) -> set[int]:
    """Lines of the docstrings of a module."""
    lines = set()
    for node in ast.walk(tree):
        documented = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        if documented and ast.get_docstring(node, clean=False) is not None:
            lines |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def code_lines(text: str, tree: ast.Module) -> int:
    """Lines of code of a module."""
    documented = docstring_lines(tree)
    lines = enumerate(map(str.strip, text.splitlines()), start=1)
    return sum(bool(line) and not line.startswith("#") and number not in documented for number, line in lines)


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


def main() -> None:
    """Print the counts of the package in a folder, by default this checkout."""
    if sys.argv[1:] == ["--pages"]:
        root = Path(__file__).parents[1]
        for counts, total in ((words(root), "all of README and site"), (other_words(root), "all others")):
            for page, count in [*sorted(counts.items(), key=lambda one: -one[1]), (total, sum(counts.values()))]:
                print(f"{page:<40}{count:>8,}")
        return
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
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
        "files": len(texts),
        "rooms": len(rooms),
        "private functions": sum(every for every, _ in helpers),
        "of these used once": sum(once for _, once in helpers),
        "circles of imports": len(circles(graph)),
        "words of README and site": sum(words(root).values()),
    }
    for name, count in rows.items():
        print(f"{name:<34}{count:>8,}")
    print("code lines by room: " + ", ".join(f"{name} {lines:,}" for name, lines in code.most_common()))
    for one in circles(graph):
        print("circle: " + ", ".join(one))


if __name__ == "__main__":
    main()
