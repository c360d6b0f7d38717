"""Topics of the pool that Kafka does not show, and which of them must not be made again.

A topic with an identity record was there (`recorded.py`), and may have been in use. A new one under its name begins at
offset 0: what the database writes to it is acknowledged, and skipped by the next replay up to the ids that the database
knows already. So it is made again only when a person readopts it (`readoption.py`), which is judged by both clocks
at the act. Its record is forgotten right before: the new log is a first contact then, and the record of that has the
mark of the annotation, which so makes no second one. Who dies in between leaves a topic without a record, which is made
as any other.

What cannot be read counts as a record. Kafka's list of all topics may be old, or leave out what may not be described: a
topic with a record is asked for by its name before it is called lost.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from seawall.api.meta import READOPT_ANNOTATION
from seawall.domain.cluster.readoption import ReadoptionNow
from seawall.domain.kafka_log import DescribedTopic, TopicFailure, TopicTrouble
from seawall.domain.ledger.observation import ReadShards
from seawall.domain.text import listed

RECORD_GONE = (
    "the ConfigMap with its record is gone: restore it from a backup, or begin a new record by "
    f"{READOPT_ANNOTATION}: <reason>@<expiry>"
)


@dataclass(frozen=True, slots=True)
class MissingTopics:
    """What is recorded of the topics that Kafka does not show; one in none of these was never there to be recorded."""

    lost: tuple[str, ...] = ()
    """They have a record, and nobody readopts them."""
    readopted: tuple[str, ...] = ()
    """They have a record, and a person lets them be made again."""
    appearing: tuple[str, ...] = ()
    """They have a record, and Kafka knows them all the same when it is asked by name."""
    unclear: Mapping[str, str] = field(default_factory=dict)
    """By topic why nobody knows whether it was written to, in one sentence."""
    gone: tuple[str, ...] = ()
    """Their records were there once, and are gone, whether a person begins them anew or not."""
    grounds: str = ""
    """What the person gives as the reason to readopt."""
    readopt_problem: str | None = None
    """Why the annotation that is set does not help, in one sentence."""
    unmarked: tuple[str, ...] = ()
    """Those with a record that a readoption which never will be followed has not met yet."""

    @property
    def kept(self) -> frozenset[str]:
        """The topics that must not be made."""
        return frozenset((*self.lost, *self.appearing, *self.unclear))

    def lost_sentence(self) -> str:
        """What happened to the lost ones, and what to do."""
        said = "" if self.readopt_problem is None else f" ({self.readopt_problem})"
        return (
            f"Kafka has lost {listed(list(self.lost))}, which was in use: it is not made again by itself, because the "
            "next replay would skip rows that are written to a new log; restore it, or give up its records, and such "
            f"rows, by {READOPT_ANNOTATION}: <reason>@<expiry>{said}"
        )

    def unclear_sentence(self) -> str:
        """Which are not made, and why nobody knows whether they were written to."""
        first = next(iter(self.unclear.values()))
        return f"Kafka shows no {listed(list(self.unclear))}, and whether it was written to is not known: {first}"


def find_missing(
    names: Sequence[str],
    shards: ReadShards,
    described: Mapping[str, DescribedTopic | TopicFailure],
    readoption: ReadoptionNow,
    recorded: Collection[int] = (),
) -> MissingTopics:
    """Sorts the topics that Kafka does not show.

    Args:
        names: the topics.
        shards: their records.
        described: what Kafka says of those with a record, asked by name.
        readoption: what a person declares. A record that is there says by itself whether it was met.
        recorded: the shards that there were once; what they held counts as a record, too.
    """
    records = shards.of_topics(names)
    unclear = shards.why_unreadable(names)
    lost: list[str] = []
    gone = shards.lost_topics(names, recorded)
    begins_anew, refused = readoption.unused is not None, readoption.refused
    unclear |= {} if begins_anew else dict.fromkeys(sorted(gone), RECORD_GONE)
    readopted: list[str] = []
    appearing: list[str] = []
    for name, record in records.items():
        match described.get(name):
            case DescribedTopic():
                appearing.append(name)
            case TopicFailure(TopicTrouble.UNKNOWN_TOPIC):
                (readopted if readoption.adopts(record) else lost).append(name)
            case failure:
                unclear[name] = "Kafka did not answer" if failure is None else failure.message
    readopted += sorted(gone) if begins_anew else []
    grounds = "" if readoption.followed is None else readoption.followed.reason
    return MissingTopics(
        tuple(lost),
        tuple(readopted),
        tuple(appearing),
        unclear,
        tuple(sorted(gone)),
        grounds,
        _readopt_problem(readoption) if lost else None,
        () if refused is None else tuple(name for name in records if records[name].readopted != refused.token),
    )


def _readopt_problem(readoption: ReadoptionNow) -> str | None:
    is_met = readoption.followed is not None
    return f"{READOPT_ANNOTATION} was set before they were lost: set a new one" if is_met else readoption.problem
