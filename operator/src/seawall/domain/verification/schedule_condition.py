"""What a WALCluster's status says of its schedule of verifications: what its spec says, and whether they can be made.

The controller of the schedule writes this condition; whoever writes the others keeps it.
"""

from __future__ import annotations

from collections.abc import Callable

from seawall.api.meta import Condition, ConditionType, InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.domain.conditions import ConditionBuilder, Verdict, find_condition, loss_event, with_own
from seawall.domain.decision import Published
from seawall.domain.failure import FAILURES
from seawall.domain.schedule import BadSchedule
from seawall.domain.verification.reasons import ScheduledReason
from seawall.domain.verification.schedule_runs import read_times, why_name_too_long

KIND = ConditionType.VERIFICATION_SCHEDULED
SCHEDULED, SUSPENDED, NAME_TOO_LONG = ScheduledReason


def own_conditions(status: WALClusterStatus) -> tuple[Condition, ...]:
    """What is said of the schedule, as it was written."""
    found = find_condition(status.conditions, KIND)
    return () if found is None else (found,)


def published(cluster: WALCluster, build: ConditionBuilder, verdict: Verdict) -> Published[WALClusterStatus]:
    """The status with what is to be said of the schedule: what it is, or why verifications are not made or removed."""
    own = schedule_conditions(cluster, build)
    if verdict.reason in FAILURES and own:
        own = (build(KIND, "False", verdict.reason, verdict.message),)
    conditions = with_own(cluster.status.conditions, own, (KIND,))
    event = loss_event(cluster.status.conditions, conditions, KIND, "verifications are scheduled again")
    return Published(cluster.status.model_copy(update={"conditions": conditions}), () if event is None else (event,))


def schedule_conditions(cluster: WALCluster, build: Callable[..., Condition]) -> tuple[Condition, ...]:
    """The condition VerificationScheduled, or none where no schedule is declared."""
    if isinstance(cluster.spec, InvalidSpec) or cluster.spec.verification is None:
        return ()
    spec = cluster.spec.verification
    times = read_times(spec, cluster.metadata.creation_timestamp)
    if times is None:
        return ()
    if (problem := why_name_too_long(cluster)) is not None:
        return (build(KIND, "False", NAME_TOO_LONG, problem),)
    if isinstance(times, BadSchedule):
        return (build(KIND, "False", times.reason.value, times.message),)
    if spec.suspend:
        return (build(KIND, "False", SUSPENDED, "verification.suspend is set: no new verifications begin"),)
    return (build(KIND, "True", SCHEDULED, f"verifications begin at {times.describe()}"),)
