"""Where backups are: a bucket, or a folder that several pods mount. Nothing in it is ever overwritten.

What is deleted in it is deleted by `expiry.py` alone.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from sparkjob.bucket import Bucket, Unconditional
from sparkjob.errors import Denied, Interrupted, Refused
from sparkjob.fields import Fields
from sparkjob.s3 import S3, parse_s3
from wal_backup.durable import publish
from wal_backup.layout import partial_path

LOG = logging.getLogger("wal_backup")
_SECONDS = 30
_ATTEMPTS = 3
_CHUNK = 8 << 20
_DAMAGE = "checksums mismatch"
_LOCKS = ("object lock", "WORM protected")
"""What versitygw and MinIO say of an object that its bucket does not let go yet; its code is AccessDenied, too."""
_REFUSALS = (
    "ACCESS_DENIED",
    "INVALID_ACCESS_KEY_ID",
    "SIGNATURE_DOES_NOT_MATCH",
    "NO_SUCH_BUCKET",
    "AccessDenied",
    "Access Denied",
)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that the driver and all executors mount at this path."""

    path: str


Place = S3 | Folder


class Damaged(Exception):  # noqa: N818 - what it is
    """An object does not have the checksum that the store keeps beside it."""


class Locked(Refused):
    """The bucket does not let an object go yet (Object Lock)."""


class Store:
    """Objects by their paths below a place."""

    def __init__(self, place: Place) -> None:
        self._root = (
            place.path.rstrip("/") if isinstance(place, Folder) else f"{place.bucket}/{place.prefix}".rstrip("/")
        )
        self._files = fs.LocalFileSystem() if isinstance(place, Folder) else _open_bucket(place)
        self._place = place

    def put(self, path: str, local: Path) -> None:
        """Publishes a local file.

        Raises:
            Refused, Interrupted: the store does not take it, or does not answer.
        """
        with self._asking(path), local.open("rb") as source:
            self._publish(path, lambda sink: shutil.copyfileobj(source, sink, _CHUNK))

    def write(self, path: str, content: bytes) -> None:
        """Publishes these bytes. Raises as `put`."""
        with self._asking(path):
            self._publish(path, lambda sink: sink.write(content))

    def create(self, path: str, content: bytes) -> bool:
        """Publishes these bytes if nothing is there; whether nothing was.

        False may also mean that this very call published them and its answer was lost, or that somebody else is about
        to. A store that knows no such condition replaces what is there: whoever must not do that asks before.

        Raises:
            Refused, Interrupted: as `put`.
        """
        if isinstance(self._place, Folder):
            return self._create_file(path, content)
        try:
            return Bucket(self._place).create(path, content)
        except Unconditional as unconditional:
            LOG.warning("%s: whoever puts it at this instant too is not noticed", unconditional)
            self.write(path, content)
            return True

    def read(self, path: str) -> bytes:
        """The whole object.

        Raises:
            FileNotFoundError: there is none.
            Damaged: the store itself says that it is not what was put there.
            Refused, Interrupted: as `put`; what comes in part says nothing of the object.
        """
        with self._asking(path), self._files.open_input_stream(self._at(path), compression=None) as source:
            content = bytes(source.read())
        self._require_whole(path, len(content))
        return content

    def fetch(self, path: str, local: Path) -> None:
        """Copies the whole object to a local file. Raises as `read`."""
        with (
            self._asking(path),
            self._files.open_input_stream(self._at(path), compression=None) as source,
            local.open("wb") as sink,
        ):
            shutil.copyfileobj(source, sink, _CHUNK)
        self._require_whole(path, local.stat().st_size)

    def open(self, path: str) -> pa.NativeFile:
        """The object, to be read in parts: a reader of Parquet asks for the footer and for single row groups.

        What is read later may raise OSError. Raises as `read`.
        """
        with self._asking(path):
            return self._files.open_input_file(self._at(path))

    def size(self, path: str) -> int | None:
        """Bytes of an object; None: there is none. Raises as `put`."""
        with self._asking(path):
            found = self._files.get_file_info(self._at(path))
        return int(found.size) if found.type is fs.FileType.File else None

    def names(self, path: str) -> list[str]:
        """Names of what is directly below a path, in their order. Raises as `put`."""
        with self._asking(path):
            below = fs.FileSelector(self._at(path), allow_not_found=True)
            return sorted(found.base_name for found in self._files.get_file_info(below))

    def sizes(self, path: str) -> dict[str, int]:
        """Bytes of all objects below a path, at any depth, by their paths below it. Raises as `put`."""
        with self._asking(path):
            below = fs.FileSelector(self._at(path), allow_not_found=True, recursive=True)
            found = [each for each in self._files.get_file_info(below) if each.type is fs.FileType.File]
        return {each.path.removeprefix(f"{self._at(path)}/"): int(each.size) for each in found}

    def delete(self, path: str) -> None:
        """Deletes an object; one that is gone already is no error.

        Raises:
            Locked: the bucket does not let it go yet.
            Refused, Interrupted: as `put`.
        """
        with self._asking(path):
            try:
                self._files.delete_file(self._at(path))
            except FileNotFoundError:
                pass
            except OSError:
                # pyarrow puts an empty folder where the last object was, which who may only delete may not.
                if self._files.get_file_info(self._at(path)).type is fs.FileType.File:
                    raise

    def delete_all(self, path: str) -> None:
        """Deletes all objects below a path, and the path. Raises as `delete`."""
        with self._asking(path):
            try:
                self._files.delete_dir(self._at(path))
            except FileNotFoundError:
                pass
            except OSError:
                if self.sizes(path):
                    raise

    def _require_whole(self, path: str, came: int) -> None:
        if self.size(path) != came:
            raise Interrupted(f"the store gives {path} in part")

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}"

    def _publish(self, path: str, fill: Callable[[Any], object]) -> None:
        """A bucket shows an object when it is whole, and keeps it then; a folder does so by what `publish` does."""
        if isinstance(self._place, Folder):
            publish(Path(self._at(path)), Path(self._at(partial_path(path))), Path(self._root), fill)
            return
        # By itself it would compress what is called .gz once more.
        with self._files.open_output_stream(self._at(path), compression=None) as sink:
            fill(sink)

    def _create_file(self, path: str, content: bytes) -> bool:
        final, partial = Path(self._at(path)), Path(self._at(partial_path(path)))
        with self._asking(path):
            try:
                publish(final, partial, Path(self._root), lambda sink: sink.write(content), creates=True)
            except FileExistsError:
                return False
        return True

    def _asking(self, path: str) -> _Asking:
        return _Asking(path)


