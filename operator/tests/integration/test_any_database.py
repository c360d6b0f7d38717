"""Any database: the documented queue on real Kafka keeps the contract, is purged, and loses no message; refdb, too."""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import booleans

from seawall.adapters.conformance.examine import Finding, Result, examine
from seawall.adapters.conformance.server import Server
from seawall.domain.dataplane.connection import HTTPConnection
from seawall.domain.dataplane.region_reports import region_reports
from seawall.domain.dataplane.reports import RegionRole
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.processes import Process, answers_ok, free_ports
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.waiting import wait_until
from tests.contract.test_data_plane_contract import RefDbTables, before_refdb, refdb_adapter
from tests.integration.test_purge import run_by_hand, skipped
from tests.support.contract_facade import served, serving
from tests.support.site import Site, condition

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[3]
EXAMPLE, DOCUMENT = ROOT / "docs/examples/any-database", ROOT / "docs/database-contract.yaml"
MESSAGES, START_SECONDS, EXAMPLES = 20, 60, 12


@dataclass
class Queue:
    """The documented queue as a process, and what it acknowledged."""

    process: Process
    url: str
    acknowledged: dict[int, list[str]] = field(default_factory=dict)

    def start(self) -> None:
        self.process.start()
        self.process.wait_ready(lambda: answers_ok(f"{self.url}/seawall/v1"), START_SECONDS)

    def ask(self, method: str, number: int, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/queues/{number}", data, method=method)  # noqa: S310 - http
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - http
            return json.load(answer)

    def push(self, count: int = MESSAGES) -> None:
        for number in (0, 1):
            known = self.acknowledged.setdefault(number, [])
            for _ in range(count):
                message = f"{number}-{len(known)}"
                self.ask("POST", number, message)
                known.append(message)

    def require_all(self) -> None:
        assert {number: self.ask("GET", number) for number in self.acknowledged} == self.acknowledged


@contextmanager
def queue_of(site: Site, folder: Path) -> Iterator[Queue]:
    address = f"127.0.0.1:{free_ports(1)[0]}"
    words = ["--listen", address, "--kafka", ",".join(site.kafka.bootstrap_servers), "--prefix", site.prefix]
    command: list[str | Path] = [
        sys.executable,
        EXAMPLE / "queue_server.py",
        *words,
        "--topics",
        "2",
        "--file",
        folder / "queue.sqlite",
    ]
    queue = Queue(Process("queue", command, folder), f"http://{address}")
    try:
        yield queue
    finally:
        queue.process.kill()


def conformance(url: str) -> list[Finding]:
    server = Server(HTTPConnection(url), may_write=True, pause=time.sleep)
    found = list(examine(server))
    server.close()
    return found


def walk(url: str) -> int:
    """Schemathesis makes requests of the document, and compares the answers with it; how many operations it met.

    Of the changes every other one means this database.
    """
    import schemathesis  # noqa: PLC0415 - nearly a second, in each process that collects tests
    from schemathesis.core.result import Ok  # noqa: PLC0415 - as above

    schema, count = schemathesis.openapi.from_path(DOCUMENT), 0
    with urllib.request.urlopen(f"{url}/seawall/v1", timeout=30) as answer:  # noqa: S310 - http
        identity = json.load(answer)["database"]
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found

        @given(case=found.ok().as_strategy(), is_meant=booleans())
        @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        def step(case: Any, *, is_meant: bool) -> None:
            if is_meant and isinstance(case.body, dict) and "database" in case.body:
                case.body["database"] = identity
            case.call_and_validate(base_url=url)

        step()
        count += 1
    return count


def declare_and_start(site: Site, queue: Queue) -> None:
    """The topics come first: Seawall makes them, and the database writes into them."""
    site.declare(topics={"replicationFactor": 1}, http={"url": queue.url})
    site.wait_ready()
    queue.start()
    said = condition(site.wait_for("DataPlaneReachable", "True"), "DataPlaneReachable")["message"]
    assert "1 of 1 datanodes report; the database has no markers (mode C" in said
    assert condition(site.read(), "DataPlaneConfigDiffers")["reason"] == "AsDeclared"
    assert site.read()["status"]["dataPlane"]["identity"].startswith("http/")


def test_the_documented_queue_keeps_the_contract_and_a_purge_loses_no_message(site: Site, tmp_path: Path) -> None:
    with queue_of(site, tmp_path) as queue:
        declare_and_start(site, queue)
        queue.push()
        assert [each for each in conformance(queue.url) if each.result is Result.BROKEN] == []
        assert walk(queue.url) == 9
        purge(site, queue)
        queue.push()
        queue.process.kill()
        queue.start()
        queue.require_all()


def purge(site: Site, queue: Queue) -> None:
    """What is flushed goes, and all that was acknowledged is there after a crash."""
    queue.push()
    before = site.eyes.log_starts(site.prefix)
    run = run_by_hand(site, "by-hand")
    assert run["status"]["stage"] == "Completed", run["status"]
    after = site.eyes.log_starts(site.prefix)
    assert all(after[topic] >= before[topic] + MESSAGES for topic in before), (run["status"], skipped(run))
    queue.process.kill()
    queue.start()
    queue.require_all()
    assert queue.ask("DELETE", 0) == queue.acknowledged[0].pop(0)


@pytest.mark.xdist_group("kafka")
def test_a_facade_before_the_reference_database_keeps_the_contract(kafka: KafkaProcesses, etcd: EtcdProcess) -> None:
    """A database of its own: what a conformance writes, and turns on, is for nobody else to find."""
    with RefDbProcesses(kafka.bootstrap_servers, etcd) as refdb:
        tables = RefDbTables(refdb)
        for _ in range(2):
            region = tables.create_region()
            for _ in range(3):
                tables.insert(region)
            assert "code" not in refdb.sql(f"ADMIN flush_region({region})")
        region, leader = min(refdb.rows("SELECT region_id, peer_id FROM information_schema.region_peers"))
        assert "code" not in refdb.sql(f"ADMIN add_region_follower({region}, {(leader + 1) % 3})")
        # A marker can rise when the reports say what was flushed.
        adapter = refdb_adapter(refdb)
        follows = RegionRole.FOLLOWER
        wait_until(lambda: follows in {each.role for each in region_reports(adapter.reports())}, "the follower reports")
        wait_until(lambda: not region_reports(adapter.reports()).bytes_in_memory, "the flushes are reported")
        with serving(served(before_refdb(refdb))) as url:
            found = conformance(url)
            assert [each for each in found if each.result is Result.BROKEN] == []
            passed = {each.check for each in found if each.result is Result.PASSED}
            assert {"markers move", "followers report"} <= passed
            walk(url)


def test_the_manifest_of_the_example_is_that_of_a_database_by_the_contract() -> None:
    declared = yaml.safe_load((EXAMPLE / "walcluster.yaml").read_text())
    assert list(declared["spec"]["dataPlane"]) == ["http"]
