"""Files that only grow: a JSON object a line, handed to the kernel by one write(2) before the writer goes on.

A process that is killed, however that happens, takes nothing back of what it wrote; there is no fsync, because tests
kill processes and not the machine. A last line without its end is what a writer had not finished.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ENDING = ".jsonl"


class Journal:
    """One file, which nobody wrote before: `name` is the owner's with the number of its start, such as writer-0.3."""

    def __init__(self, folder: Path, owner: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name, self._file = _create(folder, owner)

    def append(self, line: Any) -> None:
        """Writes a line, whole; threads need no lock, because the file is opened for appending."""
        data = (json.dumps(line, separators=(",", ":")) + "\n").encode()
        if os.write(self._file, data) != len(data):
            raise OSError(f"the journal {self.name} took only a part of a line")


class JournalFolder:
    """All journals of a folder; each line is given once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._positions: dict[Path, int] = {}

    def new_lines(self) -> Iterator[Any]:
        """The lines that came since the last call, journal by journal."""
        for path in sorted(self._folder.glob(f"*{ENDING}")):
            with path.open("rb") as file:
                file.seek(self._positions.get(path, 0))
                whole = file.read().rpartition(b"\n")[0]
            for line in whole.splitlines():
                yield json.loads(line)
            self._positions[path] = self._positions.get(path, 0) + len(whole) + bool(whole)


def _create(folder: Path, owner: str) -> tuple[str, int]:
    start = 1
    while True:
        name = f"{owner}.{start}"
        try:
            return name, os.open(folder / (name + ENDING), os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o644)
        except FileExistsError:
            start += 1
