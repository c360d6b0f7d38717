"""`seawall purge [run] <walcluster>`: makes a run by hand, or with --dry-run says what one would do now.

The dry run is answered by the leading operator, as `seawall ledger` is, by the plan that its runs use, from a new look:
nothing is created. (A WALPurge with `dryRun: true` plans too, and stays as an object.)
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from seawall.api.meta import GROUP, VERSION
from seawall.api.v1alpha1.purge import WAL_PURGE, Stage
from seawall.cli.connection import add_connection, add_operator, add_topics, add_walcluster
from seawall.cli.follow import Api, follow, message_of
from seawall.cli.ledger import ask_operator
from seawall.cli.output import as_data, table
from seawall.cli.session import Session
from seawall.domain.errors import Refused
from seawall.domain.overview.activities import Progress
from seawall.domain.overview.words import as_bar, as_progress

COLUMNS = {
    "TOPIC": "name",
    "PURGE-TO": "purge_to",
    "ENTRIES": "entries_to_purge",
    "BYTES": "bytes_to_purge",
    "HELD BY": "held_by",
    "REASON": "reason",
}
"""Heading → field of the operator's answer."""


def add_arguments(parser: argparse.ArgumentParser, _: str = "") -> None:
    """The arguments of `seawall purge`; the word `run` may be left out."""
    parser.add_argument("run", nargs="?", choices=["run"], help="may be left out")
    add_walcluster(parser)
    add_connection(parser)
    add_topics(parser, "only these topics, a glob; may be repeated")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--dry-run", action="store_true", help="say what a run would do now, and make none")
    either.add_argument("--wait", action="store_true", help="say how the run goes, until it is over")
    parser.add_argument("-o", "--output", choices=("table", "json", "yaml"), help="of a dry run; default: table")
    add_operator(parser)


def answers(arguments: argparse.Namespace, session: Session) -> Iterator[str]:
    """What is printed, piece by piece: `purge`."""
    yield from purge(arguments, session.api, session.pause, Bar(session.show, session.now))


def purge(
    arguments: argparse.Namespace, api: Api, pause: Callable[[], None], bar: Callable[[Mapping[str, Any]], None]
) -> Iterator[str]:
    """What is printed, piece by piece; `pause` passes the time between two looks at the run, which `bar` is given.

    Raises:
        Refused: there is no such WALCluster or operator, the person may not, or the run failed or went away.
        OutsideUnavailable: the API server or the operator did not answer.
    """
    if arguments.dry_run:
        plan = ask_operator(api.get, arguments, "plan", [("topic", topic) for topic in arguments.topic])
        yield _describe(plan) if arguments.output in {None, "table"} else as_data(plan, arguments.output)
        return
    if arguments.output is not None:  # whoever wants a plan to read must not get a run that deletes
        raise Refused("-o is of a dry run: say --dry-run, or leave it out")
    name = f"{arguments.walcluster}-by-hand-{datetime.now(UTC):%Y%m%d%H%M%S}"
    runs = f"/apis/{GROUP}/{VERSION}/namespaces/{arguments.namespace}/{WAL_PURGE.plural}"
    spec = {"clusterRef": {"name": arguments.walcluster}, "topics": arguments.topic or ["*"]}
    kind = {"apiVersion": f"{GROUP}/{VERSION}", "kind": WAL_PURGE.kind}
    api.create(runs, {**kind, "metadata": {"name": name}, "spec": spec})
    yield f"walpurge/{name} created"
    if arguments.wait:
        yield from _follow(api, f"{runs}/{name}", pause, bar)


def _describe(plan: Mapping[str, Any]) -> str:
    topics, flushes = plan["topics"], plan["flushes"]
    purged = [line for line in topics if line["purge_to"] is not None]
    entries = sum(line["entries_to_purge"] for line in purged)
    sizes = [line["bytes_to_purge"] for line in purged]
    size = "an unknown number of" if None in sizes else f"about {sum(sizes)}"
    reported = f"{len(purged)} of {len(topics)} topics would be purged: {entries} entries, {size} bytes."
    if flushes:
        reported += f" {len(flushes)} regions would be asked to flush first, after which more may go."
    return f"{table(topics, COLUMNS)}\n\n{reported}"


@dataclass(slots=True)
class Bar:
    """A bar of a run while it deletes, with when it should be over, by its speed until now.

    Attributes:
        show: shows a line.
        now: the time.
    """

    show: Callable[[str], None]
    now: Callable[[], datetime]
    _began: tuple[datetime, int] | None = None

    def __call__(self, status: Mapping[str, Any]) -> None:
        """Shows how far a run is; nothing before it deletes."""
        total = status.get("frozen", {}).get("topics")
        if status.get("stage") != Stage.PURGE or not total:
            self.show("")
            return
        done, now = status.get("topics", {}).get("purged", 0), self.now()
        began, before = self._began = self._began or (now, done)
        left = None if done in {before, total} else (now - began) * ((total - done) / (done - before))
        progress = Progress(done, total, "topics", None if left is None else now + left)
        self.show(f"{as_bar(progress)} {as_progress(progress, now)}")


def _follow(api: Api, path: str, pause: Callable[[], None], bar: Callable[[Mapping[str, Any]], None]) -> Iterator[str]:
    status = yield from follow(api, path, "run", pause, lambda each: each.get("stage") in ENDS, watch=bar)
    if status["stage"] == Stage.FAILED:
        raise Refused(f"the run failed: {message_of(status)}")
    failed = status.get("topics", {}).get("failed", 0)
    if failed:
        raise Refused(f"{_completed(status)}; of {failed} topics nothing was deleted: status.refused says why")
    yield _completed(status)


ENDS = (Stage.FAILED, Stage.COMPLETED)


def _completed(status: Mapping[str, Any]) -> str:
    topics = status.get("topics", {})
    counts = ", ".join(f"{topics.get(name, 0)} {name}" for name in ("purged", "unchanged", "skipped", "failed"))
    return f"Completed: {topics.get('total', 0)} topics ({counts}), {status.get('entriesDeleted', 0)} entries deleted"
