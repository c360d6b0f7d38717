"""What is alike in how people meet all that runs on Spark: the events of its conditions, and how long it stays."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, TypeVar

from seawall.api.meta import Condition, ConditionType, InvalidSpec
from seawall.api.resource import ObjectStatus, Resource
from seawall.domain.conditions import loss_event, transition_events
from seawall.domain.decision import Decision, Published, silent
from seawall.domain.spark_job.actions import RemoveItself
from seawall.domain.times import JOB_RETRY_SECONDS

StatusT = TypeVar("StatusT", bound=ObjectStatus)


def published(before: tuple[Condition, ...], status: StatusT) -> Published[StatusT]:
    """The status, with the events of what changed in its conditions."""
    user = loss_event(before, status.conditions, ConditionType.OWN_KAFKA_USER, "its own user again")
    events = transition_events(before, status.conditions)
    return Published(status, events if user is None else (*events, user))


def wait_for_ttl(
    obj: Resource[Any, StatusT], noun: str, completion_time: datetime | None, now: datetime
) -> Decision[StatusT, Any]:
    """What is over stays until its ttlSecondsAfterFinished is; nothing of it is published any more."""
    ttl = None if isinstance(obj.spec, InvalidSpec) else obj.spec.ttl_seconds_after_finished
    if ttl is None or completion_time is None:
        return silent(obj, f"the {noun} is over")
    left = (completion_time + timedelta(seconds=ttl) - now).total_seconds()
    actions = (RemoveItself(),) if left <= 0 else ()
    return silent(obj, f"the {noun} is over, and stays until its ttl is", max(left, JOB_RETRY_SECONDS), *actions)
