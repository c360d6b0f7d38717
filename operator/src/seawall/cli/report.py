"""`seawall report <walcluster>`: one archive for a bug report, of all that the person may read, without secrets.

In it: versions, the page of `seawall status`, all objects of Seawall in the namespace with their conditions, their
events, the ledger, metrics and log of the operator that leads. What may not be read, or did not answer, is said in
`not-read.txt`.
"""

from __future__ import annotations

import argparse
import io
import tarfile
from collections.abc import Callable, Iterator
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from seawall.adapters.kube.objects import KubeAdapter
from seawall.api.meta import GROUP, PAGE_KEY_ANNOTATION, VERSION, VERSION_ANNOTATION
from seawall.api.v1alpha1.kinds import KINDS
from seawall.cli.connection import add_connection, add_operator, add_walcluster
from seawall.cli.ledger import ask_operator, pages_path, read_lease
from seawall.cli.output import as_data
from seawall.cli.redaction import clean_object, clean_text
from seawall.cli.session import Session
from seawall.cli.status import read_page
from seawall.cli.status_text import describe
from seawall.domain.errors import Refused, SeawallError

LOG_LINES = 10_000
README = """A report of `seawall report`. Look through it before you give it away: names of topics, regions, brokers and
hosts are in it. Secrets, keys, and long words that may be data were replaced by <removed>.
"""


class Api(Protocol):
    """What is needed of the API server."""

    def get(self, path: str) -> dict[str, Any] | None:
        """Reads a path; None when there is nothing."""
        ...

    def read_text(self, path: str) -> str | None:
        """The same, of what is no JSON."""
        ...


def add_arguments(parser: argparse.ArgumentParser, _: str = "") -> None:
    """The arguments of `seawall report`."""
    add_walcluster(parser)
    add_connection(parser)
    parser.add_argument("-f", "--file", type=Path, help="the archive to write; default: seawall-report-<time>.tar.gz")
    add_operator(parser)


def answers(arguments: argparse.Namespace, session: Session) -> Iterator[str]:
    """What is printed: what is in the archive, and where it is.

    Raises:
        Refused: the archive cannot be written.
    """
    now, api = session.now(), session.api
    page = lambda: describe(read_page(arguments, KubeAdapter(api, ()), api.get, now))  # noqa: E731 - read when asked
    files = collect(arguments, api, page)
    path = arguments.file or Path(f"seawall-report-{now:%Y%m%d%H%M%S}.tar.gz")
    try:
        write(path, files, now)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}") from error
    yield from (f"  {name}" for name in files)
    yield f"{path} written: look through it before you give it away"


def collect(arguments: argparse.Namespace, api: Api, page: Callable[[], str]) -> dict[str, str]:
    """By name the texts of the archive, without secrets."""
    missing: list[str] = []
    texts: dict[str, str] = {"README.txt": README}

    def add(name: str, read: Callable[[], str | None]) -> None:
        try:
            found = read()
        except SeawallError as error:
            missing.append(f"{name}: {error}")
            return
        if found is None:
            missing.append(f"{name}: there is none")
        else:
            texts[name] = found

    lease = _lease(api, arguments.operator)
    annotations = lease.get("metadata", {}).get("annotations") or {}
    texts["versions.txt"] = (
        f"seawall {version('seawall')}\noperator {annotations.get(VERSION_ANNOTATION, 'not known')}\n"
    )
    add("kubernetes.yaml", lambda: _yaml(api.get("/version")))
    add("status.txt", page)
    for kind in KINDS:
        where = f"/apis/{GROUP}/{VERSION}/namespaces/{arguments.namespace}/{kind.plural}"
        add(f"objects/{kind.plural}.yaml", lambda where=where: _yaml(api.get(where)))  # type: ignore[misc]
    add("events.yaml", lambda: _yaml(_events(api, arguments.namespace)))
    add("ledger.yaml", lambda: _yaml(dict(ask_operator(api.get, arguments, "ledger"))))
    leader = (lease.get("spec") or {}).get("holderIdentity")
    if leader:
        pod = f"/api/v1/namespaces/{arguments.operator.rpartition('/')[0]}/pods/{leader}"
        add("operator/metrics.txt", lambda: api.read_text(pages_path(arguments.operator, lease, "metrics")))
        add("operator/log.txt", lambda: api.read_text(f"{pod}/log?tailLines={LOG_LINES}"))
    else:
        missing.append(f"operator: nobody leads by the Lease {arguments.operator}, or you may not read it")
    texts["not-read.txt"] = "\n".join([*missing, ""])
    known = (annotations.get(PAGE_KEY_ANNOTATION, ""),)
    return {name: clean_text(text, known) for name, text in texts.items()}


def _lease(api: Api, operator: str) -> dict[str, Any]:
    try:
        return dict(read_lease(api.get, operator) or {})
    except SeawallError:
        return {}


def _events(api: Api, namespace: str) -> dict[str, Any] | None:
    """Those of our kinds."""
    found = api.get(f"/api/v1/namespaces/{namespace}/events")
    if found is None:
        return None
    items = found.get("items", ())
    return {"items": [each for each in items if each["involvedObject"].get("apiVersion", "").startswith(f"{GROUP}/")]}


def _yaml(found: dict[str, Any] | None) -> str | None:
    return None if found is None else f"{as_data(clean_object(found), 'yaml')}\n"


def write(path: Path, files: dict[str, str], now: datetime) -> None:
    """Writes the archive, readable by its owner only; raises OSError."""
    path.touch(mode=0o600, exist_ok=False)
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            data = text.encode()
            entry = tarfile.TarInfo(f"{path.name.partition('.')[0]}/{name}")
            entry.size, entry.mtime, entry.mode = len(data), int(now.timestamp()), 0o600
            archive.addfile(entry, io.BytesIO(data))
