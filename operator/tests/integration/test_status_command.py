"""`seawall status` as people type it, on a real API server: with all rights, and with few."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seawall.__main__ import main
from seawall_e2e.waiting import wait_until
from tests.support.site import Site

pytestmark = pytest.mark.integration

LEASE = "default/seawall"
"""The operator's, by its default settings."""

Type = Callable[..., tuple[int, str, str]]


@pytest.fixture
def type_as(site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Type:
    """Types `seawall status …` as somebody; returns exit code, output and errors."""

    def type_it(*words: str, who: Path = site.kube.server.kubeconfig) -> tuple[int, str, str]:
        monkeypatch.setenv("KUBECONFIG", str(who))
        monkeypatch.setattr(sys, "argv", ["seawall", "status", *words, "-n", site.namespace])
        capsys.readouterr()  # what the test itself waited for is none of it
        code = main()
        return code, *capsys.readouterr()

    return type_it


def test_it_says_that_all_is_well_and_then_what_is_not(site: Site, type_as: Type) -> None:
    site.declare()
    site.wait_ready()
    site.wait_brokers_told()
    code, reported, _ = type_as("wal", "--operator", LEASE)
    assert (code, reported.splitlines()[0]) == (0, f"WALCluster {site.namespace}/wal: Ready, all is as it should be")
    assert f"Operator   {site.operator.name} leads, seen " in reported
    assert "3 of 3 online; controller" in reported
    site.edit(replicationFactor=7)
    sentence = site.wait_stalled("ReplicationFactorTooHigh")
    page: dict[str, Any] = json.loads(type_as("wal", "--operator", LEASE, "-o", "json")[1])
    first = page["findings"][0]
    assert (first["severity"], first["reason"], first["message"]) == ("Stalled", "ReplicationFactorTooHigh", sentence)
    assert page["topics"]["desired"] == 2


def test_a_wal_cluster_that_does_not_exist_is_one_sentence_and_an_exit_code(site: Site, type_as: Type) -> None:
    assert type_as("nobody") == (1, "", f"error: there is no WALCluster {site.namespace}/nobody\n")


def test_a_person_with_few_rights_sees_what_they_may(site: Site, type_as: Type) -> None:
    site.declare()
    site.wait_ready()
    kubectl, where = site.kube.server.kubectl, ("-n", site.namespace)
    kubectl("create", "serviceaccount", "on-call", *where)
    kubectl("create", "role", "on-call", "--verb=get", "--resource=walclusters.seawall.dev", *where)
    account = f"{site.namespace}:on-call"
    kubectl("create", "rolebinding", "on-call", "--role=on-call", f"--serviceaccount={account}", *where)
    who = site.kube.server.kubeconfig_of(site.namespace, "on-call")
    code, reported, errors = type_as("wal", who=who)
    assert (code, errors) == (0, "")
    assert "2 of 2 ready" in reported
    assert "not known: you may not read the Lease" in reported
    assert "walholds could not be read: " in reported
    kubectl("delete", "rolebinding", "on-call", *where)
    wait_until(lambda: type_as("wal", who=who)[0] == 1, "the API server has heard that the right is gone")
