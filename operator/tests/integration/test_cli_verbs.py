"""The verbs as people type them, on a real API server with the operator: it acts by what they wrote."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from seawall.__main__ import main
from seawall.api.meta import PAUSED_ANNOTATION, READOPT_ANNOTATION
from seawall.cli.parser import Exit
from tests.support.kube import OBJECTS
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
        return main(), *capsys.readouterr()

    return type_it


def _nobody(_: str) -> str:
    raise EOFError


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

    code, text, _ = type_("readopt", "wal", *here, *LEASE, "--reason", "restored", "--dry-run")
    assert (code, "Dry run: nothing was changed." in text) == (Exit.DONE, True)
    assert READOPT_ANNOTATION not in site.read()["metadata"].get("annotations", {})
    assert type_("readopt", "nobody", *here, "--reason", "x") == (
        Exit.REFUSED, "", f"error: there is no WALCluster {site.namespace}/nobody\n"
    )  # fmt: skip


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
