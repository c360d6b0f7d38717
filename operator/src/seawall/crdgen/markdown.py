"""Tables in Markdown whose rows stay rows, whatever is in them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_CODE = re.compile(r"(`[^`]*`)")
_PAGE = re.compile(r"docs/([\w-]+\.md)(#[\w-]+)?")


class PageError(ValueError):
    """A table cannot be written."""


def markdown(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table with an end of line; cells are prose with `code`."""
    cells = [head, ("---",) * len(head), *(tuple(map(_cell, row)) for row in rows)]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def _cell(text: str) -> str:
    """In one line; what Markdown would take for something else is escaped, and pages are linked."""
    parts = _CODE.split(" ".join(text.split()).replace("|", "\\|"))
    return "".join(part if part.startswith("`") else _prose(part) for part in parts)


def _prose(text: str) -> str:
    return _PAGE.sub(r"[\1](\1\2)", text.replace("<", "&lt;"))
