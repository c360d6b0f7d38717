"""Which API server, and which namespace: the flags of kubectl, and its defaults."""

from __future__ import annotations

import argparse
import os

from kubernetes import config
from kubernetes.config.config_exception import ConfigException

from seawall.adapters.kube.api import KubeApi
from seawall.domain.errors import Refused

DEFAULT_OPERATOR = "seawall/seawall"


def add_connection(parser: argparse.ArgumentParser) -> None:
    """The flags that every command has which asks the API server."""
    parser.add_argument("-n", "--namespace", help="default: that of the context")
    parser.add_argument("--context", help="of the kubeconfig; default: the current one")
    parser.add_argument("--kubeconfig", help="path of a kubeconfig; default: $KUBECONFIG, or ~/.kube/config")


def add_operator(parser: argparse.ArgumentParser) -> None:
    """The flag of those that ask the operator, too."""
    parser.add_argument("--operator", default=DEFAULT_OPERATOR, help="namespace/name of the operator's Lease")


def connect(arguments: argparse.Namespace) -> KubeApi:
    """A connection as the flags say; a namespace that they leave out is filled in.

    Raises:
        Refused: there is no such kubeconfig or context, or it makes no sense.
    """
    try:
        if arguments.namespace is None:
            arguments.namespace = _namespace(arguments.kubeconfig, arguments.context)
        return KubeApi(connections=1, kubeconfig=arguments.kubeconfig, context=arguments.context)
    except (ConfigException, OSError) as error:
        raise Refused(f"the kubeconfig cannot be used: {error}") from error


def _namespace(kubeconfig: str | None, context: str | None) -> str:
    if os.environ.get("KUBERNETES_SERVICE_HOST") and kubeconfig is None:
        return "default"
    path = kubeconfig or os.environ.get("KUBECONFIG")
    contexts, active = config.list_kube_config_contexts(path)  # type: ignore[no-untyped-call]
    chosen = active if context is None else next((each for each in contexts if each["name"] == context), None)
    return str((chosen or {}).get("context", {}).get("namespace") or "default")
