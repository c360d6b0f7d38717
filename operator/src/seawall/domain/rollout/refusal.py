"""Why a gate is shut: the first of its predicates that holds, as a sentence.

A gate is a table of predicates, one for each reason, in the order in which they are asked. A predicate says what is
against a restart as a clause, or None. What is not known is against it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from seawall.domain.text import Explained, few

ReasonT = TypeVar("ReasonT", bound=Explained)
AskedT = TypeVar("AskedT")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the gate is shut."""

    reason: Explained
    clause: str
    """What exactly, for people; may be empty."""

    @property
    def message(self) -> str:
        """The sentence, with what exactly, and what to do."""
        found = f" ({self.clause})" if self.clause else ""
        return f"{self.reason.sentence.rstrip('.')}{found}. {self.reason.remedy}"


def refusals(gate: Mapping[ReasonT, Callable[[AskedT], str | None]], asked: AskedT) -> tuple[Refusal, ...]:
    """All that is against a restart, in the order of the gate."""
    found = ((reason, predicate(asked)) for reason, predicate in gate.items())
    return tuple(Refusal(reason, clause) for reason, clause in found if clause is not None)


def first_that_counts(found: Iterable[Refusal], passed: Collection[Explained]) -> Refusal | None:
    """What shuts the gate; None: nothing does but for reasons that are passed."""
    return next((each for each in found if each.reason not in passed), None)


def first_if_passed(found: Sequence[Refusal], passed: Collection[Explained]) -> Refusal | None:
    """What would shut the gate if it were not passed; None: nothing, or what shuts it is not passed."""
    return found[0] if found and found[0].reason in passed else None


def first_few(clauses: Iterable[str]) -> str | None:
    """The first few of them as one clause; None: there are none."""
    found = list(clauses)
    return few(found) if found else None
