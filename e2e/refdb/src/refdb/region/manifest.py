"""The manifest of a region: which files it has, and up to which entry of the log they hold its rows."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from refdb.errors import AnotherLeads, RegionFatalError
from refdb.schema import Schema


@dataclass(frozen=True, slots=True)
class Manifest:
    """One version of it. Versions only rise, and only one writer can make each."""

    version: int
    topic: str
    schema: Schema
    flushed_entry_id: int
    term: int = 0
    """Of the leader that wrote it."""
    next_sequence: int = 1
    files: tuple[str, ...] = ()

    def opened(self, term: int) -> Manifest:
        """The next version, which a leader writes to shut out those before; a later one's is not to be replaced."""
        if term < self.term:
            raise AnotherLeads(f"a later leader has opened it (term {self.term}, this is {term})")
        return replace(self, version=self.version + 1, term=term)

    def flushed(self, entry_id: int, next_sequence: int, file: str) -> Manifest:
        """The version after a flush."""
        if entry_id < self.flushed_entry_id:
            raise RegionFatalError(f"flushed entry id would go back from {self.flushed_entry_id} to {entry_id}")
        files, version = (*self.files, file), self.version + 1
        return replace(self, version=version, flushed_entry_id=entry_id, next_sequence=next_sequence, files=files)

    def to_text(self) -> str:
        """What the file holds."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Manifest:
        """Reads it; one that is not whole is fatal for the region."""
        try:
            data = json.loads(text)
            return cls(**(data | {"schema": Schema.from_json(data["schema"]), "files": tuple(data["files"])}))
        except (ValueError, KeyError, TypeError) as error:
            raise RegionFatalError(f"the manifest cannot be read: {error}") from None
