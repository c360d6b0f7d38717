"""A WALCluster with a managed Kafka whose identity is known, and what was seen of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.ledger.declarations import parse_declaration
from seawall.domain.managed_kafka.certificates import Certificate, why_unusable
from seawall.domain.managed_kafka.found import FoundObject, FoundPod, Observed
from seawall.domain.managed_kafka.identity import Identity, find_identity
from seawall.domain.managed_kafka.names import FORMAT_VOLUME_ANNOTATION
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.objects import template_hash
from seawall.domain.managed_kafka.releases import goes_back_to, why_too_old
from seawall.domain.managed_kafka.renewal import ReadCertificate, annotation_of, parse_read, why_strangers
from seawall.domain.managed_kafka.volumes import VolumeState, is_on, volume_state

EXAMPLE = "2: disk of node 2 broke, its rows are in the backup@2026-12-24T18:00:00Z"


@dataclass(frozen=True)
class Case:
    """All that is decided by."""

    cluster: WALCluster
    nodes: tuple[Node, ...]
    observed: Observed
    identity: Identity

    @cached_property
    def declared(self) -> Mapping[int, str]:
        """By node the hash of all that it is to be made of. It is asked for all the time, and takes a while."""
        return {node.id: template_hash(node, self.identity.cluster_id) for node in self.nodes}

    @cached_property
    def certificate(self) -> str | None:
        """What a node that begins now reads of its Secret, as templates say it; None: there is nothing to read."""
        now = self._in_secret
        return None if now is None else annotation_of(now)

    @property
    def _in_secret(self) -> Certificate | None:
        """The certificate of the nodes as it is now; None: they have none, or it cannot be read."""
        found = self.observed.certificates
        return None if found is None or isinstance(found.nodes, str) else found.nodes

    @cached_property
    def _read(self) -> Mapping[int, ReadCertificate]:
        """By node what it read when it began, of those whose pods say so."""
        pods = self.observed.found.pods
        return {node: read for node, pod in pods.items() if (read := parse_read(pod.certificate)) is not None}

    @cached_property
    def _ended(self) -> Mapping[int, datetime]:
        """By node when the certificate ended with which it runs.

        One that began since the one in the Secret is valid has read that, whatever its template says: it ended by
        itself, or a person deleted its pod.
        """
        now, time = self._in_secret, self.observed.time.now
        if now is None:
            return {}
        pods = self.observed.found.pods.values()
        before = {pod.node for pod in pods if pod.began is not None and pod.began < now.begins}
        ends = {node: read.expires for node, read in self._read.items() if node in before}
        return {node: at for node, at in ends.items() if at is not None and at <= time}

    @property
    def key(self) -> Key:
        """Of the WALCluster."""
        return self.cluster.metadata.key

    def volume(self, node: Node) -> FoundObject | None:
        """The volume that a node has."""
        return self.observed.found.volume(node.volume)

    def pod(self, node: Node) -> FoundPod | None:
        """The pod that a node has."""
        return self.observed.found.pods.get(node.id)

    def volume_state(self, node: Node) -> VolumeState:
        """How the volume of a node is."""
        return volume_state(self.identity.nodes.get(node.id), self.volume(node), self.pod(node))

    def loses_volume(self, node: Node) -> bool:
        """Whether what is on the volume of a node is there only as long as its pod is, and nobody has answered for it.

        The claim is being deleted, and Kubernetes waits for the pod; or somebody took it from the pod by force. A pod
        that does not run, but has its machine, has the disk as well; one that found it empty has nothing to lose.
        """
        pod, volume = self.pod(node), self.volume(node)
        if pod is None or pod.has_empty_volume or not (pod.is_started or pod.placed is not None):
            return False
        is_kept = self.volume_state(node) in {VolumeState.HELD, VolumeState.FIRST}
        return not is_kept and not (volume is not None and is_on(pod, volume)) and not self.may_format(node)

    @property
    def missing_voters(self) -> tuple[int, ...]:
        """First controllers that are in no list, of a Kafka that is not formed.

        Each first disk names all of them as voters. Those whom nobody would begin would be against it for ever.
        """
        records = self.identity.nodes
        known = {node.id for node in self.nodes} | {node for node, record in records.items() if record.removed}
        return () if self.identity.formed else tuple(sorted(self.identity.initial.keys() - known))

    @property
    def unusable(self) -> str | None:
        """Why nothing may be started by the certificates that there are; None: they fit, or there are none."""
        return why_not_secured(self.cluster, self.observed, (node.id for node in self.nodes))

    @property
    def unusable_to_who_stays(self) -> str | None:
        """The same, if those that leave were gone."""
        return why_not_secured(self.cluster, self.observed, ())

    @property
    def too_old(self) -> str | None:
        """Why no node of the declared version would start; None: it would, or Kafka does not say what is finalized."""
        return why_too_old(self.version, self._features)

    @property
    def goes_back_to(self) -> str | None:
        """The oldest release that an edit goes back to, if it is an older one than that of the declared version."""
        return goes_back_to(self.version, self._features)

    @property
    def version(self) -> str:
        """Of Kafka, as it is declared."""
        return self.nodes[0].kafka.version

    @property
    def _features(self) -> Mapping[str, int]:
        """The levels that are finalized, if Kafka says them."""
        answer = self.observed.kafka
        return {} if isinstance(answer, str) else answer.features

    def why_stranger(self, node: Node | None = None) -> str | None:
        """Why what begins now would be a stranger to what runs; None: it would not be, or nobody knows.

        Args:
            node: the one that is made anew: its pod of before does not count; None: another one.
        """
        now = self._in_secret
        others = {each: read for each, read in self._read.items() if node is None or each != node.id}
        return None if now is None else why_strangers(now, others, self._ended)

    @property
    def why_silent(self) -> str | None:
        """Why nodes that run do not let this operator ask Kafka, or it them; None: it was answered, or nobody knows.

        A node that began with what is in its Secret now is judged by that Secret (`unusable`).
        """
        found, now = self.observed.certificates, self._in_secret
        if not isinstance(self.observed.kafka, str) or found is None or isinstance(found.operator, str):
            return None
        read = {node: each for node, each in self._read.items() if now is None or each.digest != now.digest}
        return why_strangers(found.operator, read, self._ended)

    def has_old_certificate(self, node: Node) -> bool:
        """Whether it began with something else than is in its Secret now: Kafka reads that when it begins.

        A pod that an older Seawall made does not tell: then it is judged by when the certificate was issued. How it is
        told may change with a newer one, and that restarts nobody.
        """
        pod, now = self.pod(node), self._in_secret
        if pod is None or now is None:
            return False
        if (read := self._read.get(node.id)) is not None:
            return read.digest != now.digest
        return pod.began is not None and pod.began < now.begins

    def old_certificate_expires(self, node: Node) -> datetime | None:
        """When the certificate ends with which it runs, if that is an old one; None: it is not, or nobody knows."""
        read = self._read.get(node.id) if self.has_old_certificate(node) else None
        return None if read is None else read.expires

    def is_newcomer(self, node: Node) -> bool:
        """Whether it joins a Kafka in which there may be records, and waits with an empty volume."""
        pod = self.pod(node)
        is_first = self.identity.formed and self.volume_state(node) is VolumeState.FIRST
        return is_first and pod is not None and pod.has_empty_volume

    def may_format(self, node: Node) -> bool:
        """Whether an empty volume may take the place of a lost one: nothing is lost by it, or a person answers."""
        return node.id in self.observed.cleared or (self.word_of(node) is not None and not self.is_spent(node))

    def word_of(self, node: Node) -> str | None:
        """What a person says now of a loss of this node, by a digest; None: nothing."""
        if node.id not in declared_formats(self.cluster, self.observed)[0]:
            return None
        text = self.cluster.metadata.annotations[FORMAT_VOLUME_ANNOTATION].strip()
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def is_spent(self, node: Node) -> bool:
        """Whether that was about a loss before: since then the node may have acknowledged what nobody else has."""
        record, word = self.identity.nodes.get(node.id), self.word_of(node)
        return word is not None and record is not None and record.answered == word


def declared_formats(cluster: WALCluster, observed: Observed) -> tuple[frozenset[int], str]:
    """The nodes for whose volumes a person answers now, and what is wrong with the annotation."""
    text = cluster.metadata.annotations.get(FORMAT_VOLUME_ANNOTATION)
    if text is None:
        return frozenset(), ""
    what = "node ids"
    found = parse_declaration(FORMAT_VOLUME_ANNOTATION, text, observed.time, what=what, example=EXAMPLE)
    if isinstance(found, str):
        return frozenset(), found
    wrong = [each for each in found.what if not each.isdecimal()]
    if wrong:
        return frozenset(), f"{FORMAT_VOLUME_ANNOTATION}: {wrong[0]!r} is no node id"
    return frozenset(int(each) for each in found.what), ""


def why_not_secured(cluster: WALCluster, observed: Observed, leaving: Iterable[int] | None = None) -> str | None:
    """What is wrong with the Secrets of a Kafka that is not declared insecure.

    Args:
        cluster: the WALCluster.
        observed: what was read of the Secrets.
        leaving: nodes that are there, whether they are declared or not; None: as the status says.
    """
    managed = cluster.managed_kafka
    if managed is None or managed.security.insecure:
        return None
    if observed.certificates is None:
        return "its Secrets were not looked at"
    there = cluster.status.kafka_nodes if leaving is None else leaving
    return why_unusable(cluster.metadata.key, managed, observed.certificates, observed.time.now, there)


def pinned_id(cluster: WALCluster) -> str | None:
    """The cluster id in the status."""
    managed = cluster.status.managed_kafka
    return None if managed is None else managed.cluster_id


def doubtful_nodes(cluster: WALCluster, nodes: tuple[Node, ...], observed: Observed) -> tuple[Node, ...]:
    """The nodes whose volume is lost, as far as the identity tells, and brokers that it takes for new ones."""
    identity = find_identity(nodes, observed, pinned_id(cluster))
    if not isinstance(identity, Identity):
        return ()
    case = Case(cluster, nodes, observed, identity)
    joining = {node.id for node in nodes if node.pool.is_broker and case.is_newcomer(node)}
    return tuple(node for node in nodes if node.id in joining or case.volume_state(node) is VolumeState.LOST)
