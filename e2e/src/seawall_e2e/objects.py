"""Objects of Kubernetes, read, applied and deleted by this process.

A kubectl for each look would cost more than all that it looks at, and one for each object a third of a second.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from kubernetes.client.api_client import ApiClient
from kubernetes.client.exceptions import ApiException
from kubernetes.config import new_client_from_config
from urllib3.exceptions import HTTPError

from seawall_e2e.commands import CommandFailed, Object
from seawall_e2e.waiting import wait_until

SECONDS = 60.0
"""As long as kubectl may take, too."""
_CORE, _OURS = "api/v1", "apis/seawall.dev/v1alpha1"
_GROUPS = {
    "configmaps": _CORE,
    "events": _CORE,
    "namespaces": _CORE,
    "pods": _CORE,
    "secrets": _CORE,
    "serviceaccounts": _CORE,
    "services": _CORE,
    "persistentvolumeclaims": _CORE,
    "deployments": "apis/apps/v1",
    "statefulsets": "apis/apps/v1",
    "leases": "apis/coordination.k8s.io/v1",
    "customresourcedefinitions": "apis/apiextensions.k8s.io/v1",
    "walclusters": _OURS,
    "walholds": _OURS,
    "walpurges": _OURS,
    "walpurgepolicies": _OURS,
    "walverifications": _OURS,
    "walbackups": _OURS,
    "walbackuppolicies": _OURS,
    "walrestores": _OURS,
    "walsubscriptions": _OURS,
    "greptimedbclusters": "apis/greptime.io/v1alpha1",
}
"""Kind, as the API's paths have it → group and version."""


def find(namespace: str | None, kind: str, name: str) -> Object | None:
    """An object; None when there is none. Kinds are plural; no namespace: it has none.

    Raises:
        CommandFailed: the API server said something else, or nothing.
    """
    return read(_path(namespace, kind, name))


def get(namespace: str | None, kind: str, name: str) -> Object:
    """An object that must be there."""
    found = find(namespace, kind, name)
    if found is None:
        raise CommandFailed(("get", kind, name), "found nothing", f"in {namespace}")
    return found


def items(namespace: str | None, *kinds: str, labels: str = "", fields: str = "") -> list[Object]:
    """All objects of some kinds that these selectors choose."""
    return [each for kind in kinds for each in _items(namespace, kind, labels, fields)]


def read(path: str, **query: str) -> Object | None:
    """What the API server has at a path; None: nothing.

    Raises:
        CommandFailed: the API server said something else, or nothing.
    """
    return _ask("GET", path, query)


def apply(*objects: Mapping[str, Any]) -> None:
    """Applies objects, as `kubectl apply --server-side --force-conflicts` does.

    Raises:
        CommandFailed: the API server refused one, or did not answer.
    """
    for each in objects:
        metadata = each["metadata"]
        path = _applied_path(each["apiVersion"], each["kind"], metadata.get("namespace"), metadata["name"])
        how = {"fieldManager": "e2e", "force": "true", "fieldValidation": "Strict"}
        if _ask("PATCH", path, how, json.dumps(each)) is None:
            raise CommandFailed(("apply", path), "found no such namespace or kind", "")


def delete(namespace: str | None, kind: str, name: str | None = None, **query: str) -> None:
    """Deletes an object, or all of a kind in a namespace, if there are any; each goes once its finalizers let it.

    The query are options of the API, such as `gracePeriodSeconds`.

    Raises:
        CommandFailed: the API server refused, or did not answer.
    """
    _ask("DELETE", _path(namespace, kind, *(() if name is None else (name,))), query)


def containers(pod: Object) -> list[Object]:
    """The states of a pod's containers; none before its kubelet has looked at it."""
    return list(pod.get("status", {}).get("containerStatuses", ()))


def count_restarts(pod: Object) -> int:
    """How often containers of a pod were started again."""
    return sum(each["restartCount"] for each in containers(pod))


def is_ready(pod: Object) -> bool:
    """Whether a pod's containers are there, and each is ready."""
    return bool(containers(pod)) and all(each["ready"] for each in containers(pod))


def wait_complete(namespace: str, kind: str, name: str, *, within: float, explain: Callable[[], object]) -> None:
    """Waits until a Deployment or StatefulSet has as many pods as it should, each ready."""

    def is_complete() -> bool:
        workload = get(namespace, kind, name)
        status, wanted = workload.get("status", {}), workload["spec"]["replicas"]
        is_seen = status.get("observedGeneration") == workload["metadata"]["generation"]
        return bool(is_seen and status.get("replicas", 0) == status.get("readyReplicas", 0) == wanted)

    wait_until(is_complete, f"the pods of {name} are ready", within=within, explain=explain)


def _items(namespace: str | None, kind: str, labels: str, fields: str) -> Iterator[Object]:
    page = read(_path(namespace, kind), labelSelector=labels, fieldSelector=fields)
    if page is None:
        raise CommandFailed(("get", kind), "is no kind that the API server knows", "")
    for each in page["items"]:
        yield {"kind": page["kind"].removesuffix("List"), **each}  # which it leaves out of lists


def _path(namespace: str | None, kind: str, *name: str) -> str:
    return _path_in(_GROUPS[kind], namespace, kind, *name)


def _applied_path(version: str, kind: str, namespace: str | None, name: str) -> str:
    """Where an object is; its kind's plural as Kubernetes guesses it (`meta.UnsafeGuessKindToResource`)."""
    group = _CORE if version == "v1" else f"apis/{version}"
    plural = f"{kind.lower()[:-1]}ies" if kind.endswith("y") else f"{kind.lower()}s"
    return _path_in(group, namespace, plural, name)


def _path_in(group: str, namespace: str | None, kind: str, *name: str) -> str:
    where = () if namespace is None else ("namespaces", namespace)
    return "/".join(("", group, *where, kind, *name))


@cache
def _client(kubeconfig: str) -> ApiClient:
    made: ApiClient = new_client_from_config(kubeconfig)  # type: ignore[no-untyped-call]
    return made


def _ask(method: str, path: str, query: Mapping[str, str], body: str | None = None) -> Object | None:
    client = _client(os.environ["KUBECONFIG"])
    headers = {"Accept": "application/json"} | (
        {} if body is None else {"Content-Type": "application/apply-patch+yaml"}
    )
    request = client.param_serialize(method, path, query_params=list(query.items()), header_params=headers, body=body)
    try:
        response = client.call_api(*request, _request_timeout=SECONDS)
        status, answer = int(response.status), bytes(response.read())  # type: ignore[no-untyped-call]
    except (ApiException, HTTPError, OSError) as silent:
        raise CommandFailed((method, path), "was not answered", repr(silent)) from None
    if status == HTTPStatus.NOT_FOUND:
        return None
    if status not in {HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED}:
        raise CommandFailed((method, path), f"was answered with {status}", answer.decode(errors="replace"))
    found: Object = json.loads(answer)
    return found
