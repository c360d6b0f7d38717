"""What custom resources declare, as the ledger's values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from seawall.api.meta import InvalidSpec
from seawall.api.v1alpha1.hold import ALL_TOPICS, HeldFrom, HoldState, WALHold
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.purge_template import PurgeTemplate
from seawall.api.v1alpha1.subscription import WAL_SUBSCRIPTION
from seawall.api.v1alpha1.verification import WALVerification
from seawall.api.v1alpha1.verification_level import VerificationLevel
from seawall.domain.ledger.bounds import Verified
from seawall.domain.ledger.held import Claim, Hold, Renewal
from seawall.domain.ledger.held_logs import LogIds
from seawall.domain.ledger.policy import Level, Policy, Requirement, Safety
from seawall.domain.ledger.verdicts import began_at, doubt_time, proof_time


def policy_of(obj: WALPurgePolicy | WALPurge) -> Policy | InvalidSpec:
    """A policy, or a run, which counts as one more policy."""
    if isinstance(obj.spec, InvalidSpec):
        return obj.spec
    return Policy(f"{obj.KIND.kind} {obj.metadata.name}", obj.spec.topics, safety_of(obj.spec))


def safety_of(template: PurgeTemplate) -> Safety:
    """The margins of a policy or a run."""
    asked, required = template.safety, template.safety.require_verification
    requirement = None if required is None else Requirement(level_of(required.level), required.max_age)
    return Safety(asked.keep_entries, asked.stale_after, asked.open_grace, requirement, asked.count_followers)


def level_of(level: VerificationLevel) -> Level:
    """The level as the ledger compares it."""
    match level:
        case VerificationLevel.COVERAGE:
            return Level.COVERAGE
        case VerificationLevel.INTEGRITY:
            return Level.INTEGRITY
        case VerificationLevel.EQUIVALENCE:
            return Level.EQUIVALENCE
        case unknown:
            assert_never(unknown)


def verified_by(obj: WALVerification) -> tuple[Verified, ...]:
    """What a verification that has a verdict says of each topic: what is bad at once, what is good when it is over.

    Of a spec that cannot be read the level is not known: what was found bad stays so, and what was good does not count.
    """
    status, is_readable, began = obj.status, not isinstance(obj.spec, InvalidSpec), began_at(obj)
    level = Level.COVERAGE if isinstance(obj.spec, InvalidSpec) else level_of(obj.spec.level)
    good, bad = proof_time(status) if is_readable else None, doubt_time(status)
    found = ((row, good if row.verified else bad) for row in status.topics)
    return tuple(
        Verified(row.name, row.topic_id, level, row.verified_from, began, ended, replays=row.verified)
        for row, ended in found
        if ended is not None
    )


def hold_of(obj: WALHold) -> Hold | InvalidSpec:
    """A hold; one whose state was not written yet is a request.

    One whose state or grant cannot be read is as bad as one whose spec cannot: nobody knows what it keeps.
    """
    if isinstance(obj.spec, InvalidSpec):
        return obj.spec
    problem = _unreadable(obj)
    if problem is not None:
        return InvalidSpec(problem, cluster=obj.spec.cluster_ref.name)
    recorded, logs = obj.status.renewal, obj.status.granted_logs
    return Hold(
        name=obj.metadata.name,
        claim=claim_of(obj.spec.topics),
        ttl=obj.spec.ttl,
        renew_time=obj.spec.renew_time,
        max_lag_bytes=obj.spec.max_lag_bytes,
        max_lag_age=obj.spec.max_lag_age,
        release=obj.spec.release,
        state=obj.status.state or HoldState.REQUESTED,
        granted=claim_of(obj.status.granted) if obj.status.granted else None,
        granted_logs=None if logs is None else LogIds(logs.topics, logs.digest, logs.numbers),
        granted_prefix=obj.status.granted_prefix or _prefix_of(obj.status.granted),
        granted_cluster_id=obj.status.granted_cluster_id,
        renewal=None if recorded is None else Renewal(recorded.renew_time, recorded.seen_time),
        unrenewed=obj.status.unrenewed,
        at_risk_since=obj.status.at_risk_time,
        subscription=_subscription(obj),
        kept_by=None if obj.metadata.deletion_timestamp is None else obj.metadata.finalizers,
    )


def _subscription(obj: WALHold) -> str | None:
    owner = obj.metadata.controller
    return owner.name if owner is not None and owner.kind == WAL_SUBSCRIPTION.kind else None


def _prefix_of(granted: Mapping[str, HeldFrom]) -> str | None:
    """What the granted topics are called, where a version has granted them that did not write it down."""
    return next((name.rpartition("_")[0] for name in sorted(granted) if name != ALL_TOPICS), None)


def _unreadable(obj: WALHold) -> str | None:
    """What of a hold's status, on which it depends what the hold keeps, makes no sense to this version."""
    status = obj.status
    wrong = sorted(obj.KEPT & obj.unreadable.keys())
    if any((name == ALL_TOPICS) != isinstance(held, str) for name, held in status.granted.items()):
        wrong.append("granted")
    if not wrong:
        return None
    return f"status.{wrong[0]} cannot be read, a newer Seawall may have written it: upgrade, or delete the hold"


def claim_of(topics: Mapping[str, HeldFrom]) -> Claim:
    """What the topics of a WALHold claim."""
    offsets = {name: held for name, held in topics.items() if isinstance(held, int)}
    return Claim(offsets, everything=ALL_TOPICS in topics)
