"""From policies, holds, verifications, intents and the fence to the columns that bound a purge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from seawall.domain.clocks import is_to_come
from seawall.domain.columns import Ids, Mask, mask_of
from seawall.domain.ledger.declarations import Unused
from seawall.domain.ledger.followers import FollowerBounds
from seawall.domain.ledger.held import Hold
from seawall.domain.ledger.holds import lowest_claims
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.policy import EffectivePolicy, Level, Requirement
from seawall.domain.ledger.tables import Bounds, TopicLog


@dataclass(frozen=True, slots=True)
class Verified:
    """The verdict of one verification about one topic that it read: whether the log replays from `verified_from` on."""

    topic: str
    topic_id: str
    level: Level
    verified_from: int
    """The start that it used: min reads from of the topic's regions. Its end proves nothing about what lies below."""
    began_at: datetime
    """Nothing of the log was read before; never after `finished_at`."""
    finished_at: datetime
    replays: bool = True
    """False: it does not, or the level could not be proved. No verdict from before counts any more, of whatever level:
    what repairs such a topic may need what the earlier one let go."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Everything beside the database that bounds purges, as it was read."""

    policies: Mapping[str, EffectivePolicy]
    """By topic; a topic without one is left alone."""
    holds: Iterable[Hold] | None
    """None: they could not be read."""
    records: Mapping[str, FenceRecord]
    """By topic: intents and identities, read after Kafka's offsets. None of a topic: first contact."""
    unreadable_records: frozenset[str] = frozenset()
    """Topics whose shard could not be read."""
    lost_records: frozenset[str] = frozenset()
    """Topics whose shard is gone, although it was written once."""
    contested: bool = False
    """Another WALCluster claims the same topics."""
    fence_broken: frozenset[str] = frozenset()
    """Topics of which the fence suspects or knows that they are another log."""
    verified: tuple[Verified, ...] = ()
    stopped: bool = False
    unused: Unused | None = None
    """The topics that a person declared unused."""
    dead: Mapping[str, str] = field(default_factory=dict)
    """By topic the sentence about its regions that are dead by a person's word."""


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """For how long topics, and what a run saw of them, were watched, and who reads them; one row for each topic."""

    too_shortly: Mask
    recorded_for_a_grace: Mask
    followers: FollowerBounds


def make_bounds(
    names: tuple[str, ...],
    logs: Mapping[str, TopicLog],
    claims: Claims,
    watched: Watched,
    now: datetime,
) -> Bounds:
    """The columns. A record or a verification of another topic id than Kafka's counts for nothing.

    `now` is by the clock of the verdicts.
    """
    policies = [claims.policies.get(name) for name in names]
    lowest, everything = lowest_claims(claims.holds or ())
    floor_of_all = None if everything is None else (0, everything)
    held = [floor_of_all or lowest.get(name) for name in names]
    ids = {name: log.topic_id for name, log in logs.items()}
    fitting = _fitting(claims, ids, now)
    found = _greatest_recent(fitting, claims.policies, now)
    records = (claims.records.get(name) for name in names)
    return Bounds(
        has_policy=mask_of((policy is not None for policy in policies), len(names)),
        keep_entries=np.fromiter((p.safety.keep_entries if p else 0 for p in policies), np.int64, count=len(names)),
        hold=Ids.of(claim[0] if claim else None for claim in held),
        hold_names=tuple(claim[1] if claim else None for claim in held),
        holds_readable=claims.holds is not None,
        verification_required=mask_of(
            (p is not None and p.safety.verification is not None for p in policies), len(names)
        ),
        verified_from=Ids.of(found.get(name) for name in names),
        verified_before=mask_of((name in fitting for name in names), len(names)),
        intent=Ids.of(
            record.intent if record is not None and record.topic_id == ids.get(name) else None
            for name, record in zip(names, records, strict=True)
        ),
        intents_readable=mask_of((name not in claims.unreadable_records for name in names), len(names)),
        intents_lost=mask_of((name in claims.lost_records for name in names), len(names)),
        contested=claims.contested,
        records_of_others=mask_of((False for _ in names), len(names)),
        fence_broken=mask_of((name in claims.fence_broken for name in names), len(names)),
        stopped=claims.stopped,
        restarting=mask_of((False for _ in names), len(names)),
        watched_too_shortly=watched.too_shortly,
        unused=mask_of((claims.unused is not None and claims.unused.is_about(name) for name in names), len(names)),
        unused_sentence=None if claims.unused is None else claims.unused.sentence,
        recorded_for_a_grace=watched.recorded_for_a_grace,
        dead_sentences=tuple(claims.dead.get(name) for name in names),
        follower=watched.followers.position,
        follower_silent=watched.followers.silent,
        follower_names=watched.followers.names,
    )


def _fitting(claims: Claims, ids: Mapping[str, str | None], now: datetime) -> dict[str, list[Verified]]:
    """By topic the good runs that looked at the log which Kafka has, as closely as the topic's policy requires."""
    of_this_log = [run for run in claims.verified if run.topic_id == ids.get(run.topic)]
    doubted: dict[str, datetime] = {}
    for run in of_this_log:
        if not run.replays:
            doubted[run.topic] = max(run.finished_at, doubted.get(run.topic, run.finished_at))
    found: dict[str, list[Verified]] = {}
    for run in of_this_log:
        if _is_of_before_readoption(run, claims.records.get(run.topic)):
            continue
        required = _requirement(run.topic, claims.policies)
        # What began before a bad one was over has perhaps not read what that one read, however late it ended.
        # No bad one began after the newest bad one was over: whatever did, is good.
        is_newer = run.topic not in doubted or run.began_at > doubted[run.topic]
        # By a clock that was ahead it would be newer than bad ones of later, and for longer than it may count.
        is_ahead = is_to_come(run.finished_at, now)
        if is_newer and required is not None and not is_ahead and run.level >= required.level:
            found.setdefault(run.topic, []).append(run)
    return found


def _is_of_before_readoption(run: Verified, record: FenceRecord | None) -> bool:
    """Whether a person readopted the log since it began: what it read may have been cut off, and written anew."""
    at = None if record is None else record.readopted_at
    return at is not None and run.began_at.timestamp() <= at


def _greatest_recent(
    fitting: Mapping[str, list[Verified]], policies: Mapping[str, EffectivePolicy], now: datetime
) -> dict[str, int]:
    """By topic the greatest start of those that are recent: each by itself licenses that what lies below it may go."""
    found: dict[str, int] = {}
    for topic, runs in fitting.items():
        required = _requirement(topic, policies)
        starts = [run.verified_from for run in runs if required and now - run.finished_at <= required.max_age]
        if starts:
            found[topic] = max(starts)
    return found


def _requirement(topic: str, policies: Mapping[str, EffectivePolicy]) -> Requirement | None:
    policy = policies.get(topic)
    return None if policy is None else policy.safety.verification