class _Asking:
    """The store's errors as ours: what it refuses stays so, all else may work later."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, (OSError, pa.ArrowException)) or isinstance(error, FileNotFoundError):
            return
        said = str(error).strip().split("\n", 1)[0][:300]
        if _DAMAGE in said:
            raise Damaged(f"{self._path} is damaged: {said}") from error
        if any(word in str(error) for word in _LOCKS):
            raise Locked(f"the store keeps {self._path} locked: {said}") from error
        if isinstance(error, PermissionError) or any(word in str(error) for word in _REFUSALS):
            raise Denied(f"the store refuses {self._path}: {said}") from error
        raise Interrupted(f"the store does not answer for {self._path}: {said}") from error


def parse_place(fields: Fields) -> Place:
    """The `storage` of a request: `{"s3": …}` or `{"folder": …}`. Keys are read from the files that it names.

    Raises:
        Refused: it is neither, or a file cannot be read.
    """
    bucket, folder = fields.object_or_none("s3"), fields.object_or_none("folder")
    if (bucket is None) == (folder is None):
        raise Refused(f"{fields.where} must have one of s3 and folder")
    if folder is not None:
        return Folder(folder.text("path"))
    assert bucket is not None  # noqa: S101 - one of both is there
    return parse_s3(bucket)


def _open_bucket(place: S3) -> fs.S3FileSystem:
    scheme, _, address = (place.endpoint or "").partition("://")
    options = {} if place.endpoint is None else {"endpoint_override": address.rstrip("/"), "scheme": scheme}
    if place.ca_file is not None:
        options["tls_ca_file_path"] = place.ca_file
    return fs.S3FileSystem(
        access_key=place.access_key_id,
        secret_key=place.secret_access_key,
        region=place.region,
        connect_timeout=_SECONDS,
        request_timeout=_SECONDS,
        force_virtual_addressing=not place.is_path_style,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        **options,
    )
