"""Objects of a bucket, some of which are created only where there is none: the condition that a chain stands on.

pyarrow has no conditional writes; obstore has. It needs the extra `sparkjob[s3]`.
"""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from sparkjob.errors import Denied, Interrupted, Refused
from sparkjob.s3 import S3

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Config

PAGE = 1_000
"""Names that a list gives at most."""
SECONDS = 15
FILE_SECONDS = 300
"""So long a whole file may take; all else is small."""
RETRIES = 2
_MOST_SAID = 300
_REFUSALS = ("AccessDenied:", "AllAccessDisabled:", "InvalidAccessKeyId:", "NoSuchBucket:", "SignatureDoesNotMatch:")
_UNKNOWN = "NotImplemented:"
"""What a store says of a header that it does not know: Amazon's did until 2024, Alibaba's does."""
_ANSWER = re.compile(r"<Code>(.*?)</Code>.*?<Message>(.*?)</Message>", re.DOTALL)


class Unconditional(Refused):
    """The store does not know If-None-Match, and says so; nothing was written."""


class Bucket:
    """Objects by their paths below the prefix of a bucket.

    Raises:
        Refused: its address is none, or the file of its certificates cannot be read.
    """

    def __init__(self, place: S3) -> None:
        self._root = place.prefix.strip("/")
        try:
            self._store, self._for_files = (_open(place, seconds) for seconds in (SECONDS, FILE_SECONDS))
        except (BaseError, ValueError, OSError) as error:
            raise Refused(f"the store cannot be asked: {_said(error)}") from error

    def create(self, path: str, content: bytes) -> bool:
        """Publishes these bytes if there is no such object; whether there was none.

        A request whose answer was lost is sent again: so False may mean that this very call created it. It may also
        mean that somebody else is about to, and may fail.

        Raises:
            Unconditional: the store does not know the condition. Some do not say so, and create what is there.
            Refused, Interrupted: the store does not take it, or does not answer.
        """
        try:
            with _Asking(path):
                self._create(path, content)
        except FileExistsError:
            return False
        return True

    def _create(self, path: str, content: bytes) -> None:
        try:
            obstore.put(self._store, self._key(path), content, mode="create")
        except BaseError as error:
            if _said(error).startswith(_UNKNOWN):
                raise Unconditional(f"the store knows no If-None-Match for {path}: {_said(error)}") from error
            raise

    def put(self, path: str, body: bytes | IO[bytes]) -> None:
        """Publishes bytes, or a file from where it is on. Raises as `create`."""
        with _Asking(path):
            # In parts, it would leave some behind when it dies, and need a right more.
            obstore.put(self._for_files, self._key(path), body, use_multipart=False)

    def get(self, path: str) -> bytes:
        """The whole object.

        Raises:
            FileNotFoundError: there is none.
            Refused, Interrupted: as `create`.
        """
        with _Asking(path):
            return bytes(obstore.get(self._store, self._key(path)).bytes())

    def names(self, folder: str, after: str = "", most: int = PAGE) -> list[str]:
        """Names of objects below a folder: the first ones after this name, in the order of their bytes.

        Raises as `create`.
        """
        root = self._key(f"{folder}/")
        with _Asking(folder):
            listed = obstore.list(self._store, root, offset=f"{root}{after}", chunk_size=min(most, PAGE))
            return [found["path"].removeprefix(root) for found in islice(chain.from_iterable(listed), most)]

    def _key(self, path: str) -> str:
        return f"{self._root}/{path}" if self._root else path


class _Asking:
    """The store's errors as ours: what it refuses stays so, all else may work later."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        match error:
            case AlreadyExistsError():
                raise FileExistsError(self._path) from error
            case PermissionDeniedError() | UnauthenticatedError():
                raise Denied(f"the store refuses {self._path}: {_said(error)}") from error
            case BaseError() | FileNotFoundError() if _said(error).startswith(_REFUSALS):  # a list's are not told apart
                raise Denied(f"the store refuses {self._path}: {_said(error)}") from error
            case ValueError():  # it is no path
                raise Refused(f"the store refuses {self._path}: {_said(error)}") from error
            case BaseError():
                raise Interrupted(f"the store does not answer for {self._path}: {_said(error)}") from error


def _said(error: BaseException) -> str:
    """In a sentence: the store's own, where it said one."""
    text = str(error).strip()
    found = _ANSWER.search(text)
    return (text.split("\n", 1)[0] if found is None else f"{found[1]}: {found[2]}")[:_MOST_SAID]


def _open(place: S3, seconds: float) -> S3Store:
    client: ClientConfig = {
        "timeout": timedelta(seconds=seconds),
        "connect_timeout": timedelta(seconds=min(seconds, 5)),
    }
    if place.ca_file is not None:
        client["root_certificate"] = Path(place.ca_file).read_bytes()
    endpoint = place.endpoint
    if endpoint is not None:
        scheme, _, address = endpoint.rstrip("/").partition("://")
        client["allow_http"] = scheme == "http"
        if not place.is_path_style:
            endpoint = f"{scheme}://{place.bucket}.{address}"
    config: S3Config = {
        "region": place.region,
        "virtual_hosted_style_request": not place.is_path_style,
        "checksum_algorithm": "SHA256",  # the store keeps it, and pyarrow compares it when it reads
    }
    if endpoint is not None:
        config["endpoint"] = endpoint
    if place.access_key_id is not None and place.secret_access_key is not None:
        config["access_key_id"], config["secret_access_key"] = place.access_key_id, place.secret_access_key
    return S3Store(
        place.bucket,
        config=config,
        client_options=client,
        retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=2 * seconds)},
    )
