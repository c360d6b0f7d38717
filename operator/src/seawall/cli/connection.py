"""Which API server, and which namespace: the flags of kubectl, and its defaults."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import Any

from kubernetes import config
from kubernetes.config.config_exception import ConfigException
from yaml import YAMLError

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.times import KUBE_PERSON_SECONDS
from seawall.domain.errors import Refused

DEFAULT_OPERATOR = "seawall/seawall"
DEFAULT_KUBECONFIG = "~/.kube/config"
DEFAULT_NAMESPACE = "default"
NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""Where the kubelet says which namespace a pod is in."""

_GLOB = re.compile(r"[a-zA-Z0-9._*?-]{1,249}")
_OPERATOR = re.compile(r"[a-z0-9.-]+/[a-z0-9.-]+")


def add_connection(parser: argparse.ArgumentParser) -> None:
    """The flags that every command has which asks the API server."""
    parser.add_argument("-n", "--namespace", help="default: that of the context, or of the pod")
    parser.add_argument("--context", help="of the kubeconfig; default: the current one")
    parser.add_argument("--kubeconfig", help="path of a kubeconfig; default: $KUBECONFIG, or ~/.kube/config")


def add_operator(parser: argparse.ArgumentParser) -> None:
    """The flag of those that ask the operator, too."""
    parser.add_argument(
        "--operator", default=DEFAULT_OPERATOR, type=_operator, help="namespace/name of the operator's Lease"
    )


def add_walcluster(parser: argparse.ArgumentParser, *, may_be_all: bool = False) -> None:
    """The WALCluster that it is about."""
    text = "name of the WALCluster"
    if may_be_all:
        parser.add_argument("walcluster", nargs="?", help=f"{text}; without: all, a line for each")
    else:
        parser.add_argument("walcluster", help=text)


def add_topics(parser: argparse.ArgumentParser, text: str) -> None:
    """The flag of those that can be about some topics only: the same globs that a WALPurge takes."""
    parser.add_argument("-t", "--topic", action="append", default=[], type=_glob, help=text)


def _glob(text: str) -> str:
    if not _GLOB.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no topic, nor a glob of * and ?")
    return text


def _operator(text: str) -> str:
    if not _OPERATOR.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no namespace/name of a Lease, such as {DEFAULT_OPERATOR}")
    return text


def connect(arguments: argparse.Namespace) -> KubeApi:
    """A connection as the flags say; the kubeconfig and the namespace that they leave out are filled in.

    Raises:
        Refused: there is no such kubeconfig or context, or it makes no sense.
    """
    arguments.kubeconfig = _kubeconfig(arguments.kubeconfig, arguments.context)
    try:
        if arguments.namespace is None:
            arguments.namespace = _namespace(arguments.kubeconfig, arguments.context)
        return KubeApi(
            connections=1,
            kubeconfig=arguments.kubeconfig,
            context=arguments.context,
            shows_token=True,
            request_seconds=KUBE_PERSON_SECONDS,
        )
    except (ConfigException, OSError, YAMLError) as error:
        raise Refused(f"the kubeconfig cannot be used: {error}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # the client takes its form for granted
        raise Refused(f"the kubeconfig cannot be used: it has not the form of one ({error})") from error


def whereabouts(arguments: argparse.Namespace, host: str) -> str:
    """Which WALCluster it is about, once connected: of that name there may be one in each cluster."""
    context = _context(arguments.kubeconfig, arguments.context)
    by = "" if context is None else f" (context {context['name']})"
    return f"WALCluster {arguments.namespace}/{arguments.walcluster} at {host}{by}"


def _kubeconfig(named: str | None, context: str | None) -> str | None:
    """As for kubectl, in a pod too; None: there is none, and who is in a pod is the pod's account."""
    if named or (named := os.environ.get("KUBECONFIG")):
        return named
    try:
        path = Path(DEFAULT_KUBECONFIG).expanduser()
    except RuntimeError:  # a user without a home
        return None
    is_needed = context is not None or not os.environ.get("KUBERNETES_SERVICE_HOST")
    return str(path) if is_needed or path.is_file() else None


def _namespace(kubeconfig: str | None, context: str | None) -> str:
    if kubeconfig is None:
        return _namespace_of_pod()
    return str((_context(kubeconfig, context) or {}).get("context", {}).get("namespace") or DEFAULT_NAMESPACE)


def _context(kubeconfig: str | None, context: str | None) -> dict[str, Any] | None:
    """The one that is named, or the current one; None: who is in a pod needs none."""
    if kubeconfig is None:
        return None
    contexts, active = config.list_kube_config_contexts(kubeconfig)  # type: ignore[no-untyped-call]
    found: dict[str, Any] | None = (
        active if context is None else next((each for each in contexts if each["name"] == context), None)
    )
    return found


def _namespace_of_pod() -> str:
    """As kubectl has it in a pod: what a job beside a database does is about the namespace of both."""
    if named := os.environ.get("POD_NAMESPACE"):
        return named
    try:
        return NAMESPACE_FILE.read_text(encoding="utf-8").strip() or DEFAULT_NAMESPACE
    except OSError:
        return DEFAULT_NAMESPACE
