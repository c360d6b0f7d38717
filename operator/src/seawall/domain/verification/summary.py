"""The verdict that a driver leaves as its termination message, version 1 of the contract."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationError

from seawall.api.meta import StatusModel
from seawall.api.v1alpha1 import verification as api
from seawall.api.v1alpha1.verification import Counts, Outcome

EXIT_CODES = {Outcome.PASSED: 0, Outcome.FAILED: 1, Outcome.REFUSED: 2, Outcome.INTERRUPTED: 3}

OTHER_REQUEST = "the driver's verdict is about another request"


class SummaryFinding(StatusModel):
    """A finding, as the driver writes it."""

    kind: Annotated[str, Field(max_length=64)]
    severity: Literal["Error", "Warning"]
    topic: Annotated[str, Field(max_length=249)] | None = None
    offset: Annotated[int, Field(ge=0)] | None = None
    region: Annotated[int, Field(ge=0, lt=2**64)] | None = None
    message: str = ""

    def as_status(self) -> api.Finding:
        """As the status has it."""
        region = None if self.region is None else str(self.region)
        return api.Finding(
            kind=self.kind,
            severity=self.severity,
            topic=self.topic,
            offset=self.offset,
            region=region,
            message=self.message[:1024],
        )


class Summary(StatusModel):
    """The verdict."""

    version: Literal[1]
    request_digest: str
    outcome: Outcome
    message: str = ""
    report: Annotated[str, Field(max_length=2048)] | None = None
    counts: Counts | None = None
    topics_not_verified: tuple[str, ...] = ()
    topics_not_verified_truncated: bool = False
    findings: tuple[SummaryFinding, ...] = ()

    def proves(self, topic: str) -> bool:
        """Whether the level was proved of a topic of the request."""
        is_verdict = self.outcome in {Outcome.PASSED, Outcome.FAILED}
        return is_verdict and not self.topics_not_verified_truncated and topic not in self.topics_not_verified


def read_summary(text: str, digest: str, exit_code: int) -> Summary | str:
    """The verdict about the request with this digest; or why there is none, as a clause.

    A verdict that the exit code contradicts is none: the driver died between the two.
    """
    try:
        found = Summary.model_validate_json(text)
    except ValidationError:
        what = "left no verdict" if not text.strip() else "left a verdict that cannot be read"
        return f"the driver {what} (exit code {exit_code})"
    if found.request_digest != digest:
        return OTHER_REQUEST
    if EXIT_CODES[found.outcome] != exit_code:
        return f"the driver's verdict is {found.outcome.value}, and its exit code is {exit_code}"
    return found
