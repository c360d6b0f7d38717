"""What a person may do, as the API server says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Access:
    """Something of ours that somebody wants to read.

    Attributes:
        verb: get or list.
        plural: the resource, as walclusters.
        namespace: where; empty: in all of them.
        name: of the object; empty: whichever.
    """

    verb: str
    plural: str
    namespace: str
    name: str = ""

    def __str__(self) -> str:
        where = f"in namespace {self.namespace}" if self.namespace else "in all namespaces"
        return f"{self.verb} {self.plural} {self.name + ' ' if self.name else ''}{where}"


@dataclass(frozen=True, slots=True)
class PathAccess:
    """A path that is no object, as Kubernetes' RBAC has it in `nonResourceURLs`.

    Attributes:
        verb: get.
        path: as /metrics.
    """

    verb: str
    path: str

    def __str__(self) -> str:
        return f"{self.verb} {self.path}"


class AccessReviews(Protocol):
    """Asks whether whoever has a token may do something."""

    def allows(self, token: str, access: Access | PathAccess) -> bool:
        """Whether they may.

        Raises:
            Forbidden: the API server does not know this token.
            OutsideUnavailable: the API server did not answer.
        """
        ...
