"""Which tables' rows are handed on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Selection:
    """What a person selects, and what that came to when the operator read the names of all tables.

    Attributes:
        include, exclude: globs on `schema.table`; but for "everything" they are not evaluated here.
        names: of the tables that are selected, by their ids.
        others: ids of tables that are not.
    """

    include: tuple[str, ...]
    exclude: tuple[str, ...]
    names: Mapping[int, str]
    others: frozenset[int] = frozenset()

    def has(self, table: int) -> bool | None:
        """Whether a table is selected; None: it is none of those that there were."""
        if self.is_everything or table in self.names:
            return True
        return False if table in self.others else None

    @property
    def is_everything(self) -> bool:
        """Whether no table needs to be known."""
        return EVERYTHING in self.include and not self.exclude

    @property
    def digest(self) -> str:
        """What the globs come to: progress says from which offset on they were others."""
        content = json.dumps([sorted(self.include), sorted(self.exclude)])
        return hashlib.sha256(content.encode()).hexdigest()[:16]
