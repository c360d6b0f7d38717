"""What a person may do: their own SelfSubjectAccessReview, by their token.

The API server tells who it is and what they may in one answer, and the operator needs no right of its own for that
(every authenticated user may ask about themselves), as it would for TokenReviews and SubjectAccessReviews.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from seawall.adapters.kube.api import KubeApi
from seawall.api.meta import GROUP
from seawall.domain.errors import Forbidden, OutsideUnavailable
from seawall.ports.access import Access, PathAccess

_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True, slots=True)
class KubeAccessReviews:
    """The real one.

    Args:
        api: a connection without credentials: what it sends is the person's token, and nothing of the operator's.
    """

    api: KubeApi

    def allows(self, token: str, access: Access | PathAccess) -> bool:
        """Whether they may; an API server that knows them and does not let them ask says no."""
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": _spec(access),
        }
        status, answer = self.api.create_as(token, _PATH, body)
        match status:
            case HTTPStatus.CREATED:
                return answer.get("status", {}).get("allowed") is True
            case HTTPStatus.FORBIDDEN:
                return False
            case HTTPStatus.UNAUTHORIZED:
                raise Forbidden("the API server does not know your token, or it has expired")
            case _:
                raise OutsideUnavailable(f"asking what you may do: {status} {answer.get('message', '')}")


def _spec(access: Access | PathAccess) -> dict[str, Any]:
    match access:
        case PathAccess():
            return {"nonResourceAttributes": {"verb": access.verb, "path": access.path}}
        case Access():
            attributes = {
                "group": GROUP,
                "verb": access.verb,
                "resource": access.plural,
                "namespace": access.namespace,
                "name": access.name,
            }
            return {"resourceAttributes": attributes}
