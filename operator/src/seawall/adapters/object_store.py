"""Buckets of S3 by obstore, read and never written."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from seawall.adapters.object_store_errors import NO_SUCH_KEY, code_of, place, translate
from seawall.adapters.times import STORE_ANSWER_SECONDS, STORE_CONNECT_SECONDS, STORE_SECONDS
from seawall.adapters.tls import UnreadablePem, tls_context
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.object_store import MAX_OBJECT_BYTES, PAGE, S3Connection
from seawall.progress import request_ended

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Config, S3Credential

RETRIES = 1
"""Of one request, which is enough for a connection that was closed while nobody used it."""

_Answer = TypeVar("_Answer")


class S3Bucket:
    """One bucket, below a prefix.

    Raises:
        Refused: the CA certificates are none.
    """

    def __init__(self, connection: S3Connection, seconds: float = STORE_SECONDS) -> None:
        self._connection = connection
        self._seconds = seconds
        self._store = _open(connection)

    def names(self, folder: str, after: str = "") -> Sequence[str]:
        """Names of objects in a folder. S3 lists what is in folders of it, too, so that many of those take long."""
        root = f"{self._path(folder)}/" if folder or self._connection.prefix else ""
        return self._ask(f"to list {root or '/'}", self._list(root, after))

    def get(self, path: str) -> bytes | None:
        """One object."""
        return self._ask(f"to give {self._path(path)}", self._read(self._path(path)))

    async def _list(self, root: str, after: str) -> Sequence[str]:
        found: list[str] = []
        # Without an offset, the object whose name is that of the folder with a slash would be listed as well.
        async for chunk in obstore.list(self._store, root or None, offset=f"{root}{after}" or None, chunk_size=PAGE):
            below = (each["path"].removeprefix(root) for each in chunk)
            found += (name for name in below if "/" not in name)
            if len(found) >= PAGE:
                break
        return tuple(sorted(found)[:PAGE])

    async def _read(self, path: str) -> bytes | None:
        try:
            found = await obstore.get_async(self._store, path)
        except FileNotFoundError as error:
            if code_of(error) == NO_SUCH_KEY:
                return None
            raise
        if (size := found.meta["size"]) > MAX_OBJECT_BYTES:
            too_many = f"{path} has {size} bytes, and Seawall reads {MAX_OBJECT_BYTES} at most"
            raise Refused(f"{place(self._connection)}: {too_many}")
        return bytes(await found.bytes_async())

    def _ask(self, what: str, answer: Coroutine[Any, Any, _Answer]) -> _Answer:
        """Awaits it in this thread: the library bounds each of its requests, not a call of several."""
        try:
            return asyncio.run(_within(self._seconds, answer))
        except TimeoutError as error:
            late = f"the store does not answer within {self._seconds:g} s when asked {what}"
            raise OutsideUnavailable(f"{place(self._connection)}: {late}") from error
        except (BaseError, FileNotFoundError, ValueError) as error:
            raise translate(error, self._connection, what) from error
        finally:
            request_ended()

    def _path(self, path: str) -> str:
        return "/".join(part for part in (self._connection.prefix, path) if part)


async def _within(seconds: float, answer: Coroutine[Any, Any, _Answer]) -> _Answer:
    async with asyncio.timeout(seconds):
        return await answer


def _open(connection: S3Connection) -> S3Store:
    endpoint, key_id, secret = connection.endpoint, connection.access_key_id, connection.secret_access_key
    client: ClientConfig = {
        "timeout": timedelta(seconds=STORE_ANSWER_SECONDS),
        "connect_timeout": timedelta(seconds=STORE_CONNECT_SECONDS),
        "allow_http": endpoint is not None and endpoint.startswith("http://"),
    }
    config: S3Config = {"region": connection.region, "virtual_hosted_style_request": endpoint is None}
    if endpoint is not None:
        config["endpoint"] = endpoint
    given: S3Credential | None = None
    if key_id is not None and secret is not None:
        # As settings of the store, they would be sent with a session token that the environment has for another key.
        given = {"access_key_id": key_id, "secret_access_key": secret, "expires_at": None}
    try:
        if connection.ca_pem is not None:
            tls_context(connection.ca_pem, None, None)  # which says what is wrong with it; obstore does not
            client["root_certificate"] = connection.ca_pem.encode()
        return S3Store(
            connection.bucket,
            config=config,
            client_options=client,
            retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=STORE_SECONDS)},
            credential_provider=None if given is None else lambda: given,
        )
    except UnreadablePem as error:
        raise Refused(f"{place(connection)}: the CA certificate (caSecretRef) cannot be read: {error.why}") from error
    except (BaseError, ValueError) as error:
        raise translate(error, connection, "at all") from error
