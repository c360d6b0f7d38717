"""What an operator reads, does, records and tells, tick by tick, as a text that people review.

Values stand in it, and no names of classes or fields of ours: those may change while the behaviour stays as it is.
"""

from __future__ import annotations

import gzip
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256
from itertools import count, groupby
from types import UnionType
from typing import Any

import pytest
from pydantic import BaseModel

from seawall.api.meta import Key
from seawall.api.resource import Resource
from seawall.domain.errors import SeawallError
from seawall.domain.step import Event
from seawall.reconciler import Reconciler, Ticked
from tests.fakes import dataplane, ids
from tests.support.refusals import ACTIONS, Refusal
from tests.support.watched import OPENS, watched
from tests.worlds.purge_world import CHANGES

LONGEST = 400
"""Characters of a value; of a longer one the rest is a digest."""
GZIP = b"\x1f\x8b"


class Transcript:
    """Ports through which each call is written down; where there is a refusal, it may refuse them."""

    def __init__(self, refusal: Refusal | None = None) -> None:
        self.refusal = refusal
        self._ticks: list[tuple[str, ...]] = []
        self._reads: list[str] = []
        self._lines: list[str] = []

    def guard(self, port: Any) -> Any:
        """The same port."""
        return watched(self, port)

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """One call."""
        if name in OPENS:
            return function(*args, **kwargs)
        if name in ACTIONS | CHANGES | {"replace_status", "post_event"}:
            self._end_reads()
            self._lines += _change(name, args, kwargs)
        else:
            self._reads.append(_read(name, args))
        try:
            if self.refusal is None:
                return function(*args, **kwargs)
            return self.refusal.call(function, name, *args, **kwargs)
        except SeawallError as error:
            self._end_reads()
            self._lines.append(f"  ! {name}: {error}")
            raise

    def say(self, line: str) -> None:
        """What happened beside the operator."""
        self._ticks.append((f"# {line}",))

    def text(self) -> str:
        """All ticks; of those that are the same one after another the first one."""
        lines: list[str] = []
        for tick, same in groupby(self._ticks):
            times = len(list(same))
            lines += tick
            lines += [f"  … {times} times"] * (times > 1)
        return "\n".join(lines) + "\n"

    @contextmanager
    def of_all_ticks(self) -> Iterator[Transcript]:
        """Ticks are written down at their end; ids of objects, logs and databases depend on nothing else."""
        tick, numbers = Reconciler.tick, count(1)

        def ticked(process: Reconciler[Any, Any, Any, Any], key: Key) -> Ticked:
            found = tick(process, key)
            self._end_tick(f"{process.controller.kind} {key}: {found.outcome}, after {found.after}")
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Reconciler, "tick", ticked)
            patch.setattr(ids, "make_uid", lambda: str(uuid.UUID(int=next(numbers))))
            patch.setattr(dataplane, "_STORES", count(dataplane.FIRST_STORE))
            patch.setattr(ids, "make_topic_id", lambda: _text_of(next(numbers).to_bytes(16)))
            yield self

    def _end_tick(self, head: str) -> None:
        self._end_reads()
        if self._lines:  # else it is another process, whose calls nobody watches
            self._ticks.append((head, *self._lines))
            self._lines = []

    def _end_reads(self) -> None:
        if self._reads:
            told = ((name, len(list(same))) for name, same in groupby(self._reads))
            self._lines.append(
                "  reads " + ", ".join(name if times == 1 else f"{times} {name}" for name, times in told)
            )
            self._reads = []


def _read(name: str, args: tuple[Any, ...]) -> str:
    kinds = [arg.KIND.kind for arg in args if isinstance(arg, type) and issubclass(arg, Resource)]
    return " ".join([name, *kinds])


def _change(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[str]:
    if name == "replace_status":
        obj, status = args
        return _status(obj, obj.written(obj.status), obj.written(status))
    if name == "post_event":
        _, event = args
        assert isinstance(event, Event)
        return [f"  event {event.type} {event.reason}: {event.message}"]
    told = [*map(_value, args), *(f"{key}={_value(value)}" for key, value in sorted(kwargs.items()))]
    return [f"  calls {name}({_short(', '.join(told))})"]


def _status(obj: Any, before: Any, after: Any) -> list[str]:
    old, new = dict(_leaves(before)), dict(_leaves(after))
    changed = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    head = f"  status of {_value(obj)}"
    return [head, *(f"    {path}: {_short(new[path]) if path in new else '(gone)'}" for path in changed)]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each value, by where it stands; conditions by their types."""
    match value:
        case {"status": status, "reason": reason, "lastTransitionTime": since, **rest} if path:
            generation = f", generation {rest['observedGeneration']}" if "observedGeneration" in rest else ""
            yield path, f"{status} {reason} since {since}{generation}: {rest.get('message', '')}"
        case Mapping():
            for key, each in value.items():
                yield from _leaves(each, f"{path}.{key}".removeprefix("."))
        case list() | tuple():
            for number, each in enumerate(value):
                name = each.get("type", number) if isinstance(each, Mapping) else number
                yield from _leaves(each, f"{path}[{name}]")
        case _:
            yield path, str(value)


def _value(value: Any) -> str:
    """As a text in which no class and no field is named."""
    for kind, text in _TEXTS:
        if isinstance(value, kind):
            return text(value)
    if is_dataclass(value):
        return "(" + ", ".join(_value(getattr(value, each.name)) for each in fields(value)) + ")"
    return str(value)


def _values(values: Iterable[Any]) -> str:
    return ", ".join(map(_value, values))


def _pairs(values: Mapping[Any, Any]) -> str:
    return ", ".join(sorted(f"{_value(key)}: {_value(each)}" for key, each in values.items()))


def _data(data: bytes) -> str:
    plain = gzip.decompress(data) if data.startswith(GZIP) else data
    text = plain.decode(errors="replace")
    return text if text.isprintable() else f"sha256 {_digest(plain)}"


_TEXTS: tuple[tuple[type | UnionType, Callable[[Any], str]], ...] = (
    (Resource, lambda found: f"{found.KIND.kind} {found.metadata.key}"),
    (type, lambda found: found.KIND.kind if issubclass(found, Resource) else found.__name__),
    (Enum, lambda found: str(found.value)),
    (Key, str),
    (BaseModel, lambda found: _value(found.model_dump(mode="json", by_alias=True, exclude_none=True))),
    (bytes, _data),
    (Mapping, lambda found: f"{{{_pairs(found)}}}"),
    (set | frozenset, lambda found: "{" + ", ".join(sorted(map(_value, found))) + "}"),
    (list | tuple, lambda found: f"[{_values(found)}]"),
)


def _text_of(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _short(text: str) -> str:
    text = text.replace("\n", "\\n")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… sha256 {_digest(text.encode())}"


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]
