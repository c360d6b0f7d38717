"""What a run froze before it deletes: of each topic the value that was seen, and what else its end is counted by.

It is kept in ConfigMaps that the WALPurge owns: 10,000 topics are more than an object's status may be. They are
immutable and named by what they hold, so that nobody who comes late can replace what another one recorded; the status
has the digest of all of it, and nothing counts that does not have this digest (docs/adr/0030).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated

from pydantic import Field, TypeAdapter

from seawall.api.meta import Key
from seawall.api.v1alpha1.purge import MAX_PARTS, FrozenTargets, WALPurge
from seawall.domain.errors import SeawallError
from seawall.domain.kubernetes import ConfigMap, Damaged, pack, unpack

VERSION = 1
DATA_KEY = "targets"
MAX_TARGETS = 60_000
"""With names and offsets that do not compress at all these fit into 16 parts; more wait for the next run."""
PART_BYTES = 900 * 1024
"""A ConfigMap takes a megabyte, with everything."""
MAX_PLAIN = 64 * 2**20
"""JSON that is longer was not written by us."""
ABOUT = (
    "What a run of a purge has seen of its topics before it deletes; its status has the digest. Leave it alone: "
    "without it the run fails, and deletes nothing more. To read it: all parts, in their order, through gunzip."
)


class TargetsLost(SeawallError):  # noqa: N818 - named for what happened
    """What the run froze is gone, or is not what its status has the digest of."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a run saw of a topic before it deletes there. It does not change; a newer value waits for the next run."""

    recorded: int
    """The id that was seen: at and below it the database needs nothing."""
    log_start: int
    """Where the log began."""
    purge_to: int
    """Records before this offset were to go, as it was then."""
    declared: str | None = None
    """Why a topic that no region writes to is purged: who declared it unused, and until when."""
    dead: str | None = None
    """Which regions of the topic did not count, because a person declared them dead, and until when."""

    @property
    def entries(self) -> int:
        """Entries that were to go."""
        return max(0, self.purge_to - self.log_start)


@dataclass(frozen=True, slots=True)
class Written:
    """Targets that this process wrote and read back, and how the status names them."""

    frozen: FrozenTargets
    targets: Mapping[str, Target]


def freeze(run: WALPurge, targets: Mapping[str, Target]) -> tuple[FrozenTargets, tuple[ConfigMap, ...]]:
    """How the status names these targets, and the ConfigMaps to write before it does."""
    data = encode_targets(targets)
    parts = [data[at : at + PART_BYTES] for at in range(0, len(data), PART_BYTES)]
    frozen = FrozenTargets(topics=len(targets), digest=digest_of(data), parts=len(parts))
    keys = parts_of(run, frozen)
    return frozen, tuple(
        ConfigMap(
            key=key,
            data={"about": ABOUT, "digest": frozen.digest, "run": run.metadata.name},
            binary_data={DATA_KEY: part},
            is_immutable=True,
        )
        for key, part in zip(keys, parts, strict=True)
    )


def parts_of(run: WALPurge, frozen: FrozenTargets) -> tuple[Key, ...]:
    """The ConfigMaps, in their order: `seawall-targets-<UID of the run>-<digest>-<number>`."""
    metadata = run.metadata
    name = f"seawall-targets-{metadata.uid}-{frozen.digest}"
    return tuple(Key(metadata.namespace, f"{name}-{number:02}") for number in range(frozen.parts))


def thaw(frozen: FrozenTargets, parts: Sequence[ConfigMap | None]) -> dict[str, Target]:
    """The targets, from the ConfigMaps in their order.

    Raises:
        TargetsLost: they are not what was frozen.
    """
    data = b"".join(part.binary_data.get(DATA_KEY, b"") for part in parts if part is not None)
    if None in parts:
        raise TargetsLost("the ConfigMaps with what it has seen are gone")
    if digest_of(data) != frozen.digest:
        raise TargetsLost(
            "the ConfigMaps with what it has seen were changed: they do not have the digest in the status"
        )
    return decode_targets(data)


def digest_of(data: bytes) -> str:
    """32 hexadecimal digits of all parts."""
    return blake2b(data, digest_size=16).hexdigest()


def encode_targets(targets: Mapping[str, Target]) -> bytes:
    """The bytes of all parts; sentences are a table, as hundreds of topics may go by one word.

    Raises:
        ValueError: they do not fit.
    """
    sentences = sorted({said for each in targets.values() for said in (each.declared, each.dead) if said is not None})
    at: dict[str | None, int] = {said: number for number, said in enumerate(sentences)}
    rows = [
        (name, each.recorded, each.log_start, each.purge_to, at.get(each.declared), at.get(each.dead))
        for name, each in sorted(targets.items())
    ]
    data = pack([VERSION, sentences, rows])
    if len(data) > MAX_PARTS * PART_BYTES:
        raise ValueError(f"{len(targets)} targets take {len(data)} bytes")
    return data


def decode_targets(data: bytes) -> dict[str, Target]:
    """What `encode_targets` wrote.

    Raises:
        TargetsLost: another version of Seawall wrote it, or it is damaged.
    """
    try:
        version, sentences, rows = unpack(data, _SHAPE, MAX_PLAIN)
    except Damaged as error:
        raise TargetsLost(f"what it has seen {error}") from error
    if version != VERSION:
        raise TargetsLost(f"what it has seen has format {version}, this version of Seawall knows {VERSION}")
    said: dict[int | None, str | None] = {None: None, **dict(enumerate(sentences))}
    try:
        return {
            name: Target(recorded, log_start, purge_to, said[declared], said[dead])
            for name, recorded, log_start, purge_to, declared, dead in rows
        }
    except KeyError as error:
        raise TargetsLost("what it has seen is damaged: it names a sentence that it does not have") from error


_Offset = Annotated[int, Field(ge=0, lt=2**63)]
_Row = tuple[str, _Offset, _Offset, _Offset, int | None, int | None]
_SHAPE = TypeAdapter(tuple[int, list[str], list[_Row]])
