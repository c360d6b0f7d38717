"""What is said of the datanodes: a condition of one reason and one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1.cluster import WALClusterStatus
from seawall.api.v1alpha1.disruption import DisruptionKind, of_kind
from seawall.api.v1alpha1.rollout import RestartStatus, RollStage
from seawall.domain.conditions import ConditionBuilder, ConditionStatus, find_condition, with_own
from seawall.domain.datanodes.decision import DatanodeRoll
from seawall.domain.datanodes.diagnosis import Diagnosis, diagnose
from seawall.domain.datanodes.maintenance import is_left_on, is_of_others, left_on_message, of_others_message
from seawall.domain.datanodes.observed import Observed
from seawall.domain.decision import FAILURES
from seawall.domain.rollout_reasons import FailureReason, HealthReason, Reason

KIND = ConditionType.DATANODES_HEALTHY
SERVING, RESTARTING, NOT_ASKED = HealthReason

AWAY = frozenset({FailureReason.NOT_SERVING, FailureReason.MISSING})
"""What is expected of a datanode that Seawall restarts, until that takes too long."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the condition says."""

    status: ConditionStatus
    reason: str
    message: str


def datanode_conditions(status: WALClusterStatus) -> tuple[Condition, ...]:
    """What is said of the datanodes, as it was written."""
    found = find_condition(status.conditions, KIND)
    return () if found is None else (found,)


def datanodes_health(roll: DatanodeRoll, observed: Observed) -> Finding | None:
    """The worst there is to say of the datanodes; None: what was said before stands.

    Maintenance of others hides no datanode that is down: nothing fails over from it, so both are told.
    """
    found, others = _of_datanodes(roll, observed), _of_others(roll.status, observed)
    if others is None or (found is not None and found.reason == Reason.LEFT_ON):
        return found
    if found is None or found.status != "False":
        return others
    return Finding("False", found.reason, f"{found.message}; {others.message}")


def _of_datanodes(roll: DatanodeRoll, observed: Observed) -> Finding | None:
    facts, left_on = observed.facts, _left_on(roll.status, observed)
    if not facts.statefulsets:
        return left_on or Finding(
            "Unknown", Reason.NO_STATEFUL_SET, facts.statefulset_problem or "there is no such StatefulSet"
        )
    found = diagnose(facts, roll.status.last_replay)
    worst = [each for each in found if not _is_expected(each, roll)]
    problem = facts.observation_problem or facts.kafka_problem
    instead = left_on or (None if problem is None else Finding("Unknown", NOT_ASKED, problem))
    if instead is not None and all(each.ailment in AWAY for each in worst):
        return instead
    if worst and observed.is_settling and worst[0].ailment is FailureReason.NOT_SERVING:
        return None
    if worst:
        more = f" (and {len(worst) - 1} more)" if len(worst) > 1 else ""
        return Finding("False", worst[0].ailment, f"{worst[0].message}{more}")
    if found:
        return Finding("True", RESTARTING, f"{found[0].pod} restarts, and all others serve")
    # One that goes serves nothing, and what was said before stands: on a node that is lost it never goes.
    goes = any(pod.is_terminating for pod in facts.pods)
    return None if goes else Finding("True", SERVING, f"{len(facts.pods)} datanodes serve all their regions")


def count_datanodes(roll: DatanodeRoll, observed: Observed) -> Mapping[str, int]:
    """How many there are, by how they are. While nobody can look, only what their pods tell."""
    facts = observed.facts
    if not facts.statefulsets:
        return {}
    is_unsure = facts.observation_problem is not None or observed.is_settling
    found = [
        RESTARTING if _is_expected(each, roll) else each.ailment.value
        for each in diagnose(facts, roll.status.last_replay)
        if not (is_unsure and each.ailment is FailureReason.NOT_SERVING)
    ]
    return Counter(found) + Counter({SERVING: sum(map(facts.serves, facts.pods))})


