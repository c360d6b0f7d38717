"""The verbs as people type them, on a real API server with the operator: it acts by what they wrote."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from seawall.__main__ import main
from seawall.adapters.kube.objects import KubeAdapter
from seawall.api.meta import PAUSED_ANNOTATION, READOPT_ANNOTATION, Key
from seawall.api.v1alpha1.cluster import WALClusterSpec
from seawall.cli.annotation_verbs import VERBS
from seawall.cli.parser import Exit
from seawall.domain.kafka_users import Password
from seawall.domain.managed_kafka.certificates import why_unusable
from seawall.observe.certificates import read_certificates
from seawall.observe.connections import read_password
from tests.integration.test_crds import EXAMPLES
from tests.support.kube import OBJECTS
from tests.support.patient import kube_api
from tests.support.site import Site, condition

pytestmark = pytest.mark.integration

LEASE = ("--operator", "default/seawall")
"""The operator's, by its default settings."""

Type = Callable[..., tuple[int, str, str]]


@pytest.fixture
def type_(site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Type:
    """Types `seawall …`; returns exit code, output and errors. Nobody answers questions."""
    monkeypatch.setenv("KUBECONFIG", str(site.kube.server.kubeconfig))

    def type_it(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["seawall", *words])
        monkeypatch.setattr("builtins.input", _nobody)
        capsys.readouterr()  # what the test itself waited for is none of it
        return main(), *capsys.readouterr()

    return type_it


def _nobody(_: str) -> str:
    raise EOFError


def looking_again(type_: Type) -> Type:
    """As a person does: on a busy machine the operator may say more of the object between what is shown and yes."""

    def type_it(*words: str) -> tuple[int, str, str]:
        for _ in range(10):
            found = type_(*words)
            if "look again" not in found[2]:
                break
        return found

    return type_it


def test_verbs_write_what_the_operator_follows(site: Site, type_: Type) -> None:
    site.declare()
    site.wait_ready()
    here = ("-n", site.namespace)

    code, text, errors = type_("pause", "wal", *here)
    assert (code, errors) == (Exit.REFUSED, "error: nobody answers here, say --yes: nothing was changed\n")
    assert "Ready is True (Ready)" in text
    assert type_("pause", "wal", *here, "--yes")[0] == Exit.DONE
    site.edit(count=3)
    site.wait_object(lambda found: condition(found, "Ready").get("reason") == "Paused", "it is paused")
    assert type_("resume", "wal", *here, "--yes")[0] == Exit.DONE
    assert site.wait_ready()["status"]["topics"]["ready"] == 3
    assert PAUSED_ANNOTATION not in site.read()["metadata"].get("annotations", {})

    code, text, _ = type_("purge", "run", "wal", *here, "-t", "*_0")
    made = site.kube.request(
        "GET", f"{OBJECTS.format(site.namespace, 'walpurges')}/{text.split()[0].partition('/')[2]}"
    )
    assert code == Exit.DONE
    assert (made["spec"]["clusterRef"], made["spec"]["topics"]) == ({"name": "wal"}, ["*_0"])

    code, text, _ = type_("readopt", "wal", *here, *LEASE, "--reason", "restored", "--dry-run")
    assert (code, "Dry run: nothing was changed." in text) == (Exit.DONE, True)
    assert READOPT_ANNOTATION not in site.read()["metadata"].get("annotations", {})
    assert type_("readopt", "nobody", *here, "--reason", "x") == (
        Exit.REFUSED, "", f"error: there is no WALCluster {site.namespace}/nobody\n"
    )  # fmt: skip


NAMED = {"dead-regions": ("4398046511104",), "purge-unused": ("*_0",), "format-volume": ("2",)}
"""What a verb wants to be named."""


def test_each_verb_writes_its_annotation_and_takes_it_away(site: Site, type_: Type) -> None:
    site.declare()
    site.wait_ready()
    here, type_ = ("-n", site.namespace, *LEASE, "--yes"), looking_again(type_)

    def annotations() -> dict[str, str]:
        return dict(site.read()["metadata"].get("annotations", {}))

    assert type_("pause", "wal", *here)[0] == Exit.DONE, "nothing acts by them meanwhile"
    before = annotations()
    for name in VERBS.keys() - {"pause", "resume", "approve", "approve-rollout"}:
        words = (name, "wal", *NAMED.get(name, ()))
        code, text, errors = type_(*words, *here, "--reason", "drill")
        assert (code, errors) == (Exit.DONE, ""), (name, text)
        added = annotations()
        assert added.keys() - before.keys() == {VERBS[name].annotation}, name
        assert "drill" in added[VERBS[name].annotation], name
        assert type_(name, "wal", *here, "--undo")[0] == Exit.DONE
        assert annotations() == before, name
    for name, what in (("approve", "reassignment"), ("approve-rollout", "rollout")):
        code, _, errors = type_(name, "wal", "abcdef", *here)
        assert (code, f"no {what} is planned" in errors) == (Exit.REFUSED, True), errors
    assert annotations() == before
    assert type_("resume", "wal", *here)[0] == Exit.DONE
    assert VERBS["pause"].annotation not in annotations()


def test_runs_on_spark_are_asked_for_and_told(site: Site, type_: Type) -> None:
    """Who verifies and backs up for real is in e2e; here is what people type."""
    site.declare()
    site.wait_ready()
    here = ("-n", site.namespace)
    code, _, errors = type_("verify", "wal", *here)
    assert (code, "error: " in errors, errors.count("\n")) == (Exit.REFUSED, True, 1), errors
    code, _, errors = type_("backup", "begin", "point", *here, "--cluster", "wal", "--timeout", "1h")
    assert (code, errors.count("\n")) == (Exit.REFUSED, 1), errors
    found = site.kube.request("GET", OBJECTS.format(site.namespace, "walbackups") + "/point")
    assert found["spec"]["bracket"]["name"] == "point"
    assert "point" in type_("backup", "list", *here)[1]
    code, _, errors = type_("backup", "end", "point", *here, "--snapshot", "s1")
    assert (code, errors.count("\n")) == (Exit.REFUSED, 1), errors
    body = {"apiVersion": "seawall.dev/v1alpha1", "kind": "WALRestore", "metadata": {"name": "back"}}
    spec = {"clusterRef": {"name": "wal"}, "source": {"clusterId": "a"}, "target": {"latest": True}}
    site.kube.create(OBJECTS.format(site.namespace, "walrestores"), {**body, "spec": spec})
    code, _, errors = type_("restore", "plan", "back", *here)
    assert (code, errors.count("\n")) == (Exit.REFUSED, 1), errors
    code, _, errors = type_("restore", "approve", "back", "abcdef", *here)
    assert (code, "no plan waits for an approval" in errors) == (Exit.REFUSED, True), errors


def test_a_hold_from_its_request_to_its_release(site: Site, type_: Type) -> None:
    site.declare()
    site.wait_ready()
    here = ("-n", site.namespace)
    code, text, errors = type_("hold", "create", "audit", *here, "--cluster", "wal", "-t", "wal_0")
    assert (code, errors) == (Exit.REFUSED, "error: 'wal_0' is no TOPIC=OFFSET, such as wal_0=1500\n"), text
    what = ("--cluster", "wal", "-t", f"{site.topic(0)}=0", "--ttl", "2h", "--reason", "to be read")
    code, text, errors = type_("hold", "create", "audit", *here, *what, "--timeout", "5s")
    assert (code, text.splitlines()[0]) == (Exit.REFUSED, "walhold/audit created"), errors
    assert "error: it was not granted within 5 s" in errors, "without a database nobody knows what is needed"
    path = OBJECTS.format(site.namespace, "walholds") + "/audit"
    assert site.kube.request("GET", path)["spec"]["topics"] == {site.topic(0): 0}
    assert type_("hold", "create", "audit", *here, *what)[0] == Exit.REFUSED, "it is there already"
    assert type_("hold", "renew", "audit", *here)[0] == Exit.DONE
    assert "to be read" in type_("hold", "list", *here)[1]
    assert type_("hold", "release", "audit", *here)[0] == Exit.DONE
    assert site.kube.request("GET", path)["spec"]["release"] is True
    assert type_("hold", "release", "nobody", *here)[2] == f"error: there is no WALHold {site.namespace}/nobody\n"


def test_a_kubeconfig_that_cannot_be_used_is_one_sentence(site: Site, type_: Type, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("kind: Config\n")
    for words in (
        ("--kubeconfig", str(tmp_path / "nowhere")),
        ("--kubeconfig", str(broken)),
        ("--context", "nobody"),
    ):
        code, text, errors = type_("status", "wal", *words)
        assert (code, text) == (Exit.REFUSED, ""), words
        assert errors.startswith("error: the kubeconfig cannot be used: "), errors
        assert len(errors.splitlines()) == 1, errors
    assert type_("status", "wal")[2] == "error: there is no WALCluster default/wal\n", site.namespace


def test_a_server_that_does_not_answer_may_have_done_it(type_: Type, tmp_path: Path) -> None:
    nobody = tmp_path / "nobody"
    nobody.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
        "clusters: [{name: x, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "contexts: [{name: x, context: {cluster: x, user: x, namespace: wals}}]\nusers: [{name: x, user: {}}]\n"
    )
    code, _, errors = type_("hold", "renew", "audit", "--kubeconfig", str(nobody))
    assert code == Exit.NO_ANSWER
    assert "/namespaces/wals/" in errors, "the context's namespace is the default"


def test_lists_are_as_kubectl_has_them(site: Site, type_: Type) -> None:
    site.declare()
    site.wait_ready()
    code, text, errors = type_("status", "-n", site.namespace)
    assert (code, errors) == (Exit.DONE, "")
    assert [line.split()[:3] for line in text.splitlines()] == [["NAME", "READY", "REASON"], ["wal", "True", "Ready"]]
    assert f"\n{site.namespace} " in type_("status", "-A", "-o", "wide")[1]
    assert type_("status", "-n", site.namespace, "-o", "name")[1] == "walcluster.seawall.dev/wal\n"
    (found,) = yaml.safe_load(type_("status", "-n", site.namespace, "-o", "yaml")[1])["items"]
    assert found["metadata"]["uid"] == site.read()["metadata"]["uid"]
    assert type_("status", "wal", "-A")[2] == "error: a WALCluster has one namespace: -n, or no name\n"


def test_who_may_not_is_told_so_in_a_sentence(site: Site, type_: Type) -> None:
    site.declare()
    site.kube.server.kubectl("create", "serviceaccount", "nobody", "-n", site.namespace)
    nobody = ("--kubeconfig", str(site.kube.server.kubeconfig_of(site.namespace, "nobody")))
    here = ("-n", site.namespace)
    for words in (("status", "wal"), ("status", "-A"), ("pause", "wal", "--yes"), ("ledger", "wal"), ("hold", "list")):
        code, text, errors = type_(*words, *here, *nobody)
        assert (code, text) == (Exit.REFUSED, ""), words
        assert errors.startswith("error: ")
        assert "is forbidden" in errors
        assert len(errors.splitlines()) == 1, errors


def test_another_lease_and_an_operator_that_is_away_are_told_apart(site: Site, type_: Type) -> None:
    site.declare()
    here = ("-n", site.namespace, "--operator", f"{site.namespace}/other")
    assert type_("ledger", "wal", *here)[::2] == (
        Exit.REFUSED,
        f"error: no Seawall operator leads by the Lease {site.namespace}/other: name it with --operator\n",
    )
    site.kube.create(
        f"/apis/coordination.k8s.io/v1/namespaces/{site.namespace}/leases",
        {"metadata": {"name": "other"}, "spec": {"holderIdentity": "gone", "renewTime": "2026-01-01T00:00:00.000000Z"}},
    )
    code, text, errors = type_("ledger", "wal", *here)
    assert (code, text) == (Exit.NO_ANSWER, "")
    assert errors.startswith("error: no operator leads: gone renewed its Lease ")


def test_a_fault_of_the_command_is_a_sentence_too(type_: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Iterator[str]:
        raise KeyError("nothing")

    monkeypatch.setattr("seawall.cli.status.answers", fail)
    assert type_("status", "wal") == (
        Exit.FAULT, "", "error: a fault of seawall itself, please report it (KeyError: 'nothing')\n"
    )  # fmt: skip
    monkeypatch.setenv("SEAWALL_TRACEBACK", "1")
    with pytest.raises(KeyError):
        type_("status", "wal")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("seawall sta", {"status"}),
        ("seawall status -n {namespace} ", {"wal"}),
        ("seawall purge -n {namespace} wal -t {prefix}_", {"{prefix}_0", "{prefix}_1"}),
        ("seawall hold release -n {namespace} ", {"audit"}),
        ("seawall status --kubeconfig /nowhere ", set()),
    ],
)
def test_tab_completes_names_of_the_cluster(site: Site, tmp_path: Path, typed: str, expected: set[str]) -> None:
    site.declare()
    where = OBJECTS.format(site.namespace, "walholds")
    if site.kube.find(f"{where}/audit") is None:
        spec = {"clusterRef": {"name": "wal"}, "topics": {"*": "earliest"}}
        kind = {"apiVersion": "seawall.dev/v1alpha1", "kind": "WALHold"}
        site.kube.create(where, {**kind, "metadata": {"name": "audit"}, "spec": spec})
    names = {"namespace": site.namespace, "prefix": site.topic(0).rpartition("_")[0]}
    line = typed.format(**names)
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "answer"),
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "KUBECONFIG": str(site.kube.server.kubeconfig),
    }
    subprocess.run([sys.executable, "-m", "seawall"], env={**os.environ, **asked}, check=True, timeout=60)
    found = {word.strip() for word in (tmp_path / "answer").read_text().split("\n")}
    assert {word for word in found if word and not word.startswith("-")} == {each.format(**names) for each in expected}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_a_script(shell: str, type_: Type) -> None:
    code, text, errors = type_("completion", shell)
    assert (code, errors) == (Exit.DONE, "")
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=text, text=True, check=True, timeout=60)  # noqa: S603 - ours
    assert "kubectl-seawall" in text


