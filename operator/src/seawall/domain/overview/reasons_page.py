"""docs/conditions.md, which is written from the code and comes with it: what each reason means, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

PAGE = "conditions.md"


def read_page() -> str:
    """The page, as Markdown."""
    return (files("seawall.domain.overview") / PAGE).read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table of the page: where it stands, and its cells by their headings."""

    section: str
    cells: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The word that it explains."""
        return self.cells[0][1].strip("`")


def sections_of(page: str) -> dict[str, str]:
    """Heading → text, without tables and marks."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in page.splitlines():
        if line.startswith("#"):
            title = line.lstrip("# ")
        elif not line.startswith(("|", "<!--")):
            found.setdefault(title, []).append(line)
    return {title: "\n".join(lines).strip() for title, lines in found.items()}


def rows_of(page: str) -> Iterator[Row]:
    """The rows of its generated tables."""
    title, head = "", None
    for line in page.splitlines():
        if line.startswith("#"):
            title = line.lstrip("# ")
        if not line.startswith("|"):
            head = None
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if head is None:
            head = cells
        elif cells[0].startswith("`"):
            yield Row(title, tuple(zip(head, cells, strict=True)))


def plain(text: str) -> str:
    """Markdown as a terminal shows it: links name their page."""
    linked = re.sub(r"\[([^\]]+)\]\((?!#)([^)]+)\)", lambda found: _link(*found.groups()), text)
    linked = re.sub(r"\[([^\]]+)\]\(#[^)]+\)", r"\1", linked)
    return linked.replace("**", "").replace("&lt;", "<").replace("`", "")


def _link(text: str, target: str) -> str:
    page = target if "://" in target else f"docs/{target}"
    return page if text in {target, target.partition("#")[0]} else f"{text} ({page})"
