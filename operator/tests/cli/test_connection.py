"""Which cluster a command talks to, above all in a pod, which is in another one than it may be told of."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kubernetes import config

from seawall.adapters.kube.api import KubeApi
from seawall.cli import connection
from seawall.cli.connection import connect, whereabouts
from seawall.domain.errors import Refused
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten

IN_CLUSTER = "https://10.0.0.1:443"


def write_kubeconfig(path: Path) -> str:
    """One with two clusters, `here` and `there`."""
    names = ("here", "there")
    text = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443"}} for name in names],
        "users": [{"name": "me", "user": {"token": "secret"}}],
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": "me", "namespace": f"db-{name}"}} for name in names
        ],
        "current-context": "here",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(text))
    return str(path)


@pytest.fixture(autouse=True)
def _in_a_pod(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def load(found: Any) -> None:
        found.host = IN_CLUSTER

    monkeypatch.setattr(config, "load_incluster_config", load)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("POD_NAMESPACE", raising=False)
    monkeypatch.setattr(connection, "NAMESPACE_FILE", tmp_path / "not-mounted")


def connected(kubeconfig: str | None = None, context: str | None = None) -> tuple[str, str]:
    """Which API server, and which namespace."""
    arguments = argparse.Namespace(kubeconfig=kubeconfig, context=context, namespace=None)
    return server_of(connect(arguments)), arguments.namespace


def server_of(api: KubeApi) -> str:
    return str(api._client.configuration.host)


def named(path: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """By the flag."""
    del monkeypatch
    return write_kubeconfig(path / "file")


def exported(path: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """By $KUBECONFIG."""
    monkeypatch.setenv("KUBECONFIG", write_kubeconfig(path / "file"))
    return None


def at_home(path: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Where kubectl has it."""
    monkeypatch.setenv("KUBECONFIG", "")
    write_kubeconfig(path / "home" / ".kube" / "config")
    return None


@pytest.mark.parametrize("given", [named, exported, at_home])
def test_in_a_pod_a_command_goes_where_its_kubeconfig_says(
    given: Callable[[Path, pytest.MonkeyPatch], str | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfig = given(tmp_path, monkeypatch)
    assert connected(kubeconfig) == ("https://here:6443", "db-here")
    assert connected(kubeconfig, "there") == ("https://there:6443", "db-there")


def test_in_a_pod_without_any_kubeconfig_it_is_the_pods_account() -> None:
    assert connected() == (IN_CLUSTER, "default")


def test_in_a_pod_without_any_kubeconfig_its_namespace_is_the_pods_as_kubectl_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted = tmp_path / "namespace"
    mounted.write_text("db\n")
    monkeypatch.setattr(connection, "NAMESPACE_FILE", mounted)
    assert connected() == (IN_CLUSTER, "db")
    monkeypatch.setenv("POD_NAMESPACE", "said")
    assert connected() == (IN_CLUSTER, "said")


@pytest.mark.parametrize("text", ["{not yaml", "- a list", "clusters: 7"])
def test_a_kubeconfig_that_makes_no_sense_is_refused(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text(text)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "file"))
    with pytest.raises(Refused, match="the kubeconfig cannot be used"):
        connected()


def test_in_a_pod_a_context_without_a_kubeconfig_is_refused() -> None:
    with pytest.raises(Refused, match="the kubeconfig cannot be used"):
        connected(context="there")


def test_a_kubeconfig_that_is_named_and_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nothing"))
    with pytest.raises(Refused, match="the kubeconfig cannot be used"):
        connected()


def test_a_user_without_a_home_is_the_pods_account(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(_: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", homeless)
    assert connected() == (IN_CLUSTER, "default")


def test_the_operator_is_the_pods_account_as_its_watcher_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", write_kubeconfig(tmp_path / "file"))
    assert server_of(KubeApi(1)) == IN_CLUSTER


def test_a_kubeconfig_is_passed_over_by_no_mutant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def goes_where_it_says() -> None:
        for number, given in enumerate((exported, at_home)):
            monkeypatch.setenv("HOME", str(tmp_path / str(number) / "home"))
            assert connected(given(tmp_path / str(number), monkeypatch)) == ("https://here:6443", "db-here")

    goes_where_it_says()
    mutants = (
        rewritten(connection, "_kubeconfig", 'os.environ.get("KUBECONFIG")', "None"),
        rewritten(connection, "_kubeconfig", " or path.is_file() else", " else"),
    )
    assert not find_survivors([(mutant, goes_where_it_says) for mutant in mutants])


def test_a_person_is_told_which_cluster_it_is(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "file")
    for context, expected in (
        (None, "WALCluster db-here/wal at https://here:6443 (context here)"),
        ("there", "WALCluster db-there/wal at https://there:6443 (context there)"),
    ):
        arguments = argparse.Namespace(kubeconfig=path, context=context, namespace=None, walcluster="wal")
        assert whereabouts(arguments, connect(arguments).host) == expected
    arguments = argparse.Namespace(kubeconfig=None, context=None, namespace="db", walcluster="wal")
    assert whereabouts(arguments, connect(arguments).host) == f"WALCluster db/wal at {IN_CLUSTER}", "in a pod"
