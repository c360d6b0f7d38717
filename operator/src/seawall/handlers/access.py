"""Who may see a page: whoever may read what is on it, as the API server says; or who has the key of the Lease.

The API server's proxy takes a person's token off and does not say who asks. So the command shows the token a second
time, in a header of ours, and it is asked by that token what they may (docs/adr/0059-pages-for-people.md).
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from aiohttp import web

from seawall.api.meta import Key
from seawall.api.pages import PERSON_HEADER
from seawall.api.v1alpha1.cluster import WAL_CLUSTER
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.times import METRICS_ACCESS_SILENT_SECONDS, PAGE_ACCESS_SECONDS
from seawall.ports.access import Access, AccessReviews, PathAccess

MOST_ANSWERS = 10_000
"""That are remembered: tokens that come and go must not fill the memory."""
NO_KEY = "this operator wants a token of who asks, and takes no key: your kubeconfig has none"
WRONG_KEY = "not this process's key: the command reads it from the leader's Lease; is it as new as the operator?"
METRICS = PathAccess("get", "/metrics")
"""What Prometheus does, as RBAC has it."""
_BEARER = "Bearer "


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and what they may.

    Attributes:
        may: whether they may do something; raises as `AccessReviews.allows` does, and blocks for as long as that takes.
    """

    may: Callable[[Access | PathAccess], bool]


@dataclass(frozen=True, slots=True)
class Gate:
    """Lets people in.

    Args:
        reviews: asks the API server.
        key: lets in whoever shows it, for all that there is; None: no key does.
        monotonic: the clock.
    """

    reviews: AccessReviews
    key: str | None
    monotonic: Callable[[], float] = time.monotonic
    _answers: dict[tuple[bytes, Access | PathAccess], tuple[bool, float]] = field(default_factory=dict)

    def identify(self, request: web.Request) -> Caller:
        """Who asks. A token decides, whatever else is shown.

        Raises:
            web.HTTPForbidden: nobody who may be let in.
        """
        token = _token(request)
        if token:
            return Caller(partial(self._may, token))
        if self.key is not None and hmac.compare_digest(request.query.get("key", "").encode(), self.key.encode()):
            return Caller(lambda _: True)
        if "key" in request.query:
            raise web.HTTPForbidden(text=NO_KEY if self.key is None else WRONG_KEY)
        raise web.HTTPForbidden(text=f"show your token ({PERSON_HEADER}: Bearer …)")

    async def require_known(self, request: web.Request) -> None:
        """That the API server knows whoever asks, whatever they may: a token alone says nothing.

        Raises:
            web.HTTPForbidden: it does not.
            web.HTTPServiceUnavailable: it does not say.
        """
        await ask(self.identify(request), Access("list", WAL_CLUSTER.plural, ""))

    async def require(self, request: web.Request, key: Key) -> None:
        """That whoever asks may read a WALCluster.

        Raises:
            web.HTTPForbidden: they may not.
            web.HTTPServiceUnavailable: the API server does not say.
        """
        access = Access("get", WAL_CLUSTER.plural, key.namespace, key.name)
        if not await ask(self.identify(request), access):
            raise web.HTTPForbidden(text=f"you may not {access}")

    async def require_metrics(self, request: web.Request) -> None:
        """That whoever asks may read metrics.

        Raises:
            web.HTTPForbidden: they may not.
            web.HTTPServiceUnavailable: the API server does not say, and has not said so lately.
        """
        if not await ask(self.identify(request), METRICS):
            raise web.HTTPForbidden(text=f"you may not {METRICS}: it takes a ClusterRole with that nonResourceURL")

    def _may(self, token: str, access: Access | PathAccess) -> bool:
        asked = hashlib.sha256(token.encode()).digest(), access
        known = self._answers.get(asked)
        begun = self.monotonic()
        if known is not None and begun - known[1] < PAGE_ACCESS_SECONDS:
            return known[0]
        try:
            allowed = self.reviews.allows(token, access)
        except OutsideUnavailable:
            # Metrics tell that the API server is away: who could read them before can read that.
            if access != METRICS or known is None or begun - known[1] >= METRICS_ACCESS_SILENT_SECONDS:
                raise
            return known[0]
        if len(self._answers) >= MOST_ANSWERS:
            self._answers.clear()
        self._answers[asked] = allowed, begun
        return allowed


async def ask(caller: Caller, access: Access | PathAccess) -> bool:
    """Whether they may.

    Raises:
        web.HTTPForbidden: nobody knows who it is.
        web.HTTPServiceUnavailable: the API server does not say.
    """
    try:
        return await asyncio.to_thread(caller.may, access)
    except Refused as error:
        raise web.HTTPForbidden(text=str(error)) from error
    except OutsideUnavailable as error:
        raise web.HTTPServiceUnavailable(text=str(error)) from error


def _token(request: web.Request) -> str:
    """As the command shows it, or as whoever comes without a proxy does."""
    shown = request.headers.get(PERSON_HEADER) or request.headers.get("Authorization") or ""
    return shown.removeprefix(_BEARER).strip() if shown.startswith(_BEARER) else ""
