"""Whether a database is stopped, by its reports: what counts as one."""

from __future__ import annotations

from seawall.domain.restore.database import judge_reports, newest_of
from seawall.domain.times import RESTORE_SILENT_AFTER
from tests.fakes.dataplane import FakeDataPlane

LONG = int(RESTORE_SILENT_AFTER.total_seconds() * 1000)


def test_reports_must_not_advance_for_a_while_and_one_less_is_no_report() -> None:
    plane = FakeDataPlane()
    newest = newest_of(plane.reports())
    silence, first = judge_reports(None, newest, 0)
    assert first is not None
    assert first.runs is None
    silence, early = judge_reports(silence, newest, LONG - 1)
    assert early is not None
    assert early.runs is None
    silence, stopped = judge_reports(silence, newest[:2], LONG)
    assert stopped is not None
    assert stopped.runs is False
    silence, forgotten = judge_reports(silence, (), LONG + 1)
    assert forgotten is None
    silence, again = judge_reports(silence, newest_of(plane.reports()), LONG + 2)
    assert again is not None
    assert again.runs is True
    _, waits = judge_reports(silence, silence.newest, LONG + 3)
    assert waits is not None
    assert waits.runs is None
