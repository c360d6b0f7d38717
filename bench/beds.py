"""What benchmarks run on: processes of their own on loopback, or those that a test shares with others."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka.admin import AdminClient
from report import ROOT

from seawall_e2e.loopback import ApiServer, KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess

TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Beds:
    """What is there is shared, and what is not is made for the run."""

    shared_brokers: KafkaProcesses | None = None
    shared_server: ApiServer | None = None
    shared_etcd: EtcdProcess | None = None

    @contextmanager
    def brokers(self, count: int, properties: Mapping[str, str] | None = None) -> Iterator[KafkaProcesses]:
        """So many brokers; shared ones have their own properties, and are rid of what topics the run leaves."""
        if self.shared_brokers is None:
            with KafkaProcesses(count, properties=properties) as made:
                yield made
            return
        client = AdminClient({"bootstrap.servers": ",".join(self.shared_brokers.bootstrap_servers), "log_level": 0})
        before = client.list_topics(timeout=TIMEOUT).topics.keys()
        try:
            yield self.shared_brokers
        finally:
            found = client.list_topics(timeout=TIMEOUT).topics.keys() - before
            left = [name for name in found if not name.startswith("__")]
            for deleted in client.delete_topics(left).values() if left else ():
                deleted.result(TIMEOUT)

    @contextmanager
    def api_server(self) -> Iterator[ApiServer]:
        """An API server with the CRDs."""
        if self.shared_server is None:
            with ApiServer() as made:
                _install_crds(made)
                yield made
        else:
            _install_crds(self.shared_server)
            yield self.shared_server

    @contextmanager
    def etcd(self) -> Iterator[EtcdProcess]:
        """An etcd; keys of a shared one have a prefix that nobody else has."""
        if self.shared_etcd is None:
            with EtcdProcess() as made:
                yield made
        else:
            yield self.shared_etcd


def new_namespace(server: ApiServer) -> str:
    """A namespace that nobody else has."""
    name = f"bench-{secrets.token_hex(3)}"
    server.kubectl("create", "namespace", name)
    return name


def _install_crds(server: ApiServer) -> None:
    server.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    server.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
