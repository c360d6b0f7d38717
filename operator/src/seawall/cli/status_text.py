"""The page of `seawall status` as people read it: what is wrong comes first, numbers come last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from seawall.api.v1alpha1.cluster import DataPlaneStatus
from seawall.cli.output import table
from seawall.domain.overview.activities import Activity
from seawall.domain.overview.datanodes import SERVES, DatanodeLine
from seawall.domain.overview.findings import Finding
from seawall.domain.overview.page import BrokersLine, HoldLine, StatusPage, SubscriptionLine
from seawall.domain.overview.words import as_bar, as_progress, as_seconds, as_size, as_span, time_ago
from seawall.domain.times import LEASE_SILENT

DATANODE_COLUMNS = {
    "POD": "pod",
    "STATE": "state",
    "REPLAYED": "replayed",
    "ENTRIES": "entries",
    "REPLAY": "replay",
    "PROBE-NEEDS": "needs",
    "PROBE-ALLOWS": "allows",
}
"""Heading → field; so below."""
MOST = 12
"""Rows of a kind that a page has room for."""
HOLD_COLUMNS = {
    "HOLD": "name",
    "STATE": "state",
    "TOPICS": "topics",
    "LAG": "lag",
    "EXPIRES": "expires",
    "REASON": "reason",
}


SUBSCRIPTION_COLUMNS = {
    "SUBSCRIPTION": "name",
    "TARGET": "target",
    "STATE": "state",
    "TOPICS": "topics",
    "STOPPED": "stopped",
    "LAG": "lag",
    "BEHIND": "behind",
    "HELD": "held",
}


def describe(page: StatusPage, *, bars: bool = False) -> str:
    """The page as text; on a terminal with bars."""
    return "\n".join(_lines(page, bars=bars))


def _lines(page: StatusPage, *, bars: bool) -> Iterator[str]:
    yield f"WALCluster {page.walcluster}: {_ready(page)}"
    yield f"Operator   {_leader(page)}"
    if page.findings:
        yield from ("", "NOT AS IT SHOULD BE")
        for finding in page.findings[:MOST]:
            yield from _finding(finding, page.time)
        yield from _more(page.findings)
    yield from ("", "NOW")
    yield from _now(page, bars=bars)
    datanodes = _worth_a_table(page.datanodes)
    if datanodes:
        yield from ("", table([_datanode(line, page.time) for line in datanodes[:MOST]], DATANODE_COLUMNS))
        yield from _more(datanodes)
    if page.holds:
        yield from ("", table([_hold(line, page.time) for line in page.holds[:MOST]], HOLD_COLUMNS))
        yield from _more(page.holds)
    if page.subscriptions:
        rows = [_subscription(line) for line in page.subscriptions[:MOST]]
        yield from ("", table(rows, SUBSCRIPTION_COLUMNS))
        yield from _more(page.subscriptions)
    numbers = list(_numbers(page))
    if numbers:
        yield from ("", *numbers)


def _more(lines: Sequence[object]) -> Iterator[str]:
    if len(lines) > MOST:
        yield f"  and {len(lines) - MOST} more: -o json has all"


def _worth_a_table(datanodes: Sequence[DatanodeLine]) -> Sequence[DatanodeLine]:
    """All of few, and of many those of which there is something to tell; none while all serve."""
    others = [line for line in datanodes if line.state != SERVES]
    return datanodes if others and len(datanodes) <= MOST else others


def _ready(page: StatusPage) -> str:
    match page.ready:
        case "True":
            return "Ready" if page.findings else "Ready, all is as it should be"
        case "False":
            return f"not Ready ({page.reason})"
        case _:
            return "no operator has looked at it yet"


def _leader(page: StatusPage) -> str:
    leader = page.leader
    if leader.problem is not None:
        return leader.problem
    if leader.holder is None or leader.renew_time is None:
        return f"nobody leads by the Lease {leader.lease}"
    snapshot = time_ago(leader.renew_time, page.time)
    if page.time - leader.renew_time > LEASE_SILENT:
        return f"nobody leads; {leader.holder} was seen {snapshot}"
    return f"{leader.holder} leads, seen {snapshot}"


def _finding(finding: Finding, now: datetime) -> Iterator[str]:
    since = "" if finding.since is None else f", for {as_span(now - finding.since)}"
    yield f"  {finding.severity:<9} {finding.object} {finding.condition}: {finding.reason}{since}"
    yield f"            {finding.message}"


def _now(page: StatusPage, *, bars: bool) -> Iterator[str]:
    if not page.running:
        yield "  nothing runs"
    for activity in page.running[:MOST]:
        yield f"  {_activity(activity, page.time)}"
        if bars and activity.progress is not None:
            yield f"            {as_bar(activity.progress)}"
        yield f"            {activity.message}"
    yield from _more(page.running)
    if page.maintenance_until is not None:
        until = _clock(page.maintenance_until)
        yield f"  the database is in maintenance for the restart, until {until} at the latest"


def _activity(activity: Activity, now: datetime) -> str:
    reported = [f"{activity.what} {activity.name}: {activity.stage}"]
    if activity.waits:
        reported.append("waits")
    if activity.progress is not None:
        reported.append(as_progress(activity.progress, now))
    if activity.since is not None:
        reported.append(f"began {time_ago(activity.since, now)}")
    return ", ".join(reported)


def _datanode(line: DatanodeLine, now: datetime) -> dict[str, object]:
    return {
        "pod": line.pod,
        "state": line.state,
        "replayed": None if line.progress is None else as_progress(line.progress, now),
        "entries": line.entries,
        "replay": as_seconds(line.replay_seconds),
        "needs": as_seconds(line.startup_seconds),
        "allows": as_seconds(line.probe_seconds),
    }


def _hold(line: HoldLine, now: datetime) -> dict[str, object]:
    expires = line.expire_time
    is_over = expires is not None and expires <= now
    return {
        "name": line.name,
        "state": line.state,
        "topics": "all" if line.everything else line.topics,
        "lag": None if line.lag_bytes is None else as_size(line.lag_bytes),
        "expires": None if expires is None else "now" if is_over else f"in {as_span(expires - now)}",
        "reason": line.reason or None,
    }


def _subscription(line: SubscriptionLine) -> dict[str, object]:
    return {
        "name": line.name,
        "target": line.target,
        "state": line.state,
        "topics": line.topics,
        "stopped": line.stopped,
        "lag": line.lag_entries,
        "behind": as_seconds(line.lag_seconds),
        "held": None if line.held_bytes is None else as_size(line.held_bytes),
    }


def _numbers(page: StatusPage) -> Iterator[str]:
    topics, wal, database = page.topics, page.wal, page.database
    if topics is not None:
        more = {"drifted": topics.drifted, "under-replicated": topics.under_replicated, "foreign": topics.foreign}
        reported = "".join(f", {count} {what}" for what, count in more.items() if count)
        yield f"Topics     {topics.ready} of {topics.desired} ready{reported}"
    if wal is not None:
        size = "unknown size" if wal.bytes is None else as_size(wal.bytes)
        may_go = f", about {as_size(wal.purgeable_bytes)}" if wal.purgeable and wal.purgeable_bytes is not None else ""
        kept = f", {wal.held_back} left alone (seawall ledger says why)" if wal.held_back else ""
        yield f"WAL        {size}; {wal.purgeable} topics can be purged{may_go}{kept}"
    if database is not None and database.datanodes is not None:
        yield f"Database   {database.reporting} of {database.datanodes} datanodes report, {database.regions} regions"
    if database is not None and database.followers:
        yield f"Followers  {_followers(database)}"
    if page.datanodes and all(line.state == SERVES for line in page.datanodes):
        yield f"Datanodes  {_datanodes(page.datanodes)}"
    if page.brokers is not None:
        yield f"Brokers    {_brokers(page.brokers)}"
    for ended in page.ended:
        yield f"Last       {ended.what} {ended.name}: {ended.stage} {time_ago(ended.time, page.time)}: {ended.message}"
    if page.next_purge is not None:
        is_due = page.next_purge <= page.time
        yield f"Next       Purge {'now' if is_due else f'in {as_span(page.next_purge - page.time)}'}"


def _followers(database: DataPlaneStatus) -> str:
    silent = f", {database.silent_followers} silent" if database.silent_followers else ""
    lag = "" if database.follower_lag is None else f", at most {database.follower_lag} entries behind"
    return f"{database.followers} of regions{silent}{lag}"


def _datanodes(datanodes: Sequence[DatanodeLine]) -> str:
    most = max(datanodes, key=lambda line: line.replay_seconds or 0)
    reported = f"{len(datanodes)} serve"
    if most.replay_seconds is None:
        return reported
    size = f"about {most.entries or 0} entries in {most.replay_seconds} s"
    return f"{reported}; a restart of {most.pod} would read most, {size}"


def _brokers(brokers: BrokersLine) -> str:
    reported = f"{brokers.online} of {brokers.total} online"
    if brokers.not_online:
        reported += f" ({', '.join(f'{number} is {state}' for number, state in brokers.not_online)})"
    if brokers.controller is None:
        return reported
    behind = f", {', '.join(map(str, brokers.behind))} behind" if brokers.behind else ""
    return f"{reported}; controller {brokers.controller} leads {brokers.voters} voters{behind}"


def _clock(time: datetime) -> str:
    return time.strftime("%H:%M:%SZ")
