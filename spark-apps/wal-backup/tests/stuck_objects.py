"""Objects that a program is in the middle of writing, for as long as a test wants: pipes in a folder of objects.

What is written to a pipe waits until somebody reads it, so its writer hangs where a slow store would let it hang.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE_SECONDS = 300.0
"""After which a program hangs: three JVMs of Spark start one after another, on a machine whose processors are busy."""
_HALF = 10_000
"""More than this, and than a pipe holds, must an object have (64 KiB)."""


class StuckObject:
    """An object at this path: whoever writes it comes to the half of it, and no further before `finish`."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        os.mkfifo(path)
        self.path = path
        self._reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._content = b""

    def wait(self) -> int:
        """Waits until it is half written; returns the id of the process that writes it."""
        give_up = time.monotonic() + PATIENCE_SECONDS
        while len(self._content) < _HALF:
            ready, _, _ = select.select([self._reader], [], [], 0.1)
            self._content += os.read(self._reader, _HALF) if ready else b""
            assert time.monotonic() < give_up, f"nobody writes {self.path}"
        (writer,) = _writers(self.path)
        return writer

    def finish(self) -> int:
        """Takes the rest, until the writer has ended or was killed; what it wrote is an object then. Its bytes."""
        os.set_blocking(self._reader, True)
        while part := os.read(self._reader, 1 << 20):
            self._content += part
        os.close(self._reader)
        self.path.unlink()
        return self.path.write_bytes(self._content)


def ancestors(pid: int) -> Iterator[tuple[int, str]]:
    """The processes above one: their ids and command lines."""
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        yield pid, Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def _writers(path: Path) -> Iterator[int]:
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        pid = int(link.parts[2])
        try:
            if pid != os.getpid() and link.readlink() == path:
                yield pid
        except OSError:
            continue  # it has ended
