"""`seawall hold create|list|renew|release`: claims on records, as a person or a script places them.

seawall hold create audit --cluster wal --topic wal_0=1500 --ttl 2h --reason "to be read on Monday"
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from seawall.adapters.kube.objects import path_of
from seawall.api.duration import parse_duration
from seawall.api.meta import GROUP, VERSION, Key
from seawall.api.v1alpha1.hold import ALL_TOPICS, EARLIEST, WAL_HOLD, HoldState
from seawall.cli.connection import add_connection
from seawall.cli.follow import ChangingApi, Status, follow, message_of
from seawall.cli.listing import ObjectList
from seawall.cli.session import Session
from seawall.domain.errors import Refused
from seawall.domain.text import written
from seawall.domain.times import CLI_POLL_SECONDS

COLUMNS = {
    "NAME": "name",
    "CLUSTER": "cluster",
    "STATE": "state",
    "TOPICS": "topics",
    "EXPIRES": "expires",
    "LAG BYTES": "lag",
    "REASON": "reason",
}
"""Heading → field of a row."""
WIDE = {"TTL": "ttl", "RENEWED": "renewed", "MESSAGE": "message"}


def add_arguments(parser: argparse.ArgumentParser, _: str = "") -> None:
    """The arguments of `seawall hold`."""
    verbs = parser.add_subparsers(dest="verb", required=True)
    create = verbs.add_parser("create", help="place a hold, and wait until it is granted")
    listed = verbs.add_parser("list", help="the holds of a namespace")
    renew = verbs.add_parser("renew", help="say that the holder is alive: set spec.renewTime to now")
    release = verbs.add_parser("release", help="let it go, and keep the object to be read")
    for verb in (create, renew, release):
        verb.add_argument("walhold", help="name of the WALHold")
    for verb in (create, renew, release):
        add_connection(verb)
    HOLDS.add_arguments(listed)
    create.add_argument("--cluster", required=True, help="name of the WALCluster")
    what = create.add_mutually_exclusive_group(required=True)
    what.add_argument("-t", "--topic", action="append", metavar="TOPIC=OFFSET", help="the first offset that is needed")
    what.add_argument("--all", action="store_true", help="all topics: nothing is deleted")
    create.add_argument("--ttl", default="24h", help="when it expires unless it is renewed; default: 24h")
    create.add_argument("--max-lag-bytes", help="beyond this it is given up, as in 10Gi; default: never")
    create.add_argument("--max-lag-age", help="of the oldest record, beyond which it is given up; default: never")
    create.add_argument("--reason", default="", help="who needs it and why")
    create.add_argument("--timeout", default="60s", help="how long to wait until it is granted; 0s: not at all")


def answers(arguments: argparse.Namespace, session: Session) -> Iterator[str]:
    """What is printed, piece by piece: `hold`."""
    yield from hold(arguments, session.api, session.pause)


def hold(arguments: argparse.Namespace, api: ChangingApi, pause: Callable[[], None]) -> Iterator[str]:
    """What is printed, piece by piece; `pause` passes the time between two looks at the hold.

    Raises:
        Refused: there is no such hold, it is over, it was not granted, or the person may not.
        Conflict: it exists, or changed meanwhile.
        OutsideUnavailable: the API server did not answer: it may be done or not.
    """
    where = f"/apis/{GROUP}/{VERSION}/namespaces/{arguments.namespace}/{WAL_HOLD.plural}"
    match arguments.verb:
        case "create":
            yield from _create(arguments, api, where, pause)
        case "list":
            yield from HOLDS.show(arguments, api.get, pause)
        case "renew":
            now = written(datetime.now(UTC))
            _change(arguments, api, {"renewTime": now}, _why_not_renewed)
            yield f"walhold/{arguments.walhold} renewed at {now}"
        case _:
            _change(arguments, api, {"release": True}, lambda _: None)
            yield f"walhold/{arguments.walhold} released"


def _create(arguments: argparse.Namespace, api: ChangingApi, where: str, pause: Callable[[], None]) -> Iterator[str]:
    given = {"maxLagBytes": arguments.max_lag_bytes, "maxLagAge": arguments.max_lag_age}
    timeout = _seconds(arguments.timeout)
    spec: dict[str, Any] = {
        "clusterRef": {"name": arguments.cluster},
        "topics": {ALL_TOPICS: EARLIEST} if arguments.all else _topics(arguments.topic),
        "ttl": arguments.ttl,
        "reason": arguments.reason,
        **{name: value for name, value in given.items() if value is not None},
    }
    kind = {"apiVersion": f"{GROUP}/{VERSION}", "kind": WAL_HOLD.kind}
    api.create(where, {**kind, "metadata": {"name": arguments.walhold}, "spec": spec})
    yield f"walhold/{arguments.walhold} created"
    if not timeout:
        return
    path = f"{where}/{arguments.walhold}"
    status = yield from follow(api, path, "hold", _at_most(pause, timeout), _is_answered)
    if status["state"] in {HoldState.LOST, HoldState.RELEASED}:
        raise Refused(f"the hold is {status['state']}: {message_of(status)}")
    yield f"{status['state']}: {message_of(status)}"


def _seconds(text: str) -> float:
    try:
        return parse_duration(text).total_seconds()
    except ValueError as error:
        raise Refused(f"--timeout: {error}") from error


def _at_most(pause: Callable[[], None], seconds: float) -> Callable[[], None]:
    """A pause that ends the wait after so many seconds."""
    left = [seconds]

    def next_pause() -> None:
        if left[0] <= 0:
            message = "it counts already, and records may be gone all the same until it is granted"
            raise Refused(f"it was not granted within {seconds:.0f} s: {message}")
        left[0] -= CLI_POLL_SECONDS
        pause()

    return next_pause


def _topics(texts: Sequence[str]) -> dict[str, int]:
    """By name from where on each is held. Of two offsets of one topic the greater would lose what the lesser keeps."""
    found: dict[str, int] = {}
    for name, offset in map(_topic, texts):
        if name in found:
            raise Refused(f"{name} is named twice: say one offset of each topic")
        found[name] = offset
    return found


def _topic(text: str) -> tuple[str, int]:
    name, _, offset = text.rpartition("=")
    if not name or not offset.isascii() or not offset.isdigit():
        raise Refused(f"{text!r} is no TOPIC=OFFSET, such as wal_0=1500")
    return name, int(offset)


def _is_answered(status: Status) -> bool:
    return status.get("state") not in {None, HoldState.REQUESTED}


def _why_not_renewed(found: Mapping[str, Any]) -> str | None:
    """Why the operator counts no renewal of it any more; None: it does."""
    if found["metadata"].get("deletionTimestamp"):
        return "the hold is being deleted and cannot be renewed: place another one"
    return "the hold is released and cannot be renewed: place another one" if found["spec"].get("release") else None


def _change(
    arguments: argparse.Namespace,
    api: ChangingApi,
    spec: Mapping[str, Any],
    obstacle: Callable[[Mapping[str, Any]], str | None],
) -> None:
    """Edits the spec, at the version that was read."""
    path = path_of(WAL_HOLD, Key(arguments.namespace, arguments.walhold))
    found = api.get(path)
    if found is None:
        raise Refused(f"there is no WALHold {arguments.namespace}/{arguments.walhold}")
    state = found.get("status", {}).get("state")
    if state in {HoldState.LOST, HoldState.RELEASED}:
        raise Refused(f"the hold is {state}, which is final: place another one")
    problem = obstacle(found)
    if problem is not None:
        raise Refused(problem)
    api.merge(path, {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}, "spec": spec})


def _row(found: Mapping[str, Any]) -> dict[str, Any]:
    spec, status = found["spec"], found.get("status", {})
    return {
        "name": found["metadata"]["name"],
        "cluster": spec["clusterRef"]["name"],
        "state": status.get("state"),
        "topics": status.get("topics"),
        "expires": status.get("expireTime"),
        "lag": status.get("lagBytes"),
        "reason": spec.get("reason") or None,
        "ttl": spec.get("ttl"),
        "renewed": spec.get("renewTime"),
        "message": message_of(status) or None,
    }


HOLDS = ObjectList(WAL_HOLD, _row, COLUMNS, WIDE, lambda line: str(line["name"]))
