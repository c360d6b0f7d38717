"""What people tell Seawall by annotations of a WALCluster, as verbs: what each writes, and what it allows.

An annotation `<what>: <reason>@<expiry>` is easily mistyped, and one that is mistyped declares nothing. Here a person
says why and for how long, and is shown what that is about before it is written.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from seawall.api.duration import parse_duration
from seawall.api.meta import (
    ABORT_ANNOTATION,
    APPROVE_ANNOTATION,
    DEAD_ANNOTATION,
    PAUSED_ANNOTATION,
    READOPT_ANNOTATION,
    REBALANCE_ANNOTATION,
    STOP_DELETES_ANNOTATION,
    UNUSED_ANNOTATION,
    ConditionType,
)
from seawall.api.v1alpha1.purge_template import matches_any
from seawall.domain.errors import Refused
from seawall.domain.ledger.declarations import is_glob, is_region_id, named_dead
from seawall.domain.managed_kafka.names import FORMAT_VOLUME_ANNOTATION
from seawall.domain.rollout.workload import (
    APPROVE_ROLLOUT_ANNOTATION,
    OVERRIDE_ANNOTATION,
    RESTART_ANNOTATION,
    RESTART_KAFKA_ANNOTATION,
)
from seawall.domain.text import written
from seawall.domain.times import DECLARATION_LONGEST

Line = Mapping[str, Any]
"""A topic of the operator's ledger page."""
LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class Verb:
    """A command that sets one annotation, or takes it away.

    Attributes:
        allows: what follows from it, in a sentence.
        shows: the conditions of the WALCluster that it is about.
        takes: what is named on the command line, if anything, and of which form each must be.
        concerns: which topics of the ledger it is about, by what is named; None: it is not about topics.
        has_expiry: whether it counts for a while only, and must say why.
        approves: what is approved by its digest, and where the status has that.
        removes: it takes the annotation away.
        lapses: what follows when it is taken away, as a clause.
        restrains: it keeps Seawall from something, and lets it do nothing: it is right whatever has changed meanwhile.
    """

    annotation: str
    allows: str
    shows: tuple[ConditionType, ...] = (ConditionType.READY,)
    takes: tuple[str, Callable[[str], bool]] | None = None
    concerns: Callable[[Line, tuple[str, ...]], bool] | None = None
    has_expiry: bool = False
    approves: tuple[str, tuple[str, str]] | None = None
    removes: bool = False
    lapses: str = ""
    restrains: bool = False


def _names_region(line: Line, regions: tuple[str, ...]) -> bool:
    said = f"{line['held_by']} {line['message']}".replace(",", " ").split()
    return any(region in said for region in regions)


VERBS: Mapping[str, Verb] = {
    "readopt": Verb(
        READOPT_ANNOTATION,
        "What Seawall remembers of these logs begins anew: records that are gone count as given up.",
        (ConditionType.WAL_INTACT, ConditionType.READY),
        concerns=lambda line, _: READOPT_ANNOTATION in (line["remedy"] or ""),
        has_expiry=True,
    ),
    "dead-regions": Verb(
        DEAD_ANNOTATION,
        "Purges delete what only these regions kept: their rows that were not flushed are lost.",
        (ConditionType.WAL_INTACT,),
        ("region", is_region_id),
        _names_region,
        has_expiry=True,
        lapses=": regions that it names count as any other, whether they have flushed or not",
    ),
    "purge-unused": Verb(
        UNUSED_ANNOTATION,
        "Purges delete all records that these topics have now, as long as no region writes to them.",
        (ConditionType.WAL_INTACT,),
        ("topic", is_glob),
        lambda line, topics: matches_any(line["name"], topics),
        has_expiry=True,
    ),
    "override-restart-gate": Verb(
        OVERRIDE_ANNOTATION,
        "Datanodes that are due restart although a check says that their WAL may not be replayed, and rows that do not "
        "flush and that no log has are given up; so do nodes of a managed Kafka whose restart stops writes.",
        (ConditionType.DATANODES_HEALTHY, ConditionType.WAL_INTACT, ConditionType.KAFKA_NODES_HEALTHY),
        has_expiry=True,
    ),
    "stop-deletes": Verb(
        STOP_DELETES_ANNOTATION,
        "No purge deletes records until it is taken away: `seawall stop-deletes … --undo`.",
        restrains=True,
    ),
    "restart": Verb(
        RESTART_ANNOTATION,
        "Each datanode that runs now is restarted once, as soon as the gate lets it.",
        (ConditionType.DATANODES_HEALTHY,),
    ),
    "rebalance": Verb(
        REBALANCE_ANNOTATION,
        "Replicas move between brokers, within the declared throttle.",
        (ConditionType.REPLICATION_HEALTHY,),
    ),
    "approve": Verb(
        APPROVE_ANNOTATION,
        "The replicas of this plan move, as `seawall plan` shows them.",
        (ConditionType.REPLICATION_HEALTHY,),
        ("digest", str.isalnum),
        approves=("reassignment", ("reassignment", "digest")),
    ),
    "approve-rollout": Verb(
        APPROVE_ROLLOUT_ANNOTATION,
        "Nodes of the managed Kafka become what this Seawall makes of them: each is restarted, through the gate.",
        (ConditionType.KAFKA_NODES_HEALTHY,),
        ("digest", str.isalnum),
        approves=("rollout", ("managedKafka", "awaitingApproval")),
    ),
    "restart-kafka": Verb(
        RESTART_KAFKA_ANNOTATION,
        "Each node of the managed Kafka that runs now is restarted once, as soon as the gate lets it.",
        (ConditionType.KAFKA_NODES_HEALTHY,),
    ),
    "format-volume": Verb(
        FORMAT_VOLUME_ANNOTATION,
        "These nodes of the managed Kafka format an empty volume: records that only the one before had are lost.",
        (ConditionType.KAFKA_NODES_HEALTHY, ConditionType.REPLICATION_HEALTHY),
        ("node", str.isdecimal),
        has_expiry=True,
    ),
    "abort": Verb(
        ABORT_ANNOTATION,
        "All partitions get their original replicas back, and none moves until it is taken away.",
        (ConditionType.REPLICATION_HEALTHY,),
    ),
    "pause": Verb(
        PAUSED_ANNOTATION,
        "The status is still kept, and nothing else is done, until `seawall resume`. WALRestores go on, and jobs that "
        "run: pause those themselves.",
        restrains=True,
    ),
    "resume": Verb(
        PAUSED_ANNOTATION,
        "What was due meanwhile is done.",
        removes=True,
    ),
}


