"""The connection to the API server, and the translation of its errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from seawall.domain.errors import Conflict, OutsideUnavailable, Refused

REQUEST_SECONDS = 5.0
"""Deadline of one request: a frozen connection must not hold a tick, or the Lease, for longer."""

DEADLINE = (REQUEST_SECONDS, REQUEST_SECONDS)
"""Connect and read timeout, as the client wants them."""

_REFUSALS = (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY)


def connect(connections: int) -> client.ApiClient:
    """Connects as the pod's service account, or as `$KUBECONFIG` says outside of a cluster."""
    configuration = client.Configuration()
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        config.load_incluster_config(configuration)  # type: ignore[no-untyped-call]
    else:
        config.load_kube_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    configuration.retries = False
    configuration.connection_pool_maxsize = connections
    return client.ApiClient(configuration)


@contextmanager
def translated_errors(what: str) -> Iterator[None]:
    """Turns the client's errors into ours; `what` says what was being done.

    404 is not translated here: `absent_as_none` does that, and only reads may use it.
    """
    try:
        yield
    except ApiException as error:
        sentence = f"{what}: the API server answered {error.status} {error.reason}"
        if error.status == HTTPStatus.CONFLICT:
            raise Conflict(sentence) from error
        if error.status in _REFUSALS:
            raise Refused(f"{sentence}: {_message(error)}") from error
        raise OutsideUnavailable(sentence) from error
    except (HTTPError, OSError) as error:
        raise OutsideUnavailable(f"{what}: the API server did not answer ({type(error).__name__})") from error


def is_absent(error: ApiException) -> bool:
    """Whether the API server said 404: the only answer that means absence."""
    return bool(error.status == HTTPStatus.NOT_FOUND)


def _message(error: ApiException) -> str:
    return str(error.body or "").strip()[:1000]
