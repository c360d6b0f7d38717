"""etcd's keys: ranges at one revision, read whole or not at all, and writes that compare first.

A thin client of our own over its JSON gateway: docs/adr/0014-data-plane-adapters.md says why.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seawall.adapters.greptimedb.etcd_gateway import Gateway
from seawall.domain.dataplane.connection import EtcdConnection, NotReached, PartRefused

PAGE = 2_000
"""Keys in one answer: gRPC behind the gateway takes some megabytes at most."""

MAX_OPERATIONS = 128
"""In one transaction, of comparisons and of writes: etcd's default for --max-txn-ops."""


@dataclass(frozen=True, slots=True)
class KeyValue:
    """A key without the prefix, its value, and the revision that wrote it last."""

    key: str
    value: str
    mod_revision: int


@dataclass(frozen=True, slots=True)
class Head:
    """Which etcd cluster answers, by its own id, and its newest revision."""

    cluster_id: str
    revision: int


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Compare: the key was last written at this revision."""

    key: str
    mod_revision: int


@dataclass(frozen=True, slots=True)
class HasValue:
    """Compare: the key has this value; None: it is not there."""

    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class NothingNewer:
    """Compare: no key that begins like this was written after the revision."""

    start: str
    revision: int


class Etcd:
    """A client for the keys below a prefix; safe to use from many threads. All of it raises as `Gateway.call` does."""

    def __init__(self, connection: EtcdConnection, *, page: int = PAGE) -> None:
        self._gateway, self._page = Gateway(connection), page
        self.prefix, self._prefix = connection.prefix, connection.prefix.encode()

    def close(self) -> None:
        """Closes what is kept open."""
        self._gateway.close()

    def head(self, key: str) -> Head:
        """The newest revision, by way of a key that may be read, whether it is there or not."""
        answer = self._gateway.call("/v3/kv/range", {"key": self._encoded(key), "count_only": True})
        return Head(str(answer["header"]["cluster_id"]), int(answer["header"]["revision"]))

    def range(self, start: str, at: Head) -> Iterator[KeyValue]:
        """All keys that begin with `start`, as they were at a revision of that cluster; page by page.

        Raises:
            PartUnavailable: no member answered, or the revision was compacted meanwhile.
            PartRefused: etcd said no, or left keys out, or the endpoints lead to two clusters.
        """
        first = self._prefix + start.encode()
        fixed = {"range_end": _text(_end(first)), "revision": str(at.revision), "limit": str(self._page)}
        is_more = True
        while is_more:
            answer = self._gateway.call("/v3/kv/range", {"key": _text(first), **fixed})
            _require_same_cluster(answer, at)
            page = answer.get("kvs", [])
            is_more, left = bool(answer.get("more", False)), int(answer.get("count", 0)) - len(page)
            if is_more is not (left > 0) or (is_more and not page):
                message = f"etcd left out {left} keys that begin with {start}: a proxy or a bug truncates its answers"
                raise PartRefused(NotReached.UNEXPECTED_ANSWER, message)
            yield from map(self._pair, page)
            first = b64decode(page[-1]["key"]) + b"\0" if is_more else first

    def get(self, key: str, at: Head | None = None) -> KeyValue | None:
        """One key as it is now, or was at a revision of that cluster; None when it was not there."""
        fixed = {} if at is None else {"revision": str(at.revision)}
        answer = self._gateway.call("/v3/kv/range", {"key": self._encoded(key), **fixed})
        if at is not None:
            _require_same_cluster(answer, at)
        return next(map(self._pair, answer.get("kvs", ())), None)

    def write(self, values: Mapping[str, str], compare: Sequence[Unchanged | NothingNewer | HasValue]) -> bool:
        """Writes keys if everything is as compared; False means that nothing was written.

        Without an answer nobody knows; a second try fails at the comparison if the first one happened.

        Args:
            values: by key, at most MAX_OPERATIONS.
            compare: at most MAX_OPERATIONS.
        """
        puts = [
            {"request_put": {"key": self._encoded(key), "value": _text(value.encode())}}
            for key, value in values.items()
        ]
        body = {"compare": [self._compare(item) for item in compare], "success": puts}
        return bool(self._gateway.call("/v3/kv/txn", body).get("succeeded", False))

    def _compare(self, item: Unchanged | NothingNewer | HasValue) -> Mapping[str, str]:
        match item:
            case HasValue(key, value):
                if value is None:
                    return {"key": self._encoded(key), "target": "CREATE", "result": "EQUAL", "create_revision": "0"}
                wanted = _text(value.encode())
                return {"key": self._encoded(key), "target": "VALUE", "result": "EQUAL", "value": wanted}
            case Unchanged(key, revision):
                return {"key": self._encoded(key), "target": "MOD", "result": "EQUAL", "mod_revision": str(revision)}
            case NothingNewer(start, revision):
                end = _text(_end(self._prefix + start.encode()))
                newer = {"target": "MOD", "result": "LESS", "mod_revision": str(revision + 1)}
                return {"key": self._encoded(start), "range_end": end, **newer}

    def _encoded(self, key: str) -> str:
        return _text(self._prefix + key.encode())

    def _pair(self, raw: Mapping[str, Any]) -> KeyValue:
        """What is no UTF-8 text shows as such and makes no sense to whoever reads it."""
        key = b64decode(raw["key"]).removeprefix(self._prefix).decode(errors="replace")
        return KeyValue(key, b64decode(raw.get("value", "")).decode(errors="replace"), int(raw["mod_revision"]))


def _require_same_cluster(answer: Mapping[str, Any], at: Head) -> None:
    """Endpoints of two clusters would be read as one, half of each."""
    found = str(answer["header"]["cluster_id"])
    if found != at.cluster_id:
        message = f"the endpoints of etcd lead to two clusters ({at.cluster_id} and {found}): correct them"
        raise PartRefused(NotReached.UNEXPECTED_ANSWER, message)


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _end(start: bytes) -> bytes:
    """The first key that begins otherwise. Ours end in a character, never in 0xff."""
    return start[:-1] + bytes([start[-1] + 1])
