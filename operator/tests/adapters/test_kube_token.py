"""The token by which the API server is asked cannot be read for a moment: that is no answer, and ends no process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client.configuration import Configuration
from kubernetes.config import ConfigException

from seawall.adapters.clock import since_boot
from seawall.adapters.kube.api import KubeApi
from seawall.adapters.lease import Lease
from seawall.adapters.times import LEASE_RENEW_SECONDS
from seawall.api.meta import Key
from seawall.domain.errors import OutsideUnavailable, Unauthenticated

Call = Callable[[KubeApi], object]
CALLS: dict[str, Call] = {
    "get": lambda api: api.get("/api"),
    "list": lambda api: api.list("/api"),
    "create": lambda api: api.create("/api", {}),
    "replace": lambda api: api.replace("/api", {}),
    "fetch of a pod by TLS": lambda api: api.fetch("/api/v1/namespaces/db/pods/https:a:9443/proxy/ui?key=secret"),
}


@pytest.fixture
def api(tmp_path: Path) -> KubeApi:
    """Nobody listens there: what is asked for ends before."""
    here = {"cluster": "here", "user": "me"}
    known = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "me", "user": {"token": "a-token"}}],
        "contexts": [{"name": "here", "context": here}],
        "current-context": "here",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(known))
    return KubeApi(connections=1, kubeconfig=str(path), shows_token=True)


def without_token(api: KubeApi, error: Exception) -> None:
    """As the hooks of the client fail."""

    def refresh(_: Configuration) -> None:
        raise error

    api._client.configuration.refresh_api_key_hook = refresh


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "error", [FileNotFoundError(2, "No such file"), ConfigException("Token file exists but empty.")]
)
def test_a_token_that_cannot_be_read_is_no_answer(name: str, error: Exception, api: KubeApi) -> None:
    without_token(api, error)
    with pytest.raises(Unauthenticated, match=rf": no credentials \({type(error).__name__}\)$") as raised:
        CALLS[name](api)
    assert "secret" not in str(raised.value), "the key to the operator's pages"
    assert isinstance(raised.value, OutsideUnavailable), "to the operator, whose token is replaced while it runs"


def test_who_leads_goes_on_leading_meanwhile_and_not_for_longer(api: KubeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    now = since_boot()
    lease = Lease(api, Key("seawall", "seawall-operator"), "me", monotonic=lambda: now)
    held: dict[str, Any] = {"metadata": {"name": "seawall-operator", "resourceVersion": "1"}}
    with monkeypatch.context() as answering:
        answering.setattr(api, "get", lambda _: held)
        answering.setattr(api, "replace", lambda *_: None)
        assert lease.try_hold()
    without_token(api, FileNotFoundError(2, "No such file"))
    assert lease.try_hold()
    now += LEASE_RENEW_SECONDS
    assert not lease.try_hold()
    lease.release()
