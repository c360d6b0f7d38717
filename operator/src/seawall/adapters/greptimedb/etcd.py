"""etcd's keys: ranges at one revision, read whole or not at all, and writes that compare first.

A thin client of our own over its JSON gateway: docs/adr/0014-data-plane-adapters.md says why.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from seawall.adapters.greptimedb.etcd_gateway import Gateway
from seawall.adapters.greptimedb.keys import Comparison, HasValue, KeyValue, NothingNewer, Unchanged, range_end
from seawall.adapters.greptimedb.metadata_values import TOPIC_NAMES
from seawall.domain.dataplane.connection import EtcdConnection, NotReached, PartRefused

PAGE = 2_000
"""Keys in one answer: gRPC behind the gateway takes some megabytes at most."""


@dataclass(frozen=True, slots=True)
class Head:
    """Which etcd cluster answers, by its own id, and its newest revision."""

    cluster_id: str
    revision: int


class Etcd:
    """A client for the keys below a prefix; safe to use from many threads. All of it raises as `Gateway.call` does."""

    def __init__(self, connection: EtcdConnection, *, page: int = PAGE) -> None:
        self._gateway, self._page = Gateway(connection), page
        self.prefix, self._prefix = connection.prefix, connection.prefix.encode()

    @property
    def doubt(self) -> str:
        """Its revisions are exact."""
        return ""

    @contextmanager
    def view(self) -> Iterator[EtcdView]:
        """The keys at the newest revision; later ones may be written meanwhile."""
        yield EtcdView(self, self.head(TOPIC_NAMES))

    def close(self) -> None:
        """Closes what is kept open."""
        self._gateway.close()

    def head(self, key: str) -> Head:
        """The newest revision, by way of a key that may be read, whether it is there or not."""
        answer = self._gateway.call("/v3/kv/range", {"key": self._encoded(key), "count_only": True})
        with _sense():
            return Head(str(answer["header"]["cluster_id"]), int(answer["header"]["revision"]))

    def range(self, start: str, at: Head) -> Iterator[KeyValue]:
        """All keys that begin with `start`, as they were at a revision of that cluster; page by page.

        Raises:
            PartUnavailable: no member answered, or the revision was compacted meanwhile.
            PartRefused: etcd said no, or left keys out, or the endpoints lead to two clusters.
        """
        first = self._prefix + start.encode()
        end, left = range_end(first), None
        fixed = {"range_end": _text(end), "revision": str(at.revision), "limit": str(self._page)}
        while left != 0:
            answer = self._gateway.call("/v3/kv/range", {"key": _text(first), **fixed})
            with _sense():
                page = _Page.of(answer, at)
                page.require_whole(start, first, end, left)
                yield from map(self._pair, page.pairs)
                left = page.left
                first = page.keys[-1] + b"\0" if left else first

    def get(self, key: str, at: Head | None = None) -> KeyValue | None:
        """One key as it is now, or was at a revision of that cluster; None when it was not there."""
        fixed = {} if at is None else {"revision": str(at.revision)}
        answer = self._gateway.call("/v3/kv/range", {"key": self._encoded(key), **fixed})
        with _sense():
            page, name = _Page.of(answer, at), self._prefix + key.encode()
            page.require_whole(key, name, name + b"\0", None)
            return next(map(self._pair, page.pairs), None)

    def write(self, values: Mapping[str, str], compare: Sequence[Comparison]) -> bool:
        """Writes keys if everything is as compared; False means that nothing was written."""
        puts = [
            {"request_put": {"key": self._encoded(key), "value": _text(value.encode())}}
            for key, value in values.items()
        ]
        body = {"compare": [self._compare(item) for item in compare], "success": puts}
        answer = self._gateway.call("/v3/kv/txn", body)
        with _sense():
            int(answer["header"]["revision"])  # or nobody knows whether it is etcd that says that nothing was written
            return bool(answer.get("succeeded", False))

    def _compare(self, item: Comparison) -> Mapping[str, str]:
        match item:
            case HasValue(key, value):
                if value is None:
                    return {"key": self._encoded(key), "target": "CREATE", "result": "EQUAL", "create_revision": "0"}
                wanted = _text(value.encode())
                return {"key": self._encoded(key), "target": "VALUE", "result": "EQUAL", "value": wanted}
            case Unchanged(key, revision):
                return {"key": self._encoded(key), "target": "MOD", "result": "EQUAL", "mod_revision": str(revision)}
            case NothingNewer(start, revision):
                end = _text(range_end(self._prefix + start.encode()))
                newer = {"target": "MOD", "result": "LESS", "mod_revision": str(revision + 1)}
                return {"key": self._encoded(start), "range_end": end, **newer}

    def _encoded(self, key: str) -> str:
        return _text(self._prefix + key.encode())

    def _pair(self, raw: Mapping[str, Any]) -> KeyValue:
        """What is no UTF-8 text shows as such and makes no sense to whoever reads it."""
        key = b64decode(raw["key"]).removeprefix(self._prefix).decode(errors="replace")
        return KeyValue(key, b64decode(raw.get("value", "")).decode(errors="replace"), int(raw["mod_revision"]))


@dataclass(frozen=True, slots=True)
class _Page:
    """What one answer has of a range, and how many keys are left after it."""

    pairs: Sequence[Mapping[str, Any]]
    keys: Sequence[bytes]
    left: int
    is_more: bool

    @classmethod
    def of(cls, answer: Mapping[str, Any], at: Head | None) -> _Page:
        """Of the cluster that was asked before; None: of any."""
        if at is not None:
            _require_same_cluster(answer, at)
        pairs = answer.get("kvs", [])
        keys = [b64decode(pair["key"]) for pair in pairs]
        return cls(pairs, keys, int(answer.get("count", 0)) - len(keys), bool(answer.get("more", False)))

    def require_whole(self, start: str, first: bytes, end: bytes, wanted: int | None) -> None:
        """That these are the keys from one on and before another, each once, in order, and none is left out.

        Args:
            start: what was asked for, in sentences.
            first: the first key that may be here.
            end: the first that may not.
            wanted: how many were left before; None: nobody knows. At one revision it is as many always.

        Raises:
            PartRefused: it is not so.
        """
        bounds = [first, *(key + b"\0" for key in self.keys)]
        count = self.left + len(self.keys)
        are_these = all(least <= key < end for least, key in zip(bounds, self.keys, strict=False))
        if not are_these or (wanted is not None and count > wanted):
            message = f"etcd answers other keys than those that begin with {start}: a proxy or a bug mixes answers up"
            raise PartRefused(NotReached.UNEXPECTED_ANSWER, message)
        missing = 0 if wanted is None else wanted - count
        if missing or self.is_more is not (self.left > 0) or (self.left and not self.keys):
            left_out = missing or self.left
            message = f"etcd left out {left_out} keys that begin with {start}: a proxy or a bug truncates its answers"
            raise PartRefused(NotReached.UNEXPECTED_ANSWER, message)


@dataclass(frozen=True, slots=True)
class EtcdView:
    """The keys of one etcd cluster at one revision."""

    _etcd: Etcd
    _head: Head

    @property
    def store_id(self) -> str:
        """`etcd/<cluster id>/<prefix>`."""
        return f"etcd/{self._head.cluster_id}/{self._etcd.prefix}"

    @property
    def revision(self) -> int:
        """Etcd's own: every write makes the next one."""
        return self._head.revision

    @property
    def issued(self) -> int | None:
        """Writes do not overlap."""
        return None

    def range(self, start: str) -> Iterator[KeyValue]:
        """All keys that begin with `start`."""
        return self._etcd.range(start, self._head)

    def get(self, key: str) -> KeyValue | None:
        """One key."""
        return self._etcd.get(key, self._head)


def _require_same_cluster(answer: Mapping[str, Any], at: Head) -> None:
    """Endpoints of two clusters would be read as one, half of each."""
    found = str(answer["header"]["cluster_id"])
    if found != at.cluster_id:
        message = f"the endpoints of etcd lead to two clusters ({at.cluster_id} and {found}): correct them"
        raise PartRefused(NotReached.UNEXPECTED_ANSWER, message)


@contextmanager
def _sense() -> Iterator[None]:
    """Raises PartRefused of what etcd does not answer, but somebody in its stead."""
    try:
        yield
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        message = (
            f"etcd's answer makes no sense ({type(error).__name__}): is it etcd 3.4 or newer, or a proxy before it?"
        )
        raise PartRefused(NotReached.UNEXPECTED_ANSWER, message) from error


def _text(data: bytes) -> str:
    return b64encode(data).decode()
