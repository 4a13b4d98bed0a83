"""Follow every link within the site as it is built, to its page and anchor: `python scripts/site_links.py DIR`.

Prints how many there are, and ends with 1 where one leads nowhere. Links to other sites are not followed.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Anchors of a page, and what it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the names and the addresses of an element."""
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")
            elif name == "href" or (name == "src" and tag in ("img", "script")):
                self.links.add(value or "")


def main() -> int:
    """Print the links that lead nowhere, and their number."""
    root = Path(sys.argv[1]).resolve()
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.html"))
        if "_static" not in path.parts
    }
    followed, dead = 0, []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            followed += 1
            place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            found = (
                place in pages and unquote(parts.fragment) in pages[place].anchors if parts.fragment else place.exists()
            )
            if not found:
                dead.append(f"{path.relative_to(root)}: {link}")
    print("\n".join([*dead, f"{len(pages)} pages, {followed:,} links within the site, {len(dead)} dead"]))
    return bool(dead)


if __name__ == "__main__":
    sys.exit(main())
