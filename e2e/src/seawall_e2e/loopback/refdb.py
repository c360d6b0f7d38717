"""The reference database as processes: a metasrv, a frontend and datanodes, on a Kafka and a store that are given."""

from __future__ import annotations

import json
import shutil
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.forked import ForkedProcess, Program
from seawall_e2e.loopback.mysql import MysqlProcess
from seawall_e2e.loopback.postgresql import PostgresProcess
from seawall_e2e.loopback.processes import Process, answers_ok, free_ports
from seawall_e2e.loopback.refdb_access import RefDbAccess
from seawall_e2e.waiting import wait_until

MetadataServer = EtcdProcess | PostgresProcess | MysqlProcess
START_TIMEOUT = 60
REGION_MOVED = frozenset({4005, 4008})
"""The codes of a region that its datanode does not have, or may not serve, or not yet: it goes elsewhere, or comes."""


class RefDbProcesses:
    """A database of its own: topics, keys in its metadata store and folders have a prefix that nobody else has."""

    def __init__(
        self,
        bootstrap_servers: Sequence[str],
        store: MetadataServer,
        *,
        datanodes: int = 3,
        wal: Mapping[str, object] | None = None,
        flags: Sequence[str] = (),
        access: RefDbAccess | None = None,
    ) -> None:
        """With `access` metasrv and frontend listen with TLS, too, and the frontend wants a user."""
        self.folder = Path(tempfile.mkdtemp(prefix="seawall-refdb-"))
        self.prefix = self.folder.name.rsplit("-", 1)[1]
        self._store, self._flags = store, tuple(flags)
        self._servers, self._wal = bootstrap_servers, dict(wal or {})
        self._write_config(self._servers, self._wal)
        self.access = access
        *ports, self.datanode_port = free_ports(5)
        self.metasrv_address, self.frontend_address, *secure = (f"127.0.0.1:{port}" for port in ports)
        # As pods: each has an address of its own, and all have the same port.
        self.addresses = [f"127.0.0.{2 + number}:{self.datanode_port}" for number in range(datanodes)]
        self.metasrv_url, self.frontend_url = f"http://{self.metasrv_address}", f"http://{self.frontend_address}"
        own: list[list[str]] = [[], []]
        if access is not None:
            self.metasrv_url, self.frontend_url = (f"https://{address}" for address in secure)
            own = [access.tls_flags(secure[0]), [*access.tls_flags(secure[1]), *access.user_flags()]]
        self.metasrv = self._process("metasrv", "metasrv", self.metasrv_address, *own[0])
        self.frontend = self._process("frontend", "frontend", self.frontend_address, *own[1])
        self.datanodes = [self.new_datanode(n, address) for n, address in enumerate(self.addresses)]
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Starts all of it and waits until every datanode has reported."""
        for process in (self.metasrv, self.frontend, *self.datanodes):
            process.start()
        for address, process in (
            (self.metasrv_address, self.metasrv),
            (self.frontend_address, self.frontend),
            *zip(self.addresses, self.datanodes, strict=True),
        ):
            wait_healthy(process, address)
        self.metasrv.wait_ready(lambda: len(self.admin("/admin/heartbeat")) == len(self.datanodes), START_TIMEOUT)

    def kill(self) -> None:
        """Kill -9 of all of it."""
        for process in (self.metasrv, self.frontend, *self.datanodes):
            process.kill()

    def move_to(self, bootstrap_servers: Sequence[str]) -> None:
        """Somebody gives it another Kafka: whatever is started from now on uses that."""
        self._servers = bootstrap_servers
        self._write_config(self._servers, self._wal)

    def declared(self, **changes: object) -> dict[str, Any]:
        """`spec.dataPlane.greptimedb` of a WALCluster of this database."""
        return {
            "version": "1.1",
            "metasrv": self.metasrv_url,
            "frontend": self.frontend_url,
            "datanodeHttpPort": self.datanode_port,
            "metadataStore": self._declared_store(),
            **({} if self.access is None else self.access.declared()),
            **changes,
        }

    def _declared_store(self) -> dict[str, Any]:
        """The credentials of a user of SQL are in a Secret of the store's name, which the test makes."""
        if isinstance(self._store, EtcdProcess):
            return {"etcd": {"endpoints": [self._store.url], "prefix": f"{self.prefix}/"}}
        access = self._store.connection
        declared = {
            "hosts": [f"{host}:{port}" for host, port in access.hosts],
            "database": access.database,
            "prefix": f"{self.prefix}/",
            "auth": {"credentialsSecretRef": {"name": store_name(self._store)}, "insecure": True},
        }
        return {store_name(self._store): declared}

    def new_datanode(self, node_id: int, address: str, name: str | None = None) -> Process:
        """A datanode process, not started; `name` gives it another home."""
        name = name or f"datanode-{node_id}"
        return self._process(name, "datanode", address, f"--node-id={node_id}", f"--home={self.folder / name}")

    def new_frontend(self, name: str, *own: str) -> tuple[Process, str]:
        """Another frontend process, not started, and where it will listen."""
        address = f"127.0.0.1:{free_ports(1)[0]}"
        return self._process(name, "frontend", address, *own), address

    def start_datanode(self, index: int) -> None:
        """Starts a datanode that was killed and waits until it listens, which is after its replay."""
        self.datanodes[index].start()
        wait_healthy(self.datanodes[index], self.addresses[index])

    def restart_datanode(self, index: int, **wal: object) -> None:
        """Somebody edits `[wal]`, and starts one datanode anew."""
        self._wal |= wal
        self._write_config(self._servers, self._wal)
        self.datanodes[index].kill()
        self.start_datanode(index)

    def restart_metasrv(self, **wal: object) -> None:
        """Somebody edits `[wal]`, and starts the metasrv anew."""
        self._wal |= wal
        self._write_config(self._servers, self._wal)
        self.metasrv.kill()
        self.metasrv.start()
        wait_healthy(self.metasrv, self.metasrv_address)
        self.metasrv.wait_ready(lambda: len(self.admin("/admin/heartbeat")) == len(self.datanodes), START_TIMEOUT)

    def sql(self, text: str, *, cut: bool = False, timeout: float = 60) -> dict[str, Any]:
        """Runs a statement; the answer as it came, errors too."""
        form = {"sql": text} | ({"consistent_cut": "1"} if cut else {})
        answer: dict[str, Any] = self._ask(
            self.frontend_address, "/v1/sql", urllib.parse.urlencode(form).encode(), timeout
        )
        return answer

    def rows(self, text: str) -> list[list[Any]]:
        """The rows of a SELECT that must work."""
        rows: list[list[Any]] = self._served(text)["output"][0]["records"]["rows"]
        return rows

    def write(self, text: str) -> None:
        """An INSERT that must work."""
        self._served(text)

    def _served(self, text: str) -> dict[str, Any]:
        """What a statement gives that must work, once its regions have the lease that comes with a heartbeat."""

        def answer() -> dict[str, Any] | None:
            said = self.sql(text)
            return None if said.get("code") in REGION_MOVED else said

        said = wait_until(answer, f"regions are ready for {text}")
        if "code" in said:
            raise AssertionError(f"{text}: {said}")
        return said

    def admin(self, path: str, *, post: bool = False) -> Any:
        """Asks the metasrv's admin interface."""
        return self._ask(self.metasrv_address, path, b"" if post else None, 10)

    def close(self) -> None:
        """Ends the processes and removes their data."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _process(self, name: str, role: str, address: str, *own: str) -> Process:
        arguments = [
            role,
            f"--http={address}",
            f"--{store_name(self._store)}={self._store.url}",
            f"--config={self.folder / 'wal.toml'}",
            f"--metasrv={self.metasrv_address}",
            f"--storage={self.folder / 'storage'}",
            f"--store-key-prefix={self.prefix}/",
        ]
        return ForkedProcess(name, Program("refdb", [*arguments, *self._flags, *own]), self.folder)

    def _write_config(self, servers: Sequence[str], wal: Mapping[str, object]) -> None:
        options = {
            "provider": "kafka",
            "broker_endpoints": list(servers),
            "num_topics": 2,
            "topic_name_prefix": f"wal_{self.prefix}",
            "replication_factor": 1,
            **wal,
        }
        lines = [f"{name} = {json.dumps(value)}" for name, value in options.items()]
        (self.folder / "wal.toml").write_text("\n".join(["[wal]", *lines, ""]))

    def _ask(self, address: str, path: str, data: bytes | None, timeout: float) -> Any:
        headers = {} if self.access is None else self.access.headers()
        request = urllib.request.Request(f"http://{address}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310 - http
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)


def store_name(store: MetadataServer) -> str:
    """As the spec and refdb's options call it."""
    match store:
        case EtcdProcess():
            return "etcd"
        case PostgresProcess():
            return "postgresql"
        case MysqlProcess():
            return "mysql"


def wait_healthy(process: Process, address: str) -> None:
    """Waits until a role listens."""
    process.wait_ready(lambda: answers_ok(f"http://{address}/health"), START_TIMEOUT)
