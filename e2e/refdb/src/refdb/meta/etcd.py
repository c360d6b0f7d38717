"""etcd through its JSON gateway: reads at one revision, and transactions that compare before they write.

No answer is `Unavailable`; whether a write happened is then unknown, so writes are made to compare.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import urllib3

from refdb.errors import Unavailable

TIMEOUT = urllib3.Timeout(connect=1, read=3)


@dataclass(frozen=True, slots=True)
class KeyValue:
    """A key as it was read."""

    key: str
    value: str
    mod_revision: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a range held at a revision."""

    revision: int
    pairs: tuple[KeyValue, ...]


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Compare: the key was last written at this revision; 0 means that it is not there."""

    key: str
    mod_revision: int


@dataclass(frozen=True, slots=True)
class NothingNewer:
    """Compare: no key with this prefix was written after the revision."""

    prefix: str
    revision: int


@dataclass(frozen=True, slots=True)
class Put:
    """Write a key."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a key."""

    key: str


class Etcd:
    """A client. `prefix` goes before every key, without a separator, as GreptimeDB's `store_key_prefix` does."""

    def __init__(self, urls: Sequence[str], prefix: str = "") -> None:
        self._urls = tuple(urls)
        self._prefix = prefix
        self._pool = urllib3.PoolManager(timeout=TIMEOUT, retries=False)

    def get(self, key: str) -> KeyValue | None:
        """One key, or None."""
        pairs = self._range({"key": self._encode(key)}).pairs
        return pairs[0] if pairs else None

    def range(self, prefix: str) -> Snapshot:
        """All keys with a prefix."""
        return self._range({"key": self._encode(prefix), "range_end": self._end(prefix)})

    def txn(self, compare: Sequence[Unchanged | NothingNewer], then: Sequence[Put | Delete]) -> bool:
        """Writes all, if everything is as compared; False means that nothing was written."""
        body = {
            "compare": [self._compare(item) for item in compare],
            "success": [self._operation(item) for item in then],
        }
        return bool(self._call("/v3/kv/txn", body).get("succeeded", False))

    def _range(self, body: dict[str, str]) -> Snapshot:
        answer = self._call("/v3/kv/range", body)
        pairs = tuple(
            KeyValue(
                _decode(pair["key"]).removeprefix(self._prefix),
                _decode(pair.get("value", "")),
                int(pair["mod_revision"]),
            )
            for pair in answer.get("kvs", [])
        )
        return Snapshot(int(answer["header"]["revision"]), pairs)

    def _compare(self, item: Unchanged | NothingNewer) -> dict[str, str]:
        match item:
            case Unchanged(key, mod_revision):
                return {"key": self._encode(key), "target": "MOD", "result": "EQUAL", "mod_revision": str(mod_revision)}
            case NothingNewer(prefix, revision):
                return {
                    "key": self._encode(prefix),
                    "range_end": self._end(prefix),
                    "target": "MOD",
                    "result": "LESS",
                    "mod_revision": str(revision + 1),
                }

    def _operation(self, item: Put | Delete) -> dict[str, Any]:
        match item:
            case Put(key, value):
                return {"request_put": {"key": self._encode(key), "value": base64.b64encode(value.encode()).decode()}}
            case Delete(key):
                return {"request_delete_range": {"key": self._encode(key)}}

    def _encode(self, key: str) -> str:
        return base64.b64encode((self._prefix + key).encode()).decode()

    def _end(self, prefix: str) -> str:
        last = bytearray((self._prefix + prefix).encode())
        last[-1] += 1
        return base64.b64encode(bytes(last)).decode()

    def _call(self, path: str, body: dict[str, Any]) -> Any:
        said = "no URL"
        for url in self._urls:
            try:
                answer = self._pool.request("POST", url + path, body=json.dumps(body))
            except urllib3.exceptions.HTTPError as error:
                said = f"{url}: {type(error).__name__}"
                continue
            if answer.status == 200:  # noqa: PLR2004 - OK
                return answer.json()
            said = f"{url}: {answer.status} {answer.data[:200]!r}"
        raise Unavailable(f"the metadata store (etcd) does not answer: {said}")


def _decode(text: str) -> str:
    return base64.b64decode(text).decode()
