"""Files of a folder that are whole or not there, also after the node of their writer lost its power.

A name that lasts for a file that does not would count, and be proved: whoever reads it soon reads the page cache.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_UNKNOWN_TO_FOLDERS = frozenset({errno.EINVAL, errno.EBADF, errno.ENOTSUP})
"""What fsync of a folder says where there is no such thing, as on CIFS: its server keeps names by itself."""


def publish(path: Path, partial: Path, top: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Fills a file, and gives it its name when the disk has it; then the disk has its name, too, below `top`.

    Args:
        path: the file.
        partial: where it is until it is whole, of the same file system; who is killed leaves it there.
        top: a folder that was there before.
        fill: writes the content.

    Raises:
        OSError: it does not work; the file may be there, and be lost again.
    """
    for each in (path, partial):
        each.parent.mkdir(parents=True, exist_ok=True)
    try:
        with partial.open("xb") as sink:
            fill(sink)
            sink.flush()
            os.fsync(sink.fileno())
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    # All, whoever made them: another task may have made one, and not come to this yet.
    for folder in path.parents:
        _sync(folder)
        if folder == top:
            return


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNKNOWN_TO_FOLDERS:
            raise
    finally:
        os.close(handle)
