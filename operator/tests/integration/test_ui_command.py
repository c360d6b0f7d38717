"""`seawall ui` and `seawall ledger` as people type them: by a real API server's pod proxy to a real operator.

No kubelet is here: the operator's pod is an object with an address of this machine, where the API server's proxy asks.
"""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from seawall.__main__ import main
from seawall_e2e.loopback import KafkaProcesses, OperatorProcess
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.waiting import wait_until
from tests.support.browser import headless_chromium, visit
from tests.support.kube import KubeClient, Object
from tests.support.site import Site

pytestmark = pytest.mark.integration

LEASE = ("--operator", "default/seawall")
"""The operator's, by its default settings."""
RBAC = "rbac.authorization.k8s.io"
KINDS = [
    "walclusters",
    "walpurgepolicies",
    "walpurges",
    "walholds",
    "walverifications",
    "walbackups",
    "walbackuppolicies",
    "walrestores",
    "walsubscriptions",
]
Type = Callable[..., tuple[int, str, str]]


def address_of_this_machine() -> str:
    """One that is not loopback: the API server's proxy goes to no other (`IsGlobalUnicast`). Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("203.0.113.1", 9))
        return str(probe.getsockname()[0])


@pytest.fixture
def pod(kube: KubeClient, operator: OperatorProcess) -> Iterator[None]:
    """The operator's pod, as the API server knows it."""
    pods = "/api/v1/namespaces/default/pods"
    body: Object = {
        "metadata": {"name": operator.name},
        "spec": {"containers": [{"name": "operator", "image": "none"}]},
    }
    kube.create(pods, body)
    status = {"phase": "Running", "podIP": (found := address_of_this_machine()), "podIPs": [{"ip": found}]}
    kube.merge(f"{pods}/{operator.name}/status", {"status": status})
    yield
    kube.request("DELETE", f"{pods}/{operator.name}", {"gracePeriodSeconds": 0})


@pytest.fixture
def person(site: Site) -> Callable[..., Path]:
    """Makes people who may read the operator's Lease and come to its pod, and in the site what is said."""

    def make(name: str, *rules: Object) -> Path:
        account = {"kind": "ServiceAccount", "name": name, "namespace": site.namespace}
        way = [
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]},
            {"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get"]},
        ]
        kubectl = site.kube.server.kubectl
        kubectl("create", "serviceaccount", name, "-n", site.namespace)
        for namespace, role, given in (
            ("default", f"{site.namespace}-{name}", way),
            (site.namespace, name, list(rules)),
        ):
            reference = {"apiGroup": RBAC, "kind": "Role", "name": role}
            for each in (
                {"kind": "Role", "rules": given},
                {"kind": "RoleBinding", "roleRef": reference, "subjects": [account]},
            ):
                stdin = json.dumps({"apiVersion": f"{RBAC}/v1", "metadata": {"name": role}, **each})
                kubectl("apply", "-n", namespace, "-f", "-", stdin=stdin)
        return site.kube.server.kubeconfig_of(site.namespace, name)

    return make