def with_health(
    status: WALClusterStatus, roll: DatanodeRoll, observed: Observed, build: ConditionBuilder
) -> WALClusterStatus:
    """The status with this restart, and what is said of the datanodes; also what the roll tried and failed to do."""
    finding, restart = datanodes_health(roll, observed), roll.status
    own = datanode_conditions(status)
    if finding is None:
        own = own or (build(KIND, "Unknown", NOT_ASKED, "reports have to be seen to advance first"),)
    else:
        message = f"{finding.message}{_forbidden(restart)}{_trouble(restart)}"
        own = (build(KIND, finding.status, finding.reason, message),)
    return status.model_copy(update={**_parts(roll), "conditions": with_own(status.conditions, own, (KIND,))})


def with_maintenance(
    status: WALClusterStatus, roll: DatanodeRoll, observed: Observed, build: ConditionBuilder
) -> WALClusterStatus:
    """The status while datanodes are nobody's business any more: only that maintenance is left on, or is no more."""
    restart, before = roll.status, find_condition(status.conditions, KIND)
    left_on, trouble = _left_on(restart, observed), _trouble(restart)
    if left_on is None and not trouble and (before is None or before.reason != Reason.LEFT_ON):
        return status.model_copy(update=_parts(roll))
    found = left_on or Finding("Unknown", NOT_ASKED, "the database has left maintenance, and nobody asks for datanodes")
    own = (build(KIND, found.status, found.reason, f"{found.message}{trouble}"),)
    return status.model_copy(update={**_parts(roll), "conditions": with_own(status.conditions, own, (KIND,))})


def _parts(roll: DatanodeRoll) -> dict[str, object]:
    """Of the status that are the roll's."""
    return {"restart": roll.status, "disruption": roll.entry}


def _trouble(restart: RestartStatus) -> str:
    """What the roll tried and failed to do, to be added to the sentence."""
    return f"; {restart.message}" if restart.reason in FAILURES else ""


def _forbidden(restart: RestartStatus) -> str:
    """That a budget forbids what the roll wants to do, to be added to the sentence: it may do so for ever."""
    return f"; {restart.message}" if restart.reason == Reason.DISRUPTION_BUDGET else ""


def without_datanodes(status: WALClusterStatus) -> WALClusterStatus:
    """The status of a WALCluster that names no datanodes: only what was done is remembered."""
    before = status.restart or RestartStatus()
    kept = RestartStatus(
        done_request=before.done_request, config_hash=before.config_hash, last_replay=before.last_replay
    )
    others = tuple(condition for condition in status.conditions if condition.type != KIND)
    restart = None if kept == RestartStatus() else kept
    is_ours = of_kind(status.disruption, DisruptionKind.DATANODE_RESTART) is not None
    update = {"restart": restart, "disruption": None if is_ours else status.disruption, "conditions": others}
    return status.model_copy(update=update)


def _left_on(restart: RestartStatus, observed: Observed) -> Finding | None:
    """That the database may be left in maintenance: nobody takes over what fails then.

    Who has just begun had no time yet to turn it off.
    """
    if not is_left_on(restart, observed.facts) or (observed.is_settling and observed.facts.in_maintenance):
        return None
    return Finding("False", Reason.LEFT_ON, left_on_message(restart, observed.facts))


def _of_others(restart: RestartStatus, observed: Observed) -> Finding | None:
    """That the database is in maintenance that Seawall does not know to be its own, and will not end."""
    if not is_of_others(restart, observed.facts):
        return None
    return Finding("False", Reason.IN_MAINTENANCE, of_others_message(restart, observed.facts))


def _is_expected(found: Diagnosis, roll: DatanodeRoll) -> bool:
    """Before its pod goes it is chosen, and fails by itself: a shut gate or a budget may keep it there for long."""
    entry = roll.entry
    is_its = entry is not None and entry.name == found.pod and roll.status.stage is not RollStage.STALLED
    return is_its and entry is not None and entry.gone_time is not None and found.ailment in AWAY
