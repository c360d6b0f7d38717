"""Which tables' rows are handed on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Selection:
    """Globs on `schema.table`, and the names that are known of the tables' ids.

    Attributes:
        names: None: a table that the database does not have any more.
    """

    include: tuple[str, ...]
    exclude: tuple[str, ...]
    names: Mapping[int, str | None]

    def has(self, table: int) -> bool | None:
        """Whether a table is selected; None: its name is not known, and needed.

        A table that is gone has no name, so only who selects all tables gets its rows.
        """
        if EVERYTHING in self.include and not self.exclude:
            return True
        if table not in self.names:
            return None
        name = self.names[table]
        return name is not None and _matches(name, self.include) and not _matches(name, self.exclude)

    @property
    def digest(self) -> str:
        """What the globs come to: progress says from which offset on they were others."""
        content = json.dumps([sorted(self.include), sorted(self.exclude)])
        return hashlib.sha256(content.encode()).hexdigest()[:16]


def _matches(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)
