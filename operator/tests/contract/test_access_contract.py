"""The port AccessReviews: the same promises from a real API server's RBAC, and from the fake."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
import yaml

from seawall.adapters.kube.access import KubeAccessReviews
from seawall.adapters.kube.api import KubeApi
from seawall.domain.errors import Forbidden, OutsideUnavailable
from seawall.ports import Access, AccessReviews, PathAccess
from seawall_e2e.loopback import ApiServer
from tests.fakes.access import FakeAccessReviews
from tests.support.patient import kube_api

pytestmark = pytest.mark.xdist_group("api-server")

GET, LIST = "get", "list"


class Bed:
    """A person who may get `/metrics`, and in `here` the WALCluster `mine` and list holds; the port that is asked."""

    def __init__(self, reviews: AccessReviews, token: str, here: str) -> None:
        self.reviews, self.token, self.here = reviews, token, here

    def may(self, verb: str, plural: str, namespace: str, name: str = "") -> bool:
        return self.reviews.allows(self.token, Access(verb, plural, namespace, name))


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.integration)])
def bed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Bed:
    here = f"access-{uuid.uuid4().hex[:8]}"
    if request.param == "fake":
        may: list[Access | PathAccess] = [
            Access(GET, "walclusters", here, "mine"),
            Access(LIST, "walholds", here),
            PathAccess(GET, "/metrics"),
        ]
        return Bed(FakeAccessReviews(ada=may), "ada", here)
    server: ApiServer = request.getfixturevalue("api_server")
    # The operator's own kubeconfig is an admin's, with a client certificate: nobody may be asked as that.
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
    return Bed(KubeAccessReviews(kube_api(is_anonymous=True)), token_of_a_person(server, here), here)


def token_of_a_person(server: ApiServer, namespace: str) -> str:
    """Makes the person, who may do what the bed says."""
    rules = [
        {"apiGroups": ["seawall.dev"], "resources": ["walclusters"], "resourceNames": ["mine"], "verbs": [GET]},
        {"apiGroups": ["seawall.dev"], "resources": ["walholds"], "verbs": [LIST]},
    ]
    rbac, role = "rbac.authorization.k8s.io", {"metadata": {"name": "ada"}}
    account = {"kind": "ServiceAccount", "name": "ada", "namespace": namespace}
    binding = {"roleRef": {"apiGroup": rbac, "kind": "Role", "name": "ada"}, "subjects": [account]}
    reader = {"apiVersion": f"{rbac}/v1", "metadata": {"name": f"{namespace}-metrics-reader"}}
    whole = {"roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": f"{namespace}-metrics-reader"}}
    objects = [
        {**reader, "kind": "ClusterRole", "rules": [{"nonResourceURLs": ["/metrics"], "verbs": [GET]}]},
        {**reader, "kind": "ClusterRoleBinding", **whole, "subjects": [account]},
        {"apiVersion": "v1", "kind": "ServiceAccount", **role},
        {"apiVersion": f"{rbac}/v1", "kind": "Role", **role, "rules": rules},
        {"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", **role, **binding},
    ]
    server.kubectl("create", "namespace", namespace)
    for each in objects:
        server.kubectl("apply", "-n", namespace, "-f", "-", stdin=json.dumps(each))
    return server.token_of(namespace, "ada")


def test_a_person_may_what_their_role_says_and_nothing_else(bed: Bed) -> None:
    assert bed.may(GET, "walclusters", bed.here, "mine")
    assert not bed.may(GET, "walclusters", bed.here, "other")
    assert not bed.may(GET, "walclusters", "elsewhere", "mine")
    assert not bed.may(LIST, "walclusters", bed.here)
    assert bed.may(LIST, "walholds", bed.here)
    assert not bed.may(LIST, "walholds", "")


def test_a_path_is_a_right_of_its_own(bed: Bed) -> None:
    for path, verb, may in (("/metrics", GET, True), ("/metrics", "post", False), ("/debug", GET, False)):
        assert bed.reviews.allows(bed.token, PathAccess(verb, path)) is may, (verb, path)


def test_a_token_that_nobody_has_is_not_a_person_without_rights(bed: Bed) -> None:
    with pytest.raises(Forbidden, match="does not know your token"):
        bed.reviews.allows("nobody", Access(GET, "walclusters", bed.here, "mine"))


@pytest.mark.integration
def test_an_api_server_that_is_away_is_no_refusal(api_server: ApiServer, tmp_path: Path) -> None:
    away = yaml.safe_load(api_server.kubeconfig.read_text())
    away["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(away))
    with pytest.raises(OutsideUnavailable):
        KubeAccessReviews(KubeApi(1, kubeconfig=str(path), is_anonymous=True)).allows("ada", Access(GET, "x", "y"))