@pytest.fixture
def type_as(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Type:
    """Types `seawall …` as somebody; returns exit code, output and errors."""

    def type_it(who: Path, *words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["seawall", *words, "--kubeconfig", str(who), *LEASE])
        capsys.readouterr()  # what the test itself waited for is none of it
        return main(), *capsys.readouterr()

    return type_it


@contextmanager
def opened(who: Path, tmp_path: Path) -> Iterator[str]:
    """`seawall ui` as somebody, until they press Ctrl-C; gives its address."""
    errors = tmp_path / "ui.errors"
    command = [sys.executable, "-m", "seawall", "ui", "--no-browser", "--kubeconfig", str(who), *LEASE]
    with (
        errors.open("w") as log,
        subprocess.Popen(  # noqa: S603 - our own
            command, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), errors.read_text()
            yield address
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130, errors.read_text()
        finally:
            process.kill()


def ask(address: str, path: str, **headers: str) -> int:
    """The status of an answer to somebody who is no browser."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.fixture
def written(site: Site, kafka: KafkaProcesses, etcd: EtcdProcess) -> Iterator[RefDbProcesses]:
    """A database that has written rows to the pool of a WALCluster, which the operator has looked at."""
    with RefDbProcesses(kafka.bootstrap_servers, etcd, datanodes=1) as database:
        topics = {"prefix": f"wal_{database.prefix}", "replicationFactor": 1}
        site.declare(topics=topics, greptimedb=database.declared(autoPrune="Disabled"))
        site.wait_ready()
        assert "code" not in database.sql("CREATE TABLE t (ts TIMESTAMP TIME INDEX, k STRING, PRIMARY KEY(k))")
        for number in range(20):
            database.write(f"INSERT INTO t(ts, k) VALUES ({number}, 'k{number}')")  # noqa: S608 - a number
        yield database


def metrics_in_a_report_of(who: Path, site: Site, type_as: Type, tmp_path: Path) -> str | None:
    """None: it says that they may not be read."""
    path = tmp_path / f"report-of-{who.name}.tar.gz"
    code, _, errors = type_as(who, "report", "wal", "-n", site.namespace, "-f", str(path))
    assert (code, errors) == (0, "")
    with tarfile.open(path) as archive:
        texts = {Path(each.name).name: archive.extractfile(each) for each in archive.getmembers()}
        missing, found = texts["not-read.txt"], texts.get("metrics.txt")
        assert missing is not None
        if found is not None:
            return found.read().decode()
        assert "you may not get /metrics" in missing.read().decode()
        return None


@pytest.mark.usefixtures("pod")
def test_people_see_what_they_may_read_and_nothing_else(
    site: Site, written: RefDbProcesses, person: Callable[..., Path], type_as: Type, tmp_path: Path
) -> None:
    ledger = ("ledger", "wal", "-n", site.namespace)
    reader = person("reader", {"apiGroups": ["seawall.dev"], "resources": KINDS, "verbs": ["get", "list"]})
    stranger = person("stranger")
    topic = f"wal_{written.prefix}_0"

    def has_records() -> bool:
        code, text, errors = type_as(reader, *ledger, "-o", "json")
        assert code in {0, 3}, errors  # 3: the operator cannot look yet
        return code == 0 and any(line["high_watermark"] for line in json.loads(text)["topics"])

    wait_until(has_records, "the ledger knows the records", explain=site.operator.tail)
    assert topic in type_as(reader, *ledger)[1], "by their token"
    assert topic in type_as(site.kube.server.kubeconfig, *ledger)[1], "an admin with a certificate has the Lease's key"
    plan = ("plan", "wal", "-n", site.namespace)
    assert "No run: " in type_as(reader, *plan)[1], "which replicas would move"
    assert "2 topics would be purged" in type_as(reader, "purge", "run", "wal", "-n", site.namespace, "--dry-run")[1]
    assert [type_as(stranger, *plan)[0], type_as(stranger, "purge", *plan[1:], "--dry-run")[0]] == [1, 1]
    code, _, errors = type_as(stranger, *ledger)
    assert (code, f"you may not get walclusters wal in namespace {site.namespace}" in errors) == (1, True), errors

    assert metrics_in_a_report_of(reader, site, type_as, tmp_path) is None, "metrics are a right of their own"
    assert "seawall_leader 1.0" in (metrics_in_a_report_of(site.kube.server.kubeconfig, site, type_as, tmp_path) or "")

    with opened(reader, tmp_path) as address, headless_chromium() as browser, visit(browser) as look:
        look.page.goto(address)
        expect(look.page.locator("tbody th")).to_have_text([f"{site.namespace}/wal"])
        look.page.get_by_role("link", name=f"{site.namespace}/wal").click()
        expect(look.page.locator("table.topics tbody th")).to_have_count(2)
        assert look.page.get_by_role("img").first.get_attribute("aria-label", timeout=5000)
        expect(look.page.locator("table.topics")).to_contain_text("on datanode 0")
        look.require_usable()
        look.require_clean(address)
        look.keep("real")
        secret = urlsplit(address).path
        assert ask(address, secret) == 200
        assert ask(address, "/") == 404, "nobody else of this machine knows the address"
        assert ask(address, secret, Host="evil.example") == 404, "a name that is bound to this address later"

    with opened(stranger, tmp_path) as address, headless_chromium() as browser, visit(browser) as look:
        look.page.goto(address)
        expect(look.page.locator("main")).to_contain_text("no WALCluster that you may see")
        look.page.goto(f"{address}walclusters/{site.namespace}/wal")
        expect(look.page.locator("main")).to_contain_text("or you may not see it")


def test_what_cannot_be_opened_is_one_sentence(site: Site, person: Callable[..., Path], type_as: Type) -> None:
    """Without the pod, as after a crash; and without the right to come to it."""
    code, _, errors = type_as(person("caller"), "ui", "--no-browser")
    assert (code, errors.startswith("error: the operator's page: 404 "), errors.count("\n")) == (1, True, 1), errors
    site.kube.server.kubectl("delete", "rolebinding", f"{site.namespace}-caller", "-n", "default")
    who = site.kube.server.kubeconfig_of(site.namespace, "caller")
    wait_until(lambda: "forbidden" in type_as(who, "ui", "--no-browser")[2], "the API server has heard of it")
