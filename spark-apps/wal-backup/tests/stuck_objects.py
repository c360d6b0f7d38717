"""Objects that a program is in the middle of writing, for as long as a test wants.

Every Python that is started with its `environment` comes to the half of the first object of a folder, where a slow disk
would let it hang, and goes on when it is told to.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

PATIENCE_SECONDS = 300.0
"""After which a program hangs: three JVMs of Spark start one after another, on a machine whose processors are busy."""
_HALF = 10_000
"""More than this must an object have."""
_AT_EVERY_START = """
import os, shutil, time

HONEST, CHAIN, STATE = shutil.copyfileobj, {chain!r}, {state!r}


def is_first(sink):
    if not str(getattr(sink, "name", "")).startswith(CHAIN):
        return False
    try:
        os.close(os.open(STATE + "/first", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def copyfileobj(source, sink, length=0):
    if is_first(sink):
        sink.write(source.read({half}))
        sink.flush()
        with open(STATE + "/writer.part", "w") as file:
            file.write(f"{{os.getpid()}} {{sink.name}}")
        os.rename(STATE + "/writer.part", STATE + "/writer")
        while not os.path.exists(STATE + "/goes_on"):
            time.sleep(0.05)
    HONEST(source, sink, length)


shutil.copyfileobj = copyfileobj
"""


class StuckObject:
    """The first object that a program writes into a chain: it comes to the half of it, and no further before `finish`.

    Attributes:
        environment: of the program.
    """

    def __init__(self, chain: Path, folder: Path) -> None:
        self._state = folder / "stuck"
        self._state.mkdir()
        content = _AT_EVERY_START.format(chain=f"{chain}/", state=str(self._state), half=_HALF)
        (self._state / "sitecustomize.py").write_text(content)
        paths = filter(None, (str(self._state), os.environ.get("PYTHONPATH")))
        self.environment: Mapping[str, str] = {"PYTHONPATH": os.pathsep.join(paths)}

    def wait(self) -> tuple[int, Path]:
        """Waits until it is half written; returns the id of the process that writes it, and where the half is."""
        found, give_up = self._state / "writer", time.monotonic() + PATIENCE_SECONDS
        while not found.exists():
            assert time.monotonic() < give_up, "nobody writes an object"
            time.sleep(0.05)
        writer, path = found.read_text().split(" ", 1)
        assert Path(path).stat().st_size == _HALF
        return int(writer), Path(path)

    def finish(self) -> None:
        """Lets it go on."""
        (self._state / "goes_on").touch()


def ancestors(pid: int) -> Iterator[tuple[int, str]]:
    """The processes above one: their ids and command lines."""
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        yield pid, Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
