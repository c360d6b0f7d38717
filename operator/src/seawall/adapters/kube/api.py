"""JSON requests to the API server, and the translation of its errors.

The official client's generated classes are left out on purpose: importing `CoreV1Api` alone costs 78 MB, for the models
of every kind that Kubernetes has. Its `ApiClient` does what is hard: TLS, tokens and their renewal, connections.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from kubernetes import config
from kubernetes.client.api_client import ApiClient
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from seawall.adapters.clock import ServerDates
from seawall.adapters.http_body import pieces
from seawall.adapters.times import KUBE_REQUEST_SECONDS
from seawall.api.pages import PERSON_HEADER
from seawall.domain.errors import Conflict, Forbidden, OutsideUnavailable, Refused, Unauthenticated
from seawall.progress import request_ended

Body = Mapping[str, Any]
_PODS_BY_TLS = "/pods/https:"
"""In the path of a request that the API server passes on to a pod by TLS."""

_REFUSALS = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
)
_TOO_LARGE = ("etcdserver: request is too large", "trying to send message larger than max")
"""What etcd, or its client, says of an object that is too large; the API server passes it on with a 500."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a pod answered, by way of the API server, or the API server in its place.

    Attributes:
        status: of HTTP.
        content_type: of the body, as it says.
        body: the page.
    """

    status: int
    content_type: str
    body: bytes


class KubeApi:
    """A connection to the API server; safe to use from many threads.

    Connects as the pod's service account, or as `$KUBECONFIG` says outside of a cluster; where a kubeconfig, or a
    context, is named, as that says.

    Args:
        connections: how many requests may run at once.
        dates: where the Date of every answer goes; connections to one API server may share it.
        kubeconfig: the path of another one.
        context: of the kubeconfig; None: the current one.
        is_anonymous: whether it has no credentials of its own: `create_as` asks as somebody else.
        shows_token: whether pods that are asked by way of the API server, and by TLS, are shown the token of who asks.
        request_seconds: to connect, until an answer begins, and until it is all there: a deadline for each of these.
    """

    def __init__(
        self,
        connections: int,
        dates: ServerDates | None = None,
        *,
        kubeconfig: str | None = None,
        context: str | None = None,
        is_anonymous: bool = False,
        shows_token: bool = False,
        request_seconds: float = KUBE_REQUEST_SECONDS,
    ) -> None:
        self.dates = ServerDates() if dates is None else dates
        self._shows_token, self._timeout = shows_token, (request_seconds, request_seconds)  # to connect, and to read
        configuration = Configuration()
        if os.environ.get("KUBERNETES_SERVICE_HOST") and kubeconfig is None and context is None:
            config.load_incluster_config(configuration)  # type: ignore[no-untyped-call]
        else:
            # The client reads $KUBECONFIG when it is imported; this reads it now.
            config.load_kube_config(  # type: ignore[no-untyped-call]
                kubeconfig or os.environ.get("KUBECONFIG"), context, client_configuration=configuration
            )
        if is_anonymous:
            configuration = _without_credentials(configuration)
        configuration.retries, self.host = False, str(configuration.host)
        configuration.connection_pool_maxsize = connections
        self._client = ApiClient(configuration)

    def get(self, path: str) -> dict[str, Any] | None:
        """Reads an object; None when the API server says 404, and for no other answer."""
        status, answer = self._request("GET", path)
        what = f"reading {_shown(path)}"
        return None if status == HTTPStatus.NOT_FOUND else _checked(status, answer, what)

    def read_text(self, path: str) -> str | None:
        """Reads what is no JSON, as a log; None when the API server says 404, and for no other answer."""
        status, answer = self._request("GET", path, accept="*/*")
        what = f"reading {_shown(path)}"
        if status == HTTPStatus.NOT_FOUND:
            return None
        _require_success(status, answer, what)
        return answer.decode(errors="replace")

    def fetch(self, path: str) -> Fetched:
        """Reads a page of a pod as a browser does: whatever the answer is, it is the page.

        Raises:
            OutsideUnavailable: there is no answer.
        """
        status, answer, content_type = self._exchange("GET", path, accept="*/*")
        return Fetched(status, content_type, answer)

    def list(self, path: str, accept: str = "application/json") -> list[dict[str, Any]]:
        """Reads the items of a collection."""
        status, answer = self._request("GET", path, accept=accept)
        items: list[dict[str, Any]] = _checked(status, answer, f"listing {path}")["items"]
        return items

    def create(self, path: str, body: Body) -> dict[str, Any]:
        """Creates an object, and returns it as it is there. Conflict: it exists."""
        return _checked(*self._request("POST", path, body), f"creating in {_shown(path)}")

    def create_as(self, token: str, path: str, body: Body) -> tuple[int, dict[str, Any]]:
        """Creates an object as whoever has this token; only of a connection that is anonymous.

        Returns:
            The status, and the answer where it is JSON.

        Raises:
            OutsideUnavailable: there is no answer.
        """
        status, answer, _ = self._exchange("POST", path, body, headers={"Authorization": f"Bearer {token}"})
        try:
            found: dict[str, Any] = json.loads(answer)
        except ValueError:
            found = {}
        return status, found

    def try_create(self, path: str, body: Body, answers: Collection[HTTPStatus]) -> dict[str, Any]:
        """Creates an object where some refusals are answers: what was made, or the metav1.Status that says why not.

        An answer in `answers` that is no JSON is none, and raises as all other refusals do.
        """
        status, answer = self._request("POST", path, body)
        if status not in answers:
            return _checked(status, answer, f"creating in {_shown(path)}")
        try:
            found: dict[str, Any] = json.loads(answer)
        except ValueError:
            return _checked(status, answer, f"creating in {_shown(path)}")
        return found

    def replace(self, path: str, body: Body) -> None:
        """Replaces an object, or its status. Conflict: it is not at the resource version in the body, or gone."""
        self._change("PUT", path, body, "application/json")

    def merge(self, path: str, body: Body) -> None:
        """Merges a patch into an object. Conflict: it is not at the resource version in the patch, or gone."""
        self._change("PATCH", path, body, "application/merge-patch+json")

    def merge_by_key(self, path: str, body: Body) -> None:
        """The same for an object of Kubernetes' own kinds: what lists have under other keys stays."""
        self._change("PATCH", path, body, "application/strategic-merge-patch+json")

    def delete(self, path: str, uid: str | None, resource_version: str | None = None) -> None:
        """Deletes an object; one that is gone is no error. Conflict: it is another, or not at this version."""
        expected = {"uid": uid, "resourceVersion": resource_version}
        preconditions = {name: value for name, value in expected.items() if value is not None}
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": preconditions,
            "propagationPolicy": "Background",
        }
        status, answer = self._request("DELETE", path, body)
        if status != HTTPStatus.NOT_FOUND:
            _checked(status, answer, f"deleting {path}")

    def _change(self, method: str, path: str, body: Body, content_type: str) -> None:
        status, answer = self._request(method, path, body, content_type)
        if status == HTTPStatus.NOT_FOUND:
            raise Conflict(f"{_shown(path)} is gone")
        _checked(status, answer, f"writing {_shown(path)}")

    def _request(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> tuple[int, bytes]:
        return self._exchange(method, path, body, content_type, accept)[:2]

    def _exchange(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        *,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes, str]:
        """Status, body and content type of an answer."""
        asked = _shown(path)
        try:  # the token is read anew now and then: of a file that the kubelet replaces, or by a program
            shown = {"Accept": accept, "Content-Type": content_type, **(headers or {}), **self.shown_to_pods(path)}
            request = self._client.param_serialize(
                method, path, header_params=shown, body=body, auth_settings=["BearerToken"]
            )
        except (config.ConfigException, OSError) as error:
            raise Unauthenticated(f"{method} {asked}: no credentials ({type(error).__name__})") from error
        begun = self.dates.begin()
        try:
            response = self._client.call_api(*request, _request_timeout=self._timeout)
            self.dates.hear(begun, response.headers.get("Date"))
            answer = b"".join(pieces(response.response, time.monotonic() + self._timeout[1]))
        except (ApiException, HTTPError, OSError) as error:
            # The client wraps a failed TLS handshake, and nothing else, into an ApiException of status 0.
            raise OutsideUnavailable(f"{method} {asked}: no answer ({type(error).__name__})") from error
        finally:
            request_ended()
        return int(response.status), answer, response.headers.get("Content-Type", "")

    def shown_to_pods(self, path: str) -> Mapping[str, str]:
        """The token of who asks, where it goes by TLS to the pod: on the pods' network others may listen."""
        if not self._shows_token or _PODS_BY_TLS not in path:
            return {}
        found = self._client.configuration.auth_settings().get("BearerToken")
        return {} if found is None else {PERSON_HEADER: found["value"]}


def _shown(path: str) -> str:
    """A path as sentences have it: a query may have the key to the operator's pages."""
    return path.partition("?")[0]


def _without_credentials(known: Configuration) -> Configuration:
    """The same API server, and nothing that says who asks: a client certificate would win over a token."""
    configuration = Configuration()
    for name in ("host", "verify_ssl", "ssl_ca_cert", "tls_server_name", "proxy", "no_proxy"):
        setattr(configuration, name, getattr(known, name))
    return configuration


def _checked(status: int, answer: bytes, what: str) -> dict[str, Any]:
    """The answer's JSON; raises as `_require_success` does, and OutsideUnavailable where it is none."""
    _require_success(status, answer, what)
    try:
        found: dict[str, Any] = json.loads(answer)
    except ValueError as error:
        raise OutsideUnavailable(f"{what}: the answer is no JSON") from error
    return found


def _require_success(status: int, answer: bytes, what: str) -> None:
    """Translates what is none.

    Raises:
        Conflict: 409.
        Forbidden: 403.
        Unauthenticated: 401.
        Refused: an answer that the same request will get again; the message is the API server's.
        OutsideUnavailable: any other error.
    """
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return
    sentence = f"{what}: {status} {_message(answer)}"
    if status == HTTPStatus.CONFLICT:
        raise Conflict(sentence)
    if status == HTTPStatus.FORBIDDEN:
        raise Forbidden(sentence)
    if status == HTTPStatus.UNAUTHORIZED:
        raise Unauthenticated(f"the credentials were refused: {sentence}")
    if status in _REFUSALS or any(words in sentence for words in _TOO_LARGE):
        raise Refused(sentence)
    raise OutsideUnavailable(sentence)


def _message(answer: bytes) -> str:
    """The sentence in a metav1.Status, or the start of whatever came instead."""
    try:
        return str(json.loads(answer)["message"])
    except (ValueError, KeyError, TypeError):
        return answer[:200].decode(errors="replace")