def value_of(verb: Verb, arguments: argparse.Namespace, now: datetime) -> str | None:
    """What the annotation will say; None: it goes.

    Raises:
        Refused: something was mistyped, or is missing.
    """
    if verb.removes:
        return None
    if arguments.undo:
        if verb.has_expiry and getattr(arguments, "named", None):
            raise Refused("--undo takes the whole annotation away: name nothing, or set it to what is left")
        return None
    named = _named(verb, arguments)
    if verb.annotation == PAUSED_ANNOTATION:
        return "true"
    if verb.approves is not None:
        return named[0]
    if not verb.has_expiry:
        return f"{written(now)} {_reason(arguments)}".rstrip()
    reason = _reason(arguments)
    if not reason:
        raise Refused("say why with --reason: it is in the annotation, for whoever reads it later")
    expires = written(now + _period(arguments.period))
    what = f"{', '.join(named)}: " if named else ""
    return f"{what}{reason}@{expires}"


def require_none_dropped(verb: Verb, said: str | None, value: str | None) -> None:
    """Refuses to declare other regions dead in the place of some that were, and may be back.

    What purges relied on is remembered by nothing but the annotation: a region that is back is kept its log by being
    named there, until it has flushed.

    Raises:
        Refused: the annotation names a region that is not named now.
    """
    if verb.annotation != DEAD_ANNOTATION or said is None or value is None:
        return
    left = sorted(named_dead(said) - named_dead(value))
    if left:
        ids = " ".join(map(str, left))
        raise Refused(f"the annotation names {ids}, too: name them again, or once they have flushed, --undo first")


def _named(verb: Verb, arguments: argparse.Namespace) -> tuple[str, ...]:
    if verb.takes is None:
        return ()
    noun, is_right = verb.takes
    wrong = next((each for each in arguments.named if not is_right(each)), None)
    if wrong is not None:
        raise Refused(f"{wrong!r} is no {noun}")
    if not arguments.named or (verb.approves is not None and len(arguments.named) > 1):
        raise Refused(f"name the {noun}")
    return tuple(arguments.named)


def _reason(arguments: argparse.Namespace) -> str:
    reason = str(arguments.reason or "").strip()
    if len(reason) > LONGEST_REASON or not reason.isprintable():
        raise Refused(f"a reason is one line of at most {LONGEST_REASON} characters")
    return reason


def _period(text: str) -> timedelta:
    try:
        found = parse_duration(text)
    except ValueError as error:
        raise Refused(f"--for: {error}") from error
    if not timedelta(0) < found <= DECLARATION_LONGEST:
        raise Refused("--for is at most 24h: what is right today says nothing of next week")
    return found
