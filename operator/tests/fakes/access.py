"""What people may do, in memory: it passes the contract of access reviews."""

from __future__ import annotations

from collections.abc import Collection

from seawall.domain.errors import Forbidden, OutsideUnavailable
from seawall.ports.access import Access, PathAccess


class FakeAccessReviews:
    """People by their tokens, and what each may.

    Attributes:
        asked: how often somebody asked.
        is_silent: whether the API server does not answer.
    """

    def __init__(self, **may: Collection[Access | PathAccess]) -> None:
        self._may = may
        self.asked, self.is_silent = 0, False

    def allows(self, token: str, access: Access | PathAccess) -> bool:
        """Whether they may: who may do it everywhere may do it here, and who may do it to all may do it to one."""
        self.asked += 1
        if self.is_silent:
            raise OutsideUnavailable("the API server does not answer")
        if token not in self._may:
            raise Forbidden("the API server does not know your token, or it has expired")
        if isinstance(access, PathAccess):
            return access in self._may[token]
        wider = [
            Access(access.verb, access.plural, namespace, name)
            for namespace in {access.namespace, ""}
            for name in {access.name, ""}
        ]
        return any(each in self._may[token] for each in wider)
