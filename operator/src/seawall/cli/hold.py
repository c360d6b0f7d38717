"""`seawall hold renew <walhold>`: says that the holder is alive, as one renews a Lease."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.objects import path_of
from seawall.api.meta import Key
from seawall.api.v1alpha1.hold import WAL_HOLD, HoldState
from seawall.domain.errors import Refused


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `seawall hold`."""
    verbs = parser.add_subparsers(dest="verb", required=True)
    renew = verbs.add_parser("renew", help="set spec.renewTime to now")
    renew.add_argument("walhold", help="name of the WALHold")
    renew.add_argument("-n", "--namespace", default="default", help="its namespace")


def renew_hold(arguments: argparse.Namespace, api: KubeApi) -> str:
    """Renews, at the version that was read; what is printed.

    Raises:
        Refused: there is no such hold, or it is over.
        Conflict: it changed meanwhile.
        OutsideUnavailable: the API server did not answer: it may be renewed or not.
    """
    path = path_of(WAL_HOLD, Key(arguments.namespace, arguments.walhold))
    hold = api.get(path)
    if hold is None:
        raise Refused(f"there is no WALHold {arguments.namespace}/{arguments.walhold}")
    state = hold.get("status", {}).get("state")
    if state in {HoldState.LOST, HoldState.RELEASED}:
        raise Refused(f"the hold is {state}, which is final: place another one")
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    version = hold["metadata"]["resourceVersion"]
    api.merge(path, {"metadata": {"resourceVersion": version}, "spec": {"renewTime": now}})
    return f"walhold/{arguments.walhold} renewed at {now}"
