"""GreptimeDB's HTTP interfaces: the ports DataPlane and MaintenanceSwitch (facts/greptimedb.md §5.3, §5.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from urllib.parse import urlencode

from pydantic import ValidationError

from seawall.adapters.dataplane.greptimedb_answers import NODES, read_nodes, read_sql, read_switch
from seawall.adapters.dataplane.greptimedb_heartbeats import read_heartbeats
from seawall.adapters.dataplane.http import Answer, Http, Part
from seawall.adapters.times import FLUSH_SECONDS, HTTP_ANSWER_SECONDS
from seawall.domain.dataplane.connection import NotReached, PartRefused, PartUnavailable
from seawall.domain.dataplane.flush import FlushFailure
from seawall.domain.dataplane.identity import Node
from seawall.domain.dataplane.reports import DatanodeReport, newest_reports

METASRV = Part("the metasrv", "dataPlane.greptimedb.metasrv", NotReached.METASRV_UNREACHABLE)
FRONTEND = Part("the frontend", "dataPlane.greptimedb.frontend", NotReached.FRONTEND_UNREACHABLE)
SWITCH = Part("the metasrv", "its address", NotReached.METASRV_UNREACHABLE)
"""Its address may be one of before: it is not the spec that is to be corrected."""
FLUSHES = 10
"""Flushes that are asked for at once."""

_SERVER_ERROR = 500
T = TypeVar("T")


class GreptimeDB:
    """One GreptimeDB cluster, by the URLs of its metasrv and its frontend.

    Any metasrv of several may answer: those that do not lead ask their leader.
    """

    def __init__(self, metasrv: str, frontend: str, *, flush_seconds: float = FLUSH_SECONDS) -> None:
        self._metasrv, self._frontend = metasrv.rstrip("/"), frontend.rstrip("/")
        self._admin, self._sql = Http(METASRV), Http(FRONTEND, connections=FLUSHES)
        self._flush_seconds = flush_seconds

    def reports(self) -> Sequence[DatanodeReport]:
        """The newest report of every datanode: the metasrv keeps the last few of each, the newest last."""
        answer = self._admin.get(f"{self._metasrv}/admin/heartbeat")
        return newest_reports(_read(METASRV, answer, read_heartbeats))

    def nodes(self) -> Sequence[Node]:
        """Asks by SQL."""
        return _read(FRONTEND, self._execute(NODES, HTTP_ANSWER_SECONDS), read_nodes)

    def flush_regions(self, region_ids: Sequence[int]) -> Mapping[int, FlushFailure]:
        """Asks for flushes by SQL, a few at a time."""
        with ThreadPoolExecutor(FLUSHES, thread_name_prefix="flush") as pool:
            failures = zip(region_ids, pool.map(self._flush, region_ids), strict=True)
            return {region: failure for region, failure in failures if failure is not None}

    def _flush(self, region_id: int) -> FlushFailure | None:
        answer = self._execute(f"ADMIN flush_region({int(region_id)})", self._flush_seconds)
        try:
            return read_sql(answer.body)
        except ValueError as error:
            raise _unexpected(FRONTEND, answer) from error

    def _execute(self, statement: str, seconds: float) -> Answer:
        form = urlencode({"sql": statement}).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return self._sql.post(f"{self._frontend}/v1/sql", body=form, headers=headers, seconds=seconds)


class GreptimeMaintenance:
    """The switch of a GreptimeDB cluster, by the URL of its metasrv."""

    def __init__(self, metasrv: str) -> None:
        self._metasrv, self._admin = metasrv.rstrip("/"), Http(SWITCH, connections=1)

    def set_maintenance(self, *, enabled: bool) -> None:
        """Turns it on or off, and believes only the answer."""
        switch = "enable" if enabled else "disable"
        answer = self._admin.post(f"{self._metasrv}/admin/maintenance/{switch}")
        if _read(SWITCH, answer, read_switch) is not enabled:
            raise PartRefused(NotReached.UNEXPECTED_ANSWER, f"the metasrv did not {switch} maintenance")

    def in_maintenance(self) -> bool:
        """Asks for the switch."""
        answer = self._admin.get(f"{self._metasrv}/admin/maintenance/status")
        return _read(SWITCH, answer, read_switch)


def _read(part: Part, answer: Answer, read: Callable[[bytes], T]) -> T:
    """The answer as what it should be."""
    if not answer.is_ok:
        raise _unexpected(part, answer)
    try:
        return read(answer.body)
    except (ValueError, OverflowError, RecursionError) as error:
        message = f"{part.name}'s answer makes no sense ({_first_finding(error)}): is it GreptimeDB 0.16 or newer?"
        raise PartRefused(NotReached.UNEXPECTED_ANSWER, message) from error


def _first_finding(error: Exception) -> str:
    """A sentence that does not quote the answer, which may be large and change."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _unexpected(part: Part, answer: Answer) -> PartRefused | PartUnavailable:
    if answer.status >= _SERVER_ERROR:
        return PartUnavailable(part.silent, f"{part.name} answers {answer.shown()}")
    message = f"{part.name} answers {answer.shown()}: correct {part.declared}"
    return PartRefused(NotReached.UNEXPECTED_ANSWER, message)
