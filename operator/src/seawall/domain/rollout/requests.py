"""What people ask of a roll: a restart of all members, and to let it through a gate that is shut."""

from __future__ import annotations

from collections.abc import Collection

from seawall.api.v1alpha1.rollout import PodIdentity, RestartRequest, RollStatus
from seawall.domain.clocks import TrustedTime
from seawall.domain.ledger.declarations import Grounds, parse_grounds
from seawall.domain.rollout.gate import Member
from seawall.domain.rollout.workload import OVERRIDE_ANNOTATION

_EXAMPLE = "broker 3 is lost@2026-12-24T18:00:00Z"

MAX_MEMBERS = 1_000

MAX_VALUE = 253
"""Characters of the annotation that count."""


def parse_override(text: str, time: TrustedTime) -> Grounds | str:
    """Why, and until when, a person lets restarts through a shut gate; or the sentence that says why nothing is let."""
    return parse_grounds(OVERRIDE_ANNOTATION, text, time, example=_EXAMPLE)


def taken_up(status: RollStatus, value: str | None, members: Collection[Member]) -> RestartRequest | None:
    """The request of the annotation's value: it is about the pods of the moment in which it was first seen.

    Args:
        status: what was asked for, and what is done.
        value: of the annotation now; None: there is none.
        members: those that are there now.
    """
    asked = (value or "")[:MAX_VALUE]
    if not asked:
        return None
    if asked == status.done_request or (status.request is not None and status.request.value == asked):
        return status.request
    pods = tuple(PodIdentity(name=each.name, uid=each.uid) for each in members)
    return RestartRequest(value=asked, pods=pods[:MAX_MEMBERS]) if pods else None


def requested(status: RollStatus) -> dict[str, str]:
    """By name the UIDs of the pods that were there when the restart was asked for."""
    return {} if status.request is None else {pod.name: pod.uid for pod in status.request.pods}
