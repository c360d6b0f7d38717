"""What the machine of rolls asks: who is due, whether one may go, what is done around that, and whether it is back.

Everything here is pure, and decided from what one tick observed. What is not known counts against a restart.
"""

# ruff: noqa: ARG002 - what a gate does not have does nothing, and its arguments are for the gates that have it

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from seawall.api.v1alpha1.disruption import Disruption
from seawall.domain.decision import Decision
from seawall.domain.rollout.decision import ActionT, Roll, StatusT
from seawall.domain.rollout.refusal import Refusal


class Member(Protocol):
    """One of those that are restarted: a pod, and no later one of its name."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def uid(self) -> str:
        """Its UID."""
        ...

    @property
    def gone_by(self) -> datetime | None:
        """When it should be gone; None: nobody deletes it."""
        ...


MemberT = TypeVar("MemberT", bound=Member)


class RolloutGate(Protocol[StatusT, ActionT, MemberT]):
    """The members of one kind. A method that gives a decision or None says what comes first; None: nothing does.

    Those that a gate does not have do nothing.
    """

    @property
    def now(self) -> datetime:
        """By the clock that all operators share."""
        ...

    @property
    def kind(self) -> str:
        """Of the disruptions in the journal that are its own."""
        ...

    @property
    def noun(self) -> str:
        """What one of them is called."""
        ...

    @property
    def members(self) -> Sequence[MemberT]:
        """Those that are there."""
        ...

    @property
    def override_problem(self) -> str | None:
        """Why a person's word lets nothing through, in one sentence; None: it does, or there is none."""
        ...

    # who is next

    def due(self, status: StatusT) -> Collection[str]:
        """The names of those that are to be restarted."""
        ...

    def order(self, status: StatusT, first_uid: str | None = None) -> Sequence[MemberT]:
        """The due ones that are there, the next one first; `first_uid`: whose turn it is already."""
        ...

    # whether it may go

    def unknown(self, status: StatusT) -> Decision[StatusT, ActionT] | None:
        """Nobody knows who the members are."""
        return None

    def before_next(self, status: StatusT) -> Decision[StatusT, ActionT] | None:
        """What is done before anything new is begun."""
        return None

    def impossible(self, status: StatusT, member: MemberT) -> Decision[StatusT, ActionT] | None:
        """A restart of it would be in vain, and no later one is tried before that is mended."""
        return None

    @abstractmethod
    def refusal(self, status: StatusT, member: MemberT, *, is_chosen: bool) -> Refusal | None:
        """Why it may not go now; `is_chosen`: the journal has it. None: the gate is open."""
        ...

    # what is done around it

    def prepare(self, status: StatusT, member: MemberT) -> Decision[StatusT, ActionT] | None:
        """What is done before the journal has it."""
        return None

    def begins(self, status: StatusT, member: MemberT) -> tuple[StatusT, Disruption]:
        """The status as its restart begins, and the entry of the journal."""
        ...

    def before_act(self, status: StatusT) -> Decision[StatusT, ActionT] | None:
        """What is done before the gate is asked once more."""
        return None

    def act(self, status: StatusT, member: MemberT) -> Decision[StatusT, ActionT]:
        """It goes, or what is done right before that."""
        ...

    def noted(self, entry: Disruption, member: MemberT) -> Disruption:
        """The entry, with which process it is that goes, as long as its pod is there."""
        return entry

    def measured_anew(self, status: StatusT, entry: Disruption) -> Disruption:
        """The entry as it goes: it may have waited for hours since it was written."""
        return entry

    def gone(self, status: StatusT, entry: Disruption) -> Decision[StatusT, ActionT]:
        """It was seen to be gone, or going."""
        ...

    def rest(self, status: StatusT) -> Decision[StatusT, ActionT] | None:
        """Nothing is about to happen: what was prepared is given back."""
        return None

    # whether it is back

    def is_back(self, entry: Disruption, member: MemberT) -> bool:
        """Whether the new one does all that the old one did, by its own word."""
        ...

    def returning(self, status: StatusT, entry: Disruption) -> Decision[StatusT, ActionT]:
        """It comes back, and has the time to."""
        ...

    def mends(self, status: StatusT, entry: Disruption, member: MemberT) -> Decision[StatusT, ActionT] | None:
        """It does not come back as it is, and what is declared of it is another thing by now."""
        return None

    def goes_again(self, entry: Disruption, member: MemberT) -> bool:
        """The new one goes, too, and another one comes: it is that one's restart from now on."""
        return False

    def left_out(self, status: StatusT, entry: Disruption) -> Decision[Roll[StatusT], ActionT] | None:
        """It is none of the members any more, for good or not: whether its restart is over. None: it is one."""
        return None

    def is_done(self, status: StatusT, entry: Disruption, member: MemberT) -> StatusT:
        """The status as it is back."""
        return status

    def diagnosis(self, status: StatusT, entry: Disruption) -> str:
        """What ails it, and what a person can do; empty: nobody knows."""
        ...

    # the end

    def ends(self, status: StatusT) -> Decision[StatusT, ActionT] | None:
        """What is done when nothing is due any more."""
        return None

    def completed(self, status: StatusT) -> StatusT:
        """The status of a roll that is over."""
        return status

    def nothing_to_do(self, status: StatusT) -> tuple[str, str]:
        """Reason and sentence while nothing is due."""
        ...
