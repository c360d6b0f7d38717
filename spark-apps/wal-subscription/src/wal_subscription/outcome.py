"""How a job ended, whatever its sink: it never raises what may pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kafka.errors import KafkaError

from sparkjob.errors import Interrupted, Refused
from sparkjob.wire.connection import sentence_of_error
from sparkjob.wire.reader import RangeGone
from wal_subscription.stops import MustStop, Stop, Trouble


@dataclass(frozen=True, slots=True)
class Outcome:
    """At most one of the first three is there; without any of them it went well.

    Attributes:
        trouble: why it ended early, and may go on later.
        stop: why its topic must not go on.
        refused: why nothing may go on.
        is_cut: a connection broke, and none is to be used any more.
    """

    trouble: str | None = None
    stop: Stop | None = None
    refused: str | None = None
    is_cut: bool = False

    @property
    def is_well(self) -> bool:
        """Whether what is open may be used again."""
        return self == Outcome()


def outcome_of(act: Callable[[], None], *also: type[Exception]) -> Outcome:
    """Does it. `also` are errors of the sink that may pass."""
    passing: tuple[type[Exception], ...] = (Trouble, Interrupted, RangeGone, *also)
    try:
        act()
    except MustStop as must:
        return Outcome(stop=must.stop)
    except Refused as error:
        return Outcome(refused=str(error))
    except passing as error:
        return Outcome(trouble=str(error))
    except (KafkaError, OSError) as error:
        return Outcome(trouble=sentence_of_error(error), is_cut=True)
    return Outcome()
