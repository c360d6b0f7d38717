"""`seawall readopt|dead-regions|restart|… <walcluster>`: shows what stands and what it allows, asks, and writes it.

Only what was shown is answered for: the object is read again after the answer, and when its conditions are other ones
nothing is written, unless it is what only holds Seawall back.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol

from seawall.adapters.kube.objects import path_of
from seawall.api.meta import PAUSED_ANNOTATION, Key
from seawall.api.v1alpha1.cluster import WAL_CLUSTER
from seawall.cli.annotation_verbs import VERBS, Verb, require_none_dropped, value_of
from seawall.cli.connection import add_connection, add_operator, add_walcluster, whereabouts
from seawall.cli.follow import ChangingApi, condition_of
from seawall.cli.ledger import Get, ask_operator
from seawall.cli.output import table
from seawall.cli.session import Session
from seawall.domain.errors import Conflict, OutsideUnavailable, Refused

TRIES = 5
"""The status changes all the time, and each change makes another version of the object."""
MOST_LINES = 20
COLUMNS = {
    "TOPIC": "name",
    "START": "log_start",
    "END": "high_watermark",
    "BYTES": "size_bytes",
    "HELD BY": "held_by",
    "REASON": "reason",
}
"""Heading → field of the operator's answer."""
_NOTHING = "nothing was changed"

Ask = Callable[[str], str]
"""Puts a question to the person; EOFError: there is none."""


class NamedApi(ChangingApi, Protocol):
    """The API server, and which one it is."""

    host: str


def add_arguments(parser: argparse.ArgumentParser, command: str) -> None:
    """The arguments of one verb."""
    verb = VERBS[command]
    parser.description = verb.allows
    add_walcluster(parser)
    if verb.takes is not None:
        parser.add_argument("named", nargs="*", metavar=verb.takes[0], help=f"one {verb.takes[0]}, or several")
    if verb.approves is None and verb.annotation != PAUSED_ANNOTATION:
        parser.add_argument("--reason", help="why, for whoever reads it later")
    if not verb.removes:
        parser.add_argument("--undo", action="store_true", help="take it away")
    if verb.has_expiry:
        parser.add_argument("--for", dest="period", default="1h", help="how long it counts, at most 24h; default: 1h")
    parser.add_argument("--dry-run", action="store_true", help="show what it would do, and write nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_connection(parser)
    add_operator(parser)


def answers(arguments: argparse.Namespace, session: Session) -> Iterator[str]:
    """What is printed: `annotate`."""
    yield from annotate(arguments, session.api, session.ask, session.now())


def annotate(arguments: argparse.Namespace, api: NamedApi, ask: Ask, now: datetime) -> Iterator[str]:
    """What is printed, piece by piece; first where it is, as a person may have several clusters.

    Raises:
        Refused: there is no such WALCluster, something was mistyped, or the person may not or does not want to.
        Conflict: the WALCluster changed meanwhile.
        OutsideUnavailable: the API server did not answer: it may be written or not.
    """
    verb = VERBS[arguments.command]
    value = value_of(verb, arguments, now)
    path = path_of(WAL_CLUSTER, Key(arguments.namespace, arguments.walcluster))
    found = _read(api, path, arguments)
    _require_planned(found, verb, value)
    require_none_dropped(verb, _said(found, verb), value)
    yield whereabouts(arguments, api.host)
    yield from _shown(found, verb)
    if value is not None:
        yield from _topics(api.get, arguments, verb)
    yield _sentence(verb, value)
    if arguments.dry_run:
        yield f"Dry run: {_NOTHING}."
        return
    if not arguments.yes:
        _require_yes(ask)
    _write(api, path, arguments, found, value)
    yield f"walcluster/{arguments.walcluster} annotated"


def _read(api: ChangingApi, path: str, arguments: argparse.Namespace) -> dict[str, Any]:
    found = api.get(path)
    if found is None:
        raise Refused(f"there is no WALCluster {arguments.namespace}/{arguments.walcluster}")
    return found


def _require_planned(found: Mapping[str, Any], verb: Verb, digest: str | None) -> None:
    if verb.approves is None or digest is None:
        return
    what, (part, name) = verb.approves
    planned = found.get("status", {}).get(part, {}).get(name)
    if planned != digest:
        said = f"no {what} is planned" if planned is None else f"the planned {what} has digest {planned}"
        raise Refused(f"{said}: read it again with `{'seawall plan' if what == 'reassignment' else 'seawall status'}`")


def _shown(found: Mapping[str, Any], verb: Verb) -> Iterator[str]:
    for kind in verb.shows:
        condition = condition_of(found.get("status", {}), kind)
        if condition:
            yield f"{kind} is {condition['status']} ({condition['reason']}): {condition['message']}"
        else:
            yield f"{kind} is not known"
    said = _said(found, verb)
    if said is not None:
        yield f"{verb.annotation} is set: {said}"


def _said(found: Mapping[str, Any], verb: Verb) -> str | None:
    """What the annotation says now."""
    said: str | None = (found["metadata"].get("annotations") or {}).get(verb.annotation)
    return said


def _topics(get: Get, arguments: argparse.Namespace, verb: Verb) -> Iterator[str]:
    """The topics that it is about, as the operator's ledger has them; who may not ask it is told so."""
    if verb.concerns is None:
        return
    named = tuple(getattr(arguments, "named", ()))
    try:
        page = ask_operator(get, arguments, "ledger")
    except (Refused, OutsideUnavailable) as error:
        yield f"Which topics it is about is not known: {error}"
        return
    lines = [line for line in page["topics"] if verb.concerns(line, named)]
    if not lines:
        yield "By the operator's ledger it is about no topic now."
        return
    more = f"\nand {len(lines) - MOST_LINES} more" if len(lines) > MOST_LINES else ""
    yield f"{table(lines[:MOST_LINES], COLUMNS)}{more}"


def _sentence(verb: Verb, value: str | None) -> str:
    if value is None:
        return f"It takes {verb.annotation} away{verb.lapses}."
    return f"It sets {verb.annotation}: {value}\n{verb.allows}"


def _require_yes(ask: Ask) -> None:
    try:
        answer = ask("Go on? [y/N] ")
    except EOFError:
        raise Refused(f"nobody answers here, say --yes: {_NOTHING}") from None
    if answer.strip().lower() not in {"y", "yes"}:
        raise Refused(_NOTHING)


def _write(
    api: ChangingApi, path: str, arguments: argparse.Namespace, shown: Mapping[str, Any], value: str | None
) -> None:
    """Writes it if the object is as it was shown; its version may be another one."""
    verb = VERBS[arguments.command]
    for attempt in range(TRIES):
        found = _read(api, path, arguments)
        is_as_shown = [*_shown(found, verb)] == [*_shown(shown, verb)] or (verb.restrains and value is not None)
        if found["metadata"]["uid"] != shown["metadata"]["uid"] or not is_as_shown:
            raise Conflict(f"WALCluster {arguments.walcluster} is not as it was shown any more: {_NOTHING}, look again")
        _require_planned(found, verb, value)
        version = found["metadata"]["resourceVersion"]
        try:
            api.merge(path, {"metadata": {"resourceVersion": version, "annotations": {verb.annotation: value}}})
        except Conflict:
            if attempt == TRIES - 1:
                raise
        else:
            return
