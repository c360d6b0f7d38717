"""`seawall status <walcluster>`: one page for a person on call: what is wrong, what runs, and what it waits for.

It reads objects of the API server and asks nobody else: a person needs `get` and `list` of Seawall's kinds, which the
operator's Role has as well, and `get` of its Lease to be told who leads. What may not be read is said, and left out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import datetime

from seawall.api.meta import Key
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.verification import WALVerification
from seawall.cli.connection import add_connection, add_operator
from seawall.cli.ledger import Get, read_lease
from seawall.cli.status_text import describe
from seawall.domain.cluster_name import NamingT, of_cluster
from seawall.domain.errors import Forbidden, Refused
from seawall.domain.overview.page import build_page
from seawall.domain.overview.snapshot import Leader, Snapshot
from seawall.ports.kube import Kube


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `seawall status`."""
    parser.add_argument("walcluster", help="name of the WALCluster")
    add_connection(parser)
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    add_operator(parser)


def show_status(arguments: argparse.Namespace, kube: Kube, get: Get, now: datetime) -> str:
    """What is printed; `kube` reads objects of our kinds, `get` the Lease.

    Raises:
        Refused: there is no such WALCluster, or the person may not read it.
        OutsideUnavailable: the API server did not answer.
    """
    key = Key(arguments.namespace, arguments.walcluster)
    cluster = kube.get(WALCluster, key)
    if cluster is None:
        raise Refused(f"there is no WALCluster {key}")
    not_read: list[str] = []

    def those_of(resource: type[NamingT]) -> Sequence[NamingT]:
        try:
            found = kube.list(resource, key.namespace)
        except Refused as error:  # not allowed, or the CRD is not there
            not_read.append(f"{resource.KIND.plural} could not be read: {error}")
            return ()
        return of_cluster(found.items, key.name)

    snapshot = Snapshot(
        now,
        cluster,
        _leader(arguments.operator, get),
        policies=those_of(WALPurgePolicy),
        purges=those_of(WALPurge),
        holds=those_of(WALHold),
        verifications=those_of(WALVerification),
        backup_policies=those_of(WALBackupPolicy),
        backups=those_of(WALBackup),
        restores=those_of(WALRestore),
        subscriptions=those_of(WALSubscription),
        not_read=tuple(not_read),
    )
    page = build_page(snapshot)
    return json.dumps(page.to_json(), indent=2) if arguments.output == "json" else describe(page)


def _leader(operator: str, get: Get) -> Leader:
    try:
        lease = read_lease(get, operator)
    except Forbidden:
        return Leader(operator, problem=f"not known: you may not read the Lease {operator}")
    if lease is None:
        return Leader(operator, problem=f"not known: there is no Lease {operator}, name it with --operator")
    spec = lease.get("spec") or {}
    renewed = spec.get("renewTime")
    return Leader(operator, spec.get("holderIdentity") or None, datetime.fromisoformat(renewed) if renewed else None)
