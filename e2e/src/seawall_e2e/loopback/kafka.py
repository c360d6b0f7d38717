"""A Kafka cluster of its own: combined KRaft nodes on loopback."""

from __future__ import annotations

import base64
import shutil
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from seawall_e2e.commands import run
from seawall_e2e.loopback.java import Java, build_archive
from seawall_e2e.loopback.kafka_properties import NodePorts, properties_of
from seawall_e2e.loopback.pki import CertificateAuthority
from seawall_e2e.loopback.processes import BedError, Process, free_ports
from seawall_e2e.waiting import wait_until

STARTED = "Kafka Server started"
"""Logged after the broker was unfenced."""
START_TIMEOUT = 120
STOP_TIMEOUT = 60
TOOL_TIMEOUT = 300
SCRAM = ScramMechanism.SCRAM_SHA_512
SCRAM_ITERATIONS = 4096
"""The fewest that Kafka takes."""


@dataclass(frozen=True, slots=True)
class SecureListeners:
    """What a client needs for the listeners SASL_SSL (SCRAM-SHA-512) and mutual TLS."""

    sasl_ssl_servers: tuple[str, ...]
    mutual_tls_servers: tuple[str, ...]
    ca_pem: str
    username: str
    password: str
    client_cert_pem: str
    client_key_pem: str


CHECKPOINT = "bootstrap.checkpoint"
"""What formatting writes beside the ids: the metadata's version and features."""