def test_a_report_is_one_archive_of_what_may_be_read(site: Site, type_: Type, tmp_path: Path) -> None:
    site.declare()
    site.wait_ready()
    path = tmp_path / "report.tar.gz"
    words = ("report", "wal", "-n", site.namespace, *LEASE, "-f", str(path))
    code, text, errors = type_(*words)
    assert (code, errors) == (Exit.DONE, "")
    assert text.endswith(f"{path} written: look through it before you give it away\n")
    with tarfile.open(path) as archive:
        objects = archive.extractfile("report/objects/walclusters.yaml")
        assert objects is not None
        assert yaml.safe_load(objects)["items"][0]["metadata"]["uid"] == site.read()["metadata"]["uid"]
        assert archive.extractfile("report/events.yaml") is not None
    assert type_(*words)[::2] == (Exit.REFUSED, f"error: {path} cannot be written: File exists\n")


def test_the_secrets_of_a_managed_kafka_are_made_by_who_types_and_fit(site: Site, type_: Type) -> None:
    """Judged by what the operator itself reads of them."""
    declared = yaml.safe_load((EXAMPLES / "valid/managed-kafka-secured.yaml").read_text())
    site.kube.create(OBJECTS.format(site.namespace, "walclusters"), declared)
    here, name = ("-n", site.namespace), declared["metadata"]["name"]
    kube, key = KubeAdapter(kube_api(2), [site.namespace]), Key(site.namespace, name)
    kafka = WALClusterSpec.model_validate(declared["spec"]).kafka.managed
    assert kafka is not None

    def fits() -> str | None:
        found = read_certificates(kube, key, kafka)
        assert found is not None
        return why_unusable(key, kafka, found, datetime.now(UTC))

    assert fits() == "Secret secured-kafka-tls does not exist"
    code, text, _ = type_("kafka", "secrets", name, *here)
    assert code == Exit.DONE
    assert [line.split(":")[0] for line in text.splitlines()] == [
        "would make Secret secured-kafka-ca",
        "would make Secret secured-kafka-tls",
        "would make Secret secured-kafka-seawall",
        "would make Secret secured-kafka-greptimedb",
        "would make Secret secured-kafka-verifier",
        "nothing was changed",
    ]
    assert fits() == "Secret secured-kafka-tls does not exist"
    assert (
        "Secret secured-kafka-tls made: certificate of CN=seawall:secured:node"
        in type_("kafka", "secrets", name, *here, "--apply")[1]
    )
    assert fits() is None
    password = read_password(kube, site.namespace, "secured-kafka-greptimedb")
    assert isinstance(password, Password)

    text = type_("kafka", "secrets", name, *here, "--apply")[1]
    assert text.splitlines()[0] == "Secret secured-kafka-tls is there"
    assert len(text.splitlines()) == 4, "what is there stays"
    before = kube.get_secret(Key(site.namespace, "secured-kafka-tls"))
    assert "Secret secured-kafka-tls renewed" in type_("kafka", "secrets", name, *here, "--apply", "--renew")[1]
    after = kube.get_secret(Key(site.namespace, "secured-kafka-tls"))
    assert before is not None
    assert after is not None
    assert before["tls.crt"] != after["tls.crt"]
    assert before["ca.crt"] == after["ca.crt"]
    assert fits() is None
    assert read_password(kube, site.namespace, "secured-kafka-greptimedb") == password

    path = f"/api/v1/namespaces/{site.namespace}/secrets"
    site.kube.delete(f"{path}/secured-kafka-ca")
    site.kube.delete(f"{path}/secured-kafka-seawall")
    code, _, errors = type_("kafka", "secrets", name, *here, "--apply")
    assert code == Exit.REFUSED
    assert "Secret secured-kafka-tls is there, and the Secret of their CA, secured-kafka-ca, is not" in errors
    site.declare()
    assert "has no kafka.managed" in type_("kafka", "secrets", "wal", *here)[2]
    assert type_("kafka", "certificate", "nobody", *here, "--issuer", "ca")[0] == Exit.REFUSED
