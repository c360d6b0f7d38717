"""What people read of what the source keeps for a subscription, by the hold that was read just now.

    hold                  Held              WithinBudget
    --------------------  ----------------  ------------------------------------------------------------
    none                  False, NotHeld    False, NotHeld; Unknown before topics begin, and once promoted
    none, and it is Lost  False, NotHeld    False, Lost
    not granted yet       False, Requested  Unknown, Requested
    granted               True, its state   True; False, AtRisk: near lagBudget
    granted otherwise     True, why not     the same: what is claimed now is refused
    over                  False, its state  False, Lost

Nothing of it is remembered: a hold that somebody deletes holds nothing.
"""

from __future__ import annotations

from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.subscription_status import SubscriptionState
from seawall.domain.conditions import ConditionBuilder, ConditionStatus, as_status, find_condition
from seawall.domain.subscription.case import is_alive, is_at_risk

NOT_HELD = "NotHeld"


def describe_kept(
    obj: WALSubscription, hold: WALHold | None, state: SubscriptionState, build: ConditionBuilder
) -> tuple[Condition, ...]:
    """Whether the source keeps what is not copied, and whether it will go on doing so."""
    own = hold if hold is not None and hold.metadata.controller_uid == obj.metadata.uid else None
    return (
        build(ConditionType.HELD, as_status(own is not None and is_alive(own)), *_held(own)),
        build(ConditionType.WITHIN_BUDGET, *_within_budget(obj, own, state)),
    )


def find_refusal(own: WALHold | None) -> Condition | None:
    """Why what is claimed now is not granted, of a hold that stands as it was granted before; None: it is."""
    stalled = None if own is None else find_condition(own.status.conditions, ConditionType.STALLED)
    is_refused = own is not None and is_alive(own) and stalled is not None and stalled.status == "True"
    return stalled if is_refused else None


def _held(own: WALHold | None) -> tuple[str, str]:
    if own is None or own.status.state is None:
        return NOT_HELD, "the source keeps nothing for it"
    refusal = find_refusal(own)
    if refusal is not None:
        return refusal.reason, f"WALHold {own.metadata.name} is {own.status.state}: {refusal.message}"
    return own.status.state.value, f"WALHold {own.metadata.name} is {own.status.state}"


def _within_budget(
    obj: WALSubscription, own: WALHold | None, state: SubscriptionState
) -> tuple[ConditionStatus, str, str]:
    """What becomes of the hold; the sentence is the hold's own, and stays the same while its state does."""
    if own is not None and (own.status.is_final or is_at_risk(own)):
        condition = find_condition(own.status.conditions, ConditionType.READY)
        reason = "AtRisk" if is_at_risk(own) else "Lost"
        return "False", reason, f"WALHold {own.metadata.name}: {'' if condition is None else condition.message}"
    if own is not None and is_alive(own):
        return "True", "WithinBudget", "the source keeps what is not copied"
    if state is SubscriptionState.LOST:
        return "False", "Lost", "the source keeps nothing for it any more"
    needs_hold = bool(obj.status.topics) and state is not SubscriptionState.PROMOTED
    return "False" if own is None and needs_hold else "Unknown", *_held(own)
