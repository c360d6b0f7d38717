"""What becomes of a run whose spec this version cannot read: the CRDs are of another version than the operator.

A run in a stage that a newer version wrote is one of them (`api/resource.py`).

    it has begun                               it waits: what it does in Kafka, or on Spark, would be left half done
    it has not, and only has unknown fields    it waits: a version that knows them begins it
    it has not, and a known field is wrong     it ends: nobody can begin it as it stands

Who waits does nothing: what a field that is not understood asks for may be to do less.
"""

from __future__ import annotations

from typing import Any, TypeVar

from seawall.api.meta import InvalidSpec
from seawall.api.resource import Resource
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.decision import Decision

ActionT = TypeVar("ActionT")
StatusT = TypeVar("StatusT", bound=Any)


def wait_or_end(
    obj: Resource[Any, StatusT], spec: InvalidSpec, end: Decision[StatusT, ActionT]
) -> Decision[StatusT, ActionT]:
    """What one tick decides about a run that is not over; `end` is how it would end."""
    if obj.status.stage is None and not spec.only_unknown:
        return end
    message = (
        f"{spec.message}: nothing is done by a spec that this version of Seawall does not understand, and what has "
        "begun stays as it is; upgrade CRDs and operator together"
    )
    return Decision(obj.status, Verdict(Outlook.STALLED, end.verdict.reason, message))
