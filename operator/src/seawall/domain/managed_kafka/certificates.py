"""Whether the certificates of a managed Kafka fit, by what was read of their Secrets; pure.

Nothing is started by Secrets that do not fit: a node that cannot talk to the others would wait for ever, or be a second
Kafka beside the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from seawall.api.meta import Key
from seawall.api.v1alpha1.managed_kafka import ManagedKafka, node_host
from seawall.domain.managed_kafka.subjects import node_subject, operator_subject
from seawall.domain.managed_kafka.wanted_certificates import named_nodes
from seawall.domain.text import few, written
from seawall.domain.times import CERTIFICATE_EXPIRES_SOON, CERTIFICATE_LAST_SHARE


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is in a Secret.

    Attributes:
        secret: its name.
        subject: as Kafka writes it.
        names: the DNS names that it is for.
        begins: when its time begins.
        expires: when the first of its chain ends.
        shown_until: the same without the CA above: Java believes one whose time is over.
        times: of each of its chain, and of the CA above that ends last, when it begins and when it ends.
        serves: whether a server may show it.
        connects: whether a client may show it.
        fits_key: whether the private key beside it is its own.
        trusted: the CAs in the Secret's ca.crt, each by a digest of its subject and public key.
        signed_by: those of the CAs that were looked at, above it; a chain in tls.crt counts.
        digest: of all in tls.crt and ca.crt.
    """

    secret: str
    subject: str
    names: frozenset[str]
    begins: datetime
    expires: datetime
    shown_until: datetime
    times: tuple[tuple[datetime, datetime], ...]
    serves: bool
    connects: bool
    fits_key: bool
    trusted: frozenset[str]
    signed_by: frozenset[str]
    digest: str


@dataclass(frozen=True, slots=True)
class Certificates:
    """Both, or why not: a sentence."""

    nodes: Certificate | str
    operator: Certificate | str


def why_unusable(
    cluster: Key, kafka: ManagedKafka, found: Certificates, now: datetime, leaving: Iterable[int] = ()
) -> str | None:
    """The first thing that is wrong with them, in one sentence; None: they fit.

    Args:
        cluster: the WALCluster.
        kafka: as declared.
        found: what is in the Secrets.
        now: the time.
        leaving: nodes that are there still: one that begins anew before it is out has to be believed, too.
    """
    return next(_faults(cluster, kafka, found, now, leaving), None)


def _faults(
    cluster: Key, kafka: ManagedKafka, found: Certificates, now: datetime, leaving: Iterable[int]
) -> Iterator[str]:
    for each, subject in ((found.nodes, node_subject(cluster)), (found.operator, operator_subject(cluster))):
        if isinstance(each, str):
            yield each
            return
        yield from (f"the certificate in Secret {each.secret} {what}" for what in _of_one(each, subject, now))
    nodes, operator = found.nodes, found.operator
    if isinstance(nodes, str) or isinstance(operator, str):
        return
    if not nodes.serves:
        yield f"the certificate in Secret {nodes.secret} is not for servers (extended key usage)"
    wanted = [node_host(cluster.namespace, cluster.name, node) for node in named_nodes(kafka, leaving)]
    if missing := [host for host in wanted if not _covers(nodes.names, host)]:
        yield f"the certificate in Secret {nodes.secret} lacks the names {few(missing)}"
    if not operator.signed_by & nodes.trusted:
        yield f"no CA in ca.crt of Secret {nodes.secret} signed the certificate in Secret {operator.secret}"
    if not nodes.signed_by & operator.trusted:
        yield f"no CA in ca.crt of Secret {operator.secret} signed the certificate in Secret {nodes.secret}"


def _of_one(found: Certificate, subject: str, now: datetime) -> Iterator[str]:
    if not found.fits_key:
        yield "is not of the key beside it"
    if found.subject != subject:
        yield f"has the subject {found.subject}, and not {subject}"
    if found.expires <= now:
        yield f"expired at {written(found.expires)}"
    if found.begins > now:
        yield f"is not valid before {written(found.begins)}"
    if not found.connects:
        yield "is not for clients (extended key usage), and nodes are clients of each other"
    if not found.signed_by & found.trusted:
        yield "is not signed by a CA in the ca.crt beside it"


def _covers(names: frozenset[str], host: str) -> bool:
    return host in names or f"*.{host.partition('.')[2]}" in names


def _soon(life: timedelta) -> timedelta:
    """How long before its end one that is made for so long is reported: a short one would always end soon."""
    return min(CERTIFICATE_EXPIRES_SOON, life * CERTIFICATE_LAST_SHARE)


def expires_soon(found: Certificates, now: datetime) -> str | None:
    """Which one ends soon, in one sentence; None: none does."""
    known = [each for each in (found.nodes, found.operator) if not isinstance(each, str)]
    ending = [each for each in known if any(now >= ends - _soon(ends - begins) for begins, ends in each.times)]
    first = min(ending, key=lambda each: each.expires, default=None)
    if first is None:
        return None
    return f"the certificate in Secret {first.secret} expires at {written(first.expires)}: renew it"
