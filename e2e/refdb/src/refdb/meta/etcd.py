"""etcd through its JSON gateway: reads at one revision, and writes that happen only if what was read is still so.

No answer is `Unavailable`; whether a write happened is then unknown, so writes are made to compare.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import urllib3

from refdb.errors import Unavailable
from refdb.meta.store import KeyValue, Snapshot

TIMEOUT = urllib3.Timeout(connect=1, read=3)


class Etcd:
    """A client. `prefix` goes before every key, without a separator, as GreptimeDB's `store_key_prefix` does."""

    def __init__(self, url: str, prefix: str = "") -> None:
        self._url, self._prefix = url, prefix
        self._pool = urllib3.PoolManager(timeout=TIMEOUT, retries=False)

    def get(self, key: str) -> KeyValue:
        """One key, there or not."""
        pairs = self._call("/v3/kv/range", {"key": self._encode(key)}).get("kvs", [])
        return self._pair(pairs[0]) if pairs else KeyValue(key)

    def range(self, prefix: str) -> Snapshot:
        """All keys with a prefix."""
        answer = self._call("/v3/kv/range", {"key": self._encode(prefix), "range_end": self._end(prefix)})
        pairs = tuple(self._pair(pair) for pair in answer.get("kvs", []))
        return Snapshot(prefix, int(answer["header"]["revision"]), pairs)

    def txn(self, unchanged: Sequence[KeyValue | Snapshot], writes: Mapping[str, str | None]) -> bool:
        """Writes all (None removes a key), if what was read is unchanged; False means that nothing was written.

        Of a range only what is new or changed is noticed, not what was removed.
        """
        success = [self._write(key, value) for key, value in writes.items()]
        body = {"compare": [self._compare(read) for read in unchanged], "success": success}
        return bool(self._call("/v3/kv/txn", body).get("succeeded", False))

    def _pair(self, pair: Mapping[str, str]) -> KeyValue:
        key, value = (base64.b64decode(pair.get(name, "")).decode() for name in ("key", "value"))
        return KeyValue(key.removeprefix(self._prefix), value, int(pair["mod_revision"]))

    def _compare(self, read: KeyValue | Snapshot) -> dict[str, str]:
        match read:
            case KeyValue(key, _, revision):
                return {"key": self._encode(key), "target": "MOD", "result": "EQUAL", "mod_revision": str(revision)}
            case Snapshot(prefix, revision):
                keys = {"key": self._encode(prefix), "range_end": self._end(prefix)}
                return {**keys, "target": "MOD", "result": "LESS", "mod_revision": str(revision + 1)}

    def _write(self, key: str, value: str | None) -> dict[str, Any]:
        if value is None:
            return {"request_delete_range": {"key": self._encode(key)}}
        return {"request_put": {"key": self._encode(key), "value": base64.b64encode(value.encode()).decode()}}

    def _encode(self, key: str) -> str:
        return base64.b64encode((self._prefix + key).encode()).decode()

    def _end(self, prefix: str) -> str:
        last = bytearray((self._prefix + prefix).encode())
        last[-1] += 1
        return base64.b64encode(bytes(last)).decode()

    def _call(self, path: str, body: Any) -> Any:
        try:
            answer = self._pool.request("POST", self._url + path, json=body)
            if answer.status == 200:  # noqa: PLR2004 - OK
                return answer.json()
            said = f"{answer.status} {answer.data[:200]!r}"
        except urllib3.exceptions.HTTPError as error:
            said = type(error).__name__
        raise Unavailable(f"the metadata store (etcd) does not answer: {self._url}: {said}")
