"""`seawall verify --local`: the same verification with Spark on this machine, for people without Spark on Kubernetes.

It looks at the ledger by itself, so this machine must reach Kafka, the database and its metadata store, and the person
must be allowed to read the Secrets of the connection. What it reads is held by a WALHold, which the operator grants.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seawall.adapters.clock import MonotonicStopwatch, SystemClock
from seawall.adapters.data_planes import AllDataPlanes
from seawall.adapters.kafka.clusters import ConfluentKafkaClusters
from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.intents import ConfigMapIntentStore
from seawall.adapters.kube.objects import KubeAdapter
from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.hold import WALHold, WALHoldSpec
from seawall.api.v1alpha1.purge_template import ClusterRef
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.api.v1alpha1.verification_template import VerificationTemplate
from seawall.domain.errors import Conflict, OutsideUnavailable, Refused, SeawallError
from seawall.domain.kafka import KafkaConnection, NoKafka
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.spark_job.allowed import kafka_of_job
from seawall.domain.spark_job.case import is_granted
from seawall.domain.spark_job.request import FILE, Subject, database_version, digest_of, read_summary
from seawall.domain.spark_job.selection import Selection, TopicRange
from seawall.domain.times import LOCAL_VERIFICATION_HELD_FOR
from seawall.domain.verification.contract import Summary, write_request
from seawall.domain.verification.selection import select
from seawall.observe.connections import resolve_kafka
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import ClusterOpener
from seawall.ports import Kube

NO_REPORT = "-"
"""What the Spark program takes for none."""
OBSERVERS = 60
"""So many looks, or pauses for the grant, and no more."""

RELEASES = 5
"""So many tries to remove the hold: the operator writes its status all the time."""

Run = Callable[[Sequence[str]], int]
"""Runs a program with the terminal of this one; returns its exit code."""


def verify_here(
    arguments: argparse.Namespace,
    fields_of: Callable[[WALCluster], Mapping[str, Any]],
    pause: Callable[[], None],
    program: Sequence[str],
) -> Iterator[str]:
    """What is printed, piece by piece; `fields_of` gives the template's fields, of the schedule and of what was typed.

    Raises:
        Refused: there is no such WALCluster, nothing can be read, or the log does not replay.
        OutsideUnavailable: the database, Kafka or the API server did not answer, or the hold is not granted.
    """
    api = KubeApi(connections=2, kubeconfig=arguments.kubeconfig, context=arguments.context)
    kube = KubeAdapter(api, [arguments.namespace])
    cluster = kube.get(WALCluster, Key(arguments.namespace, arguments.walcluster))
    if cluster is None:
        raise Refused(f"there is no WALCluster {arguments.namespace}/{arguments.walcluster}")
    opener = ClusterOpener(kube, ConfluentKafkaClusters(), AllDataPlanes())
    observer = LedgerObserver(opener, ConfigMapIntentStore(api), SystemClock(api.dates), MonotonicStopwatch())
    fields = {**fields_of(cluster), "report": None}
    template = VerificationTemplate.model_validate(fields, by_alias=True, by_name=False)
    local = LocalVerification(kube, observer, pause, subprocess.call)
    yield from local.verify(
        cluster, template, f"verify-{datetime.now(UTC):%y%m%d%H%M%S}", program, arguments.report or NO_REPORT
    )


@dataclass(frozen=True, slots=True)
class LocalVerification:
    """A verification by this process. `pause` passes the time between two looks; `run` runs the Spark program."""

    kube: Kube
    observer: LedgerObserver
    pause: Callable[[], None]
    run: Run

    def verify(
        self, cluster: WALCluster, template: VerificationTemplate, name: str, program: Sequence[str], report: str
    ) -> Generator[str]:
        """What is printed, piece by piece.

        Raises:
            Refused: nothing can be read, or the log does not replay.
            OutsideUnavailable: the database, Kafka or the API server did not answer, or the hold is not granted.
        """
        spec = cluster.spec
        if isinstance(spec, InvalidSpec):
            raise Refused(spec.message)
        selection = self._select(cluster, template)
        key = Key(cluster.metadata.namespace, name)
        claim = {topic.name: topic.start for topic in selection.readable}
        reason = "replay verification on somebody's machine"
        reference = ClusterRef(name=cluster.metadata.name)
        hold = WALHoldSpec(cluster_ref=reference, topics=claim, ttl=LOCAL_VERIFICATION_HELD_FOR, reason=reason)
        self.kube.create(WALHold, key, hold)
        try:
            self._wait_for_grant(key)
            yield f"walhold/{name} granted on {len(claim)} topics"
            topics = [topic for topic in self._select(cluster, template).readable if topic.name in claim]
            yield from self._replay(cluster, spec, template, tuple(topics), (name, program, report))
        except GeneratorExit:  # nobody prints any more
            self._release(key)
            raise
        except BaseException:  # a verdict, or Ctrl+C: what is still held is told before it
            yield from self._released(key)
            raise
        yield from self._released(key)
        left = [f"{topic} ({why})" for topic, why in sorted(selection.against.items())]
        if left:
            raise Refused(f"{len(left)} topics were not read: {', '.join(left[:3])}")

    def _released(self, key: Key) -> Iterator[str]:
        """Removes the hold; where it stays, that is said."""
        if stays := self._release(key):
            yield stays

    def _release(self, key: Key) -> str:
        """Removes the hold; a sentence: why it stays. What was found out counts more than that, and is told."""
        problem = ""
        for _ in range(RELEASES):
            try:
                found = self.kube.get(WALHold, key)
                if found is not None:
                    self.kube.delete(found)
            except Conflict as error:  # its status was written in this moment
                problem = str(error)
            except SeawallError as error:
                problem = str(error)
                break
            else:
                return ""
        return f"walhold/{key.name} is still there, and counts until its ttl is over: {problem}"

    def _select(self, cluster: WALCluster, template: VerificationTemplate) -> Selection:
        """Looks until every region has reported, or for a while."""
        for _ in range(OBSERVERS):
            observation = self.observer.observe(cluster)
            if isinstance(observation, Unavailable):
                raise OutsideUnavailable(observation.message)
            selection = select(observation, template.selects)
            if selection.count and not selection.may_pass():
                break
            self.pause()
        if not selection.readable:
            left = [f"{topic} {why}" for topic, why in sorted(selection.against.items())]
            raise Refused(f"no topic can be read: {', '.join(left[:3]) or 'no region writes to any'}")
        return selection

    def _wait_for_grant(self, key: Key) -> None:
        for _ in range(OBSERVERS):
            hold = self.kube.get(WALHold, key)
            if hold is not None and is_granted(hold):
                return
            if hold is None or hold.status.is_final:
                raise Refused(f"WALHold {key.name} was lost before it was granted")
            self.pause()
        raise OutsideUnavailable(f"WALHold {key.name} is not granted: does Seawall's operator run?")

    def _replay(
        self,
        cluster: WALCluster,
        spec: WALClusterSpec,
        template: VerificationTemplate,
        topics: tuple[TopicRange, ...],
        reported: tuple[str, Sequence[str], str],
    ) -> Iterator[str]:
        """Runs Spark on a request in a folder that only this user can read; it goes with the passwords in it."""
        name, program, report = reported
        subject = Subject(cluster.metadata.namespace, name, cluster.metadata.uid, 1)
        cluster_id = "" if cluster.status.kafka is None else cluster.status.kafka.cluster_id
        with tempfile.TemporaryDirectory(prefix="seawall-verify-") as folder:
            request, summary = Path(folder, FILE), Path(folder, "summary.json")
            files = self._files(cluster, spec, Path(folder))
            kafka, version = (
                kafka_of_job(cluster.metadata.key, spec, spec.verification),
                database_version(cluster, spec),
            )
            data = write_request(subject, template, kafka, cluster_id, topics, database_version=version, files=files)
            request.write_bytes(data)
            arguments = ("--request", str(request), "--report", report, "--summary", str(summary))
            code = self.run([*program, *arguments])
            text = summary.read_text() if summary.exists() else ""
            found = read_summary(Summary, text, digest_of(data) or "", code)
        yield from _reported(found)

    def _files(self, cluster: WALCluster, spec: WALClusterSpec, folder: Path) -> dict[str, str]:
        """The connection's certificates and password, as the driver's pod has them."""
        namespace = cluster.metadata.namespace
        found = resolve_kafka(
            kafka_of_job(cluster.metadata.key, spec, spec.verification),
            lambda name: self.kube.get_secret(Key(namespace, name)),
        )
        if isinstance(found, NoKafka):
            raise Refused(found.message)
        texts = _texts(found)
        for name, text in texts.items():
            (folder / name).write_text(text or "")
        return {name: str(folder / name) for name in texts}


def _texts(connection: KafkaConnection) -> dict[str, str | None]:
    return {
        "caFile": connection.ca_pem,
        "certFile": connection.client_cert_pem,
        "keyFile": connection.client_key_pem,
        "usernameFile": connection.username,
        "passwordFile": connection.password,
    }


def _reported(found: Summary | str) -> Iterator[str]:
    if isinstance(found, str):
        raise Refused(f"nothing was proved: {found}")
    for finding in found.findings:
        where = " ".join(
            f"{name} {value}"
            for name, value in (("topic", finding.topic), ("offset", finding.offset), ("region", finding.region))
            if value is not None
        )
        yield f"{finding.severity}: {where}: {finding.kind}: {finding.message}"
    if found.report is not None:
        yield f"report: {found.report}"
    if found.outcome is not Outcome.PASSED:
        raise Refused(f"{found.outcome.value}: {found.message}")
    yield f"{found.outcome.value}: {found.message}"
