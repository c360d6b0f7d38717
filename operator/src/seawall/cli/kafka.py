"""`seawall kafka certificate|secrets <walcluster>`: what a managed Kafka needs before it begins, by a person's rights.

The operator writes no Secret: cert-manager does, or this command.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.objects import KubeAdapter
from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.managed_kafka import ManagedKafka
from seawall.cli.connection import add_connection, add_walcluster
from seawall.cli.libraries import operators_libraries
from seawall.cli.session import Session
from seawall.domain.errors import Refused
from seawall.domain.managed_kafka.wanted_certificates import WantedCertificate, wanted_certificates
from seawall.domain.times import CERTIFICATE_LEAST_LIFE

LEAST_DAYS, MOST_DAYS = CERTIFICATE_LEAST_LIFE.days, 3650


def add_arguments(parser: argparse.ArgumentParser, _: str = "") -> None:
    """The arguments of `seawall kafka`."""
    verbs = parser.add_subparsers(dest="verb", required=True)
    certificate = verbs.add_parser("certificate", help="print Certificates for cert-manager, with all names")
    secrets = verbs.add_parser("secrets", help="say which Secrets are missing; --apply makes them")
    for verb in (certificate, secrets):
        add_walcluster(verb)
        add_connection(verb)
    certificate.add_argument("--issuer", required=True, help="name of the Issuer that signs them all")
    certificate.add_argument("--issuer-kind", default="Issuer", choices=("Issuer", "ClusterIssuer"), help="its kind")
    secrets.add_argument("--apply", action="store_true", help="make them, and a CA if there is none")
    secrets.add_argument("--renew", action="store_true", help="certificates that this command made are made anew, too")
    secrets.add_argument("--days", type=_days, default=365, help="how long certificates are valid; default: 365")


def _days(text: str) -> int:
    if not text.isdecimal() or not LEAST_DAYS <= int(text) <= MOST_DAYS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days from {LEAST_DAYS} to {MOST_DAYS}")
    return int(text)


def answers(arguments: argparse.Namespace, session: Session) -> Iterator[str]:
    """What is printed, piece by piece."""
    key, kafka, there = secured_kafka(session.api, arguments)
    if arguments.verb == "certificate":
        yield certificates(key, kafka, arguments.issuer, arguments.issuer_kind, there)
        return
    with operators_libraries("seawall kafka secrets"):
        from seawall.cli.kafka_secrets import lines  # noqa: PLC0415 - only this verb needs cryptography
    yield from lines(arguments, session, key, kafka, there)


def secured_kafka(api: KubeApi, arguments: argparse.Namespace) -> tuple[Key, ManagedKafka, tuple[int, ...]]:
    """The WALCluster's key, its Kafka, and the nodes that there are: some may be leaving.

    Raises:
        Refused: there is no such WALCluster, or its Kafka needs no Secret.
    """
    key = Key(arguments.namespace, arguments.walcluster)
    found = KubeAdapter(api, ()).get(WALCluster, key)
    if found is None:
        raise Refused(f"there is no WALCluster {key}")
    if isinstance(found.spec, InvalidSpec):
        raise Refused(found.spec.message)
    if found.spec.kafka.managed is None:
        raise Refused(f"WALCluster {key} has no kafka.managed: who runs its Kafka makes its Secrets")
    if found.spec.kafka.managed.security.insecure:
        raise Refused(f"WALCluster {key} has security.insecure: true: its Kafka needs no Secret")
    return key, found.spec.kafka.managed, found.status.kafka_nodes


def certificates(key: Key, kafka: ManagedKafka, issuer: str, issuer_kind: str, there: Iterable[int] = ()) -> str:
    """Certificates of cert-manager, as YAML."""
    reference = {"name": issuer, "kind": issuer_kind, "group": "cert-manager.io"}
    wanted = (_certificate(key, each, reference) for each in wanted_certificates(key, kafka, there))
    return yaml.safe_dump_all(wanted, sort_keys=False, explicit_start=True).rstrip()


def _certificate(key: Key, wanted: WantedCertificate, issuer: dict[str, str]) -> dict[str, Any]:
    uses = ["digital signature", *(["server auth"] if wanted.names else []), "client auth"]
    spec = {
        "secretName": wanted.secret,
        "commonName": wanted.common_name,
        "subject": {"organizationalUnits": [key.namespace]},
        **({"dnsNames": list(wanted.names)} if wanted.names else {}),
        "usages": uses,
        # Kafka reads PKCS#8 only.
        "privateKey": {"algorithm": "ECDSA", "size": 256, "encoding": "PKCS8", "rotationPolicy": "Always"},
        "issuerRef": issuer,
    }
    metadata = {"name": wanted.secret, "namespace": key.namespace}
    return {"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": metadata, "spec": spec}
