"""Files of a folder that are whole or not there, also after the node of their writer lost its power.

A name that lasts for a file that does not would count, and be proved: whoever reads it soon reads the page cache.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

LOG = logging.getLogger("wal_backup")
_UNKNOWN_TO_FOLDERS = frozenset({errno.EINVAL, errno.EBADF, errno.ENOTSUP})
"""What fsync of a folder says where there is no such thing, as on CIFS: its server keeps names by itself."""
_WITHOUT_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS})
"""What a file system says that has no hard links, as some behind FUSE and SMB."""


def publish(path: Path, partial: Path, top: Path, fill: Callable[[BinaryIO], object], *, creates: bool = False) -> None:
    """Fills a file, and gives it its name when the disk has it; then the disk has its name, too, below `top`.

    Args:
        path: the file.
        partial: where it is until it is whole, of the same file system; who is killed leaves it there.
        top: a folder that was there before.
        fill: writes the content.
        creates: whether a file that has this name keeps it.

    Raises:
        FileExistsError: there is one, and it was to be created.
        OSError: it does not work; the file may be there, and be lost again.
    """
    for each in (path, partial):
        each.parent.mkdir(parents=True, exist_ok=True)
    try:
        with partial.open("xb") as sink:
            fill(sink)
            sink.flush()
            os.fsync(sink.fileno())
        if creates:
            _create(path, partial)
        else:
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


def _create(path: Path, partial: Path) -> None:
    """Gives a file its name, if nobody has it: of all who do so at once, one does."""
    try:
        os.link(partial, path)
    except OSError as error:
        if error.errno not in _WITHOUT_LINKS:
            raise
        LOG.warning("The file system has no hard links: whoever writes %s at this instant too is not noticed", path)
        partial.replace(path)
    else:
        partial.unlink()


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNKNOWN_TO_FOLDERS:
            raise
    finally:
        os.close(handle)
