"""The API server as any client sees it: JSON over HTTP, nothing of the operator's own code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from kubernetes import config
from urllib3.exceptions import HTTPError

from seawall_e2e.loopback import ApiServer
from seawall_e2e.waiting import wait_until

CRDS = Path(__file__).parents[3] / "crds"
CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OBJECTS = "/apis/seawall.dev/v1alpha1/namespaces/{}/{}"
WAL_CLUSTERS = "/apis/seawall.dev/v1alpha1/namespaces/{}/walclusters"

Object = dict[str, Any]


class Refusal(Exception):  # noqa: N818 - named for what happened
    """The API server said no; the text is its sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class KubeClient:
    """Requests as the admin of an API server."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self._client = config.new_client_from_config(str(server.kubeconfig))  # type: ignore[no-untyped-call]

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> Object:
        """One request; everything but 2xx is a Refusal, also no answer (status 0)."""
        headers = {"Accept": accept, "Content-Type": content_type}
        call = self._client.param_serialize(method, path, header_params=headers, body=body, auth_settings=[])
        try:
            response = self._client.call_api(*call, _request_timeout=(10, 30))
            text = bytes(response.read())
        except (HTTPError, OSError) as error:
            raise Refusal(0, f"{method} {path}: {error}") from error
        if response.status not in range(200, 300):
            raise Refusal(response.status, _sentence(text))
        answer: Object = json.loads(text)
        return answer

    def find(self, path: str) -> Object | None:
        """An object, or None when there is none."""
        try:
            return self.request("GET", path)
        except Refusal as refusal:
            if refusal.status == 404:
                return None
            raise

    def create(self, path: str, body: Object) -> Object:
        """Creates an object."""
        return self.request("POST", path, body)

    def apply(self, path: str, body: Object) -> Object:
        """Makes an object, or changes it to this, as `kubectl apply --server-side` does."""
        return self.request("PATCH", f"{path}?fieldManager=person", body, "application/apply-patch+yaml")

    def merge(self, path: str, patch: Mapping[str, Any]) -> Object:
        """Merges a patch into an object."""
        return self.request("PATCH", path, patch, "application/merge-patch+json")

    def delete(self, path: str) -> None:
        """Deletes an object; one that is gone already is fine."""
        try:
            self.request("DELETE", path)
        except Refusal as refusal:
            if refusal.status != 404:
                raise

    def install_crds(self) -> None:
        """Installs the CRDs as they are in the repository, unless they are there, and waits until they are served."""
        for path in sorted(CRDS.glob("*.yaml")):
            self.install_crd(repository_crd(path.stem))

    def install_crd(self, crd: Object) -> None:
        """Installs one CRD, unless it is there, and waits until it is served.

        The API server compiles a CRD's rules before it sees that there is one already: so it is not asked to.
        """
        spec, name = crd["spec"], crd["metadata"]["name"]
        (version,) = (each["name"] for each in spec["versions"] if each["storage"])
        objects = f"/apis/{spec['group']}/{version}/namespaces/default/{spec['names']['plural']}"
        if self.find(objects) is not None:
            return
        try:
            self.create(CRD_PATH, crd)
        except Refusal as refusal:
            if refusal.status != 409:
                raise
        where = f"{CRD_PATH}/{name}"
        wait_until(lambda: crd_condition(self.request("GET", where), "Established") == "True", f"{name} is Established")
        wait_until(lambda: self.find(objects) is not None, f"{name} is served")

    def make_namespace(self, name: str) -> None:
        """Makes a namespace."""
        self.create("/api/v1/namespaces", {"metadata": {"name": name}})


def _sentence(text: bytes) -> str:
    """What the API server says; of a path that it does not serve at all that is no JSON."""
    try:
        return str(json.loads(text).get("message", text))
    except ValueError:
        return text.decode()


def load_yaml(path: Path) -> Object:
    """What a file says, ten times as fast as by PyYAML's own loader, which takes seconds for a large CRD."""
    found: Object = yaml.load(path.read_text(), yaml.CSafeLoader)
    return found


def repository_crd(plural: str) -> Object:
    """A CRD as it is in the repository."""
    return load_yaml(CRDS / f"{plural}.yaml")


def crd_condition(crd: Object, kind: str) -> str | None:
    """The status of one of a CRD's conditions."""
    conditions = crd.get("status", {}).get("conditions") or ()
    return next((str(condition["status"]) for condition in conditions if condition["type"] == kind), None)
