"""Values to HTML. No script, nothing from elsewhere, and all text is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.conditions import find_condition
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.page import LedgerPage
from seawall.domain.overview.findings import newest_first
from seawall.domain.overview.page import build_page
from seawall.domain.overview.reasons_page import Row, plain, read_page, rows_of
from seawall.domain.overview.snapshot import Snapshot
from seawall.domain.overview.topic_bars import page_of_bars
from seawall.domain.overview.words import as_progress, as_size, as_span, time_ago

UNKNOWN = "-"
MARKS = {
    "start": "where the log begins",
    "marker": "the database's pruned marker",
    "floor": "the oldest record that the database needs",
    "hold": "from where a WALHold keeps the log",
    "end": "where the log ends",
}


def index(clusters: Sequence[WALCluster], now: datetime) -> str:
    """All WALClusters, a line for each."""
    rows = [
        {
            "key": each.metadata.key,
            "ready": find_condition(each.status.conditions, ConditionType.READY),
            "intact": find_condition(each.status.conditions, ConditionType.WAL_INTACT),
            "topics": each.status.topics,
            "wal": each.status.observed_wal,
        }
        for each in clusters
    ]
    return _render("index.html", "./", now, rows=rows)


def cluster(snapshot: Snapshot, ledger: LedgerPage | Unavailable | None, glob: str, number: int) -> str:
    """One WALCluster, and all that belongs to it."""
    page = build_page(snapshot)
    has_ledger = isinstance(ledger, LedgerPage)
    return _render(
        "cluster.html",
        "../../",
        snapshot.now,
        page=page,
        findings=newest_first(page.findings),
        ledger=ledger if has_ledger else None,
        unavailable=ledger.message if isinstance(ledger, Unavailable) else "No look at it has ended yet.",
        bars=page_of_bars(ledger.lines, snapshot.holds, glob, number) if isinstance(ledger, LedgerPage) else None,
        glob=glob,
        marks=MARKS,
    )


def reason(word: str, now: datetime) -> str | None:
    """What a reason means, and what a person can do; None: nobody knows the word."""
    found = _rows().get(word)
    return None if found is None else _render("reason.html", "../", now, word=word, rows=found)


def problem(sentence: str, root: str, now: datetime) -> str:
    """Why there is nothing to see."""
    return _render("problem.html", root, now, sentence=sentence)


@cache
def style() -> str:
    """The style sheet."""
    return (files("seawall.handlers.ui") / "templates" / "style.css").read_text(encoding="utf-8")


def _render(template: str, root: str, now: datetime, **values: Any) -> str:
    return _environment().get_template(template).render(root=root, now=now, **values)


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("seawall.handlers.ui"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.filters.update(
        ago=time_ago,
        bytes=_bytes,
        plain=plain,
        progress=as_progress,
        span=lambda at, now: as_span(at - now),
        time=_time,
    )
    found.tests["explained"] = lambda word: word in _rows()
    return found


@cache
def _rows() -> Mapping[str, Sequence[Row]]:
    """By their words the rows of the page of reasons."""
    found: dict[str, list[Row]] = {}
    for row in rows_of(read_page()):
        found.setdefault(row.name, []).append(row)
    return found


def _bytes(size: int | None) -> str:
    return UNKNOWN if size is None else as_size(size)


def _time(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