class KafkaProcesses:
    """Kafka brokers, each also a controller. Their ids are 1, 2, …; methods count from 0, as tuples do.

    Topics are never created by themselves. Data survive kill, stop and start of a broker, not `close()`. More than half
    of the brokers must run for anything to work: they are the quorum.

    `racks` are those of the first brokers. `properties` come on top of server.properties, `jars` on
    top of Kafka's. `instead_of` makes another
    cluster at the addresses of one whose brokers were killed.
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        sasl_ssl: bool = False,
        racks: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        jars: Sequence[Path] = (),
        instead_of: KafkaProcesses | None = None,
    ) -> None:
        self.cluster_id = _new_id()
        self._folder = Path(tempfile.mkdtemp(prefix="seawall-kafka-"))
        self._java = Java(self._folder, jars)
        self.ports: list[NodePorts] = instead_of.ports if instead_of is not None else _new_ports(brokers)
        self._secure: SecureListeners | None = None
        if sasl_ssl:
            self._secure = self._make_secure()
        self._extra = dict(properties or {})
        self._racks = racks
        self._nodes: list[Process] = []
        try:
            self._build_archive()
            with ThreadPoolExecutor() as pool:  # a second for each node goes into formatting
                self._nodes = list(pool.map(self._new_node, range(brokers)))
            self.start_together(*range(brokers))
            if self._secure is not None:
                self._make_user(self._secure)
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap_servers(self) -> tuple[str, ...]:
        """Addresses of the plaintext listeners, in the order of the brokers."""
        return tuple(f"127.0.0.1:{ports.plaintext}" for ports in self.ports)

    @property
    def secure(self) -> SecureListeners:
        """The TLS listeners, of a bed made with `sasl_ssl=True`."""
        if self._secure is None:
            raise BedError("this bed was made without sasl_ssl=True")
        return self._secure

    def broker_id(self, index: int) -> int:
        """The broker's id."""
        return index + 1

    def kill(self, index: int) -> None:
        """Ends it by SIGKILL: nothing is flushed, nobody is told."""
        self._nodes[index].kill()

    def stop(self, index: int) -> None:
        """A controlled shutdown: leaders move away first."""
        self._nodes[index].stop(STOP_TIMEOUT)

    def start(self, index: int) -> None:
        """Starts a broker that was killed or stopped, with its data, and waits until it serves."""
        self.start_together(index)

    def start_together(self, *indexes: int) -> None:
        """Starts several: one that lacks a quorum is not ready before the others."""
        for index in indexes:
            self._nodes[index].start()
        for index in indexes:
            self._wait_started(index)
        self._wait_until_all_know_all()

    def is_running(self, index: int) -> bool:
        """Whether the broker's process runs."""
        return self._nodes[index].is_running()

    def log_file(self, index: int, topic: str) -> Path:
        """The first segment of a topic on a broker: one that was killed has what is left of it when it starts again."""
        folder = self._folder / f"broker-{self.broker_id(index)}" / "data" / f"{topic}-0"
        return folder / "00000000000000000000.log"

    def tool(self, java_class: str, *arguments: str | Path) -> str:
        """What one of Kafka's own command line tools prints; it takes some seconds."""
        servers = ",".join(self.bootstrap_servers)
        return run(*self._java.command(java_class, "--bootstrap-server", servers, *arguments), timeout=TOOL_TIMEOUT)

    def close(self) -> None:
        """Ends the brokers and removes their data."""
        for node in self._nodes:
            node.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _make_secure(self) -> SecureListeners:
        authority = CertificateAuthority(self._folder)
        server = authority.issue("server", "/CN=broker")
        # A PEM key store is one file: the key and its chain.
        (self._folder / "server.pem").write_text(server.key.read_text() + server.cert.read_text())
        client = authority.issue("client", "/CN=client")
        return SecureListeners(
            sasl_ssl_servers=tuple(f"127.0.0.1:{ports.sasl_ssl}" for ports in self.ports),
            mutual_tls_servers=tuple(f"127.0.0.1:{ports.mutual_tls}" for ports in self.ports),
            ca_pem=authority.cert.read_text(),
            username="seawall",
            password=uuid.uuid4().hex,
            client_cert_pem=client.cert.read_text(),
            client_key_pem=client.key.read_text(),
        )

    def _build_archive(self) -> None:
        if self._java.archive_path().exists():
            self._java.use_archive(self._java.archive_path())
            return
        folder = self._folder / "appcds"
        path = self._write_properties(folder, 0, _new_ports(1), {})
        self._format(path, 0)
        build_archive(self._java, "kafka.Kafka", path, folder=folder, ready=STARTED, timeout=START_TIMEOUT)

    def _new_node(self, index: int) -> Process:
        rack = {"broker.rack": self._racks[index]} if index < len(self._racks) else {}
        folder = self._folder / f"broker-{self.broker_id(index)}"
        path = self._write_properties(folder, index, self.ports, {**rack, **self._extra})
        self._format(path, index)
        command = self._java.command("kafka.Kafka", path, options=["-Xms128m", "-Xmx512m"])
        return Process(f"kafka-{self.broker_id(index)}", command, path.parent)

    def _write_properties(self, folder: Path, index: int, ports: list[NodePorts], extra: Mapping[str, str]) -> Path:
        folder.mkdir()
        tls = self._folder if self._secure is not None else None
        path = folder / "server.properties"
        properties = {**properties_of(index, ports, folder / "data", tls), **extra}
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        return path

    def _format(self, path: Path, index: int) -> None:
        """By Kafka's tool, or as it once did: there is nothing in it of this bed, but two ids."""
        kept = self._java.archive_path().with_suffix(".checkpoint")
        data = path.parent / "data"
        if kept.exists():
            ids = {"cluster.id": self.cluster_id, "node.id": self.broker_id(index), "directory.id": _new_id()}
            data.mkdir()
            shutil.copy(kept, data / CHECKPOINT)
            (data / "meta.properties").write_text("".join(f"{k}={v}\n" for k, v in {"version": 1, **ids}.items()))
            return
        run(*self._java.command("kafka.tools.StorageTool", "format", "-t", self.cluster_id, "-c", path))
        kept.parent.mkdir(parents=True, exist_ok=True)  # the first of all runs formats before it builds the archive
        unfinished = kept.with_name(f"{kept.name}.{self.cluster_id}")
        shutil.copy(data / CHECKPOINT, unfinished)
        unfinished.replace(kept)

    def _make_user(self, secure: SecureListeners) -> None:
        """By a request, on the plaintext listener: Kafka's tool would take a Java of its own."""
        credential = ScramCredentialInfo(SCRAM, SCRAM_ITERATIONS)
        user = UserScramCredentialUpsertion(secure.username, credential, secure.password.encode())
        admin = AdminClient({"bootstrap.servers": ",".join(self.bootstrap_servers), "log_level": 0})
        for answer in admin.alter_user_scram_credentials([user]).values():
            answer.result(START_TIMEOUT)

        def is_known() -> bool:
            answers = admin.describe_user_scram_credentials([secure.username])
            answer = answers[secure.username] if isinstance(answers, dict) else answers
            try:
                return bool(answer.result(START_TIMEOUT).scram_credential_infos)
            except KafkaException:  # the broker has not heard of the user yet
                return False

        wait_until(is_known, f"user {secure.username} is known")

    def _wait_until_all_know_all(self) -> None:
        """A broker that has started knows of itself; of others it hears a moment later, and they of it."""
        running = [index for index in range(len(self._nodes)) if self.is_running(index)]
        for index in running if len(running) > 1 else ():
            knows = partial(_knows_brokers, self.bootstrap_servers[index], len(running))
            wait_until(knows, f"broker {self.broker_id(index)} knows of the others", within=START_TIMEOUT)

    def _wait_started(self, index: int) -> None:
        node = self._nodes[index]
        node.wait_ready(lambda: STARTED in node.log_since_start(), START_TIMEOUT)


def _knows_brokers(server: str, count: int) -> bool:
    """Whether a broker knows of so many that run."""
    try:
        return len(AdminClient({"bootstrap.servers": server, "log_level": 0}).list_topics(timeout=5).brokers) >= count
    except KafkaException:
        return False


def _new_id() -> str:
    # As Kafka's own: one that begins with a dash would be an option to its tools.
    while (new := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return new


def _new_ports(brokers: int) -> list[NodePorts]:
    width = len(NodePorts._fields)
    numbers = free_ports(brokers * width)
    return [NodePorts(*numbers[i * width : (i + 1) * width]) for i in range(brokers)]
