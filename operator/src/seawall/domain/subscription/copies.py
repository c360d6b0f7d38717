"""The copies that a subscription has, where their source ends, and which selected topics have none."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from seawall.domain.ledger.observation import Observation
from seawall.domain.spark_job.selection import Topics
from seawall.domain.subscription.case import Case
from seawall.domain.subscription.logs import LogsNow

Flushed = Mapping[str, Mapping[int, int | None]]
"""By topic up to where each of its regions has flushed; None: the database does not say."""


def copied(case: Case) -> list[str]:
    """The topics that have a copy, those that have stopped too: it is as good as it is."""
    return [name for name, row in case.rows.items() if row.target_id is not None]


def without_copy(case: Case) -> list[str]:
    """The topics that are meant and have no copy: never begun, or the target has somebody else's of that name.

    A database that goes on without them would find nothing, or records of others, where it has flushed ids: new rows
    are skipped then. What the source says that it does not have is missed by nobody, unless it lost it
    (`lost_by_source`). Once it is recorded where topics must end, a topic counts that is in that record.
    """
    status = case.status.promotion
    recorded = [] if status is None else [row.name for row in status.topics]
    return _others(case, recorded or copied(case))


def lost_by_source(case: Case) -> list[str]:
    """The topics that are meant, have no copy, and are gone at the source, where it had them: somebody has ids of them.

    As far as that was asked: it is before anything is recorded of the end of the copy.
    """
    needs, with_copy = case.observed.needs or {}, set(copied(case))
    absent = [name for name in _absent(case) if name not in with_copy]
    return [name for name in absent if name in needs and needs[name].end > 0]


def not_begun(case: Case) -> list[str]:
    """The topics that are meant, and of which nothing was ever copied or stopped."""
    return _others(case, case.rows)


def _others(case: Case, names: Collection[str]) -> list[str]:
    """The topics that are meant, and are not these; without those that the source does not have."""
    known = {*names, *_absent(case)}
    return [name for name in case.selected if name not in known]


def _absent(case: Case) -> list[str]:
    """The topics that are meant, and that the source says it does not have."""
    source = case.observed.source
    return [name for name in case.selected if source.is_absent(name)] if isinstance(source, LogsNow) else []


def source_end(case: Case, name: str) -> int | None:
    """Where the source ends; None: it does not say, or is another log than the one that was copied."""
    source, row = case.observed.source, case.rows.get(name)
    ends = source.ends(name) if isinstance(source, LogsNow) else None
    is_same = isinstance(source, LogsNow) and row is not None and source.topic_id(name) == row.source_id
    return ends.high_watermark if ends is not None and is_same else None


def flushed_by(case: Case) -> Flushed:
    """Of the topics of which the database says which regions they have."""
    ledger = case.observed.ledger
    if not isinstance(ledger, Observation):
        return {}
    topics = Topics(ledger, case.spec.selects)
    return {name: topics.flushed(name) for name in topics.rows}


def says_all(flushed: Flushed, names: Collection[str]) -> bool:
    """Whether the database says of all these topics up to where all their regions have flushed."""
    return all(name in flushed and None not in flushed[name].values() for name in names)
