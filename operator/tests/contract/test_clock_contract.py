"""The port Clock: the same promises from the answers of the real API server and from the time of worlds in memory."""

from __future__ import annotations

from datetime import timedelta

import pytest

from seawall.domain.clocks import Agreement
from seawall.domain.times import CLOCKS_AGREE, CLOCKS_FRESH
from seawall_e2e.loopback import ApiServer
from tests.contract.clock_beds import ClockBed, FakeClockBed, ProcessClockBed, RealClockBed

pytestmark = pytest.mark.xdist_group("api-server")

A_LITTLE = timedelta(seconds=5)
"""Much more than an answer on loopback takes, and less than what counts as a skew."""
TWO_HOURS = timedelta(hours=2)


@pytest.fixture(params=["fake", "simulated", pytest.param("real", marks=pytest.mark.integration)])
def bed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ClockBed:
    if request.param == "fake":
        return FakeClockBed()
    if request.param == "simulated":
        return ProcessClockBed()
    server: ApiServer = request.getfixturevalue("api_server")
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
    return RealClockBed()


def test_before_the_first_answer_nobody_knows_the_time_of_the_api_server(bed: ClockBed) -> None:
    reported = bed.clock.trusted()
    assert (reported.agreement, reported.server, reported.skew) == (Agreement.UNKNOWN, None, None)
    assert abs(reported.now - bed.clock.now()) < A_LITTLE


def test_an_answer_tells_the_time(bed: ClockBed) -> None:
    bed.ask()
    reported = bed.clock.trusted()
    assert reported.agreement is Agreement.AGREE
    assert reported.earliest is not None
    assert reported.latest is not None
    assert reported.earliest <= reported.now <= reported.latest < reported.earliest + A_LITTLE


@pytest.mark.parametrize("by", [TWO_HOURS, -TWO_HOURS, CLOCKS_AGREE + A_LITTLE])
def test_a_clock_that_is_set_wrong_is_noticed_without_another_answer_and_so_is_one_that_is_set_right(
    bed: ClockBed, by: timedelta
) -> None:
    bed.ask()
    bed.set_ahead(by)
    reported = bed.clock.trusted()
    assert reported.agreement is Agreement.SKEWED
    assert (reported.earliest, reported.latest) == (None, None)
    assert reported.skew is not None
    assert abs(reported.skew - by) < A_LITTLE
    assert abs(reported.later - (reported.now if by > timedelta(0) else reported.now - by)) < A_LITTLE
    bed.set_ahead(timedelta(0))
    assert bed.clock.trusted().agreement is Agreement.AGREE


def test_an_answer_is_good_for_a_minute_and_the_next_one_is_good_again(bed: ClockBed) -> None:
    bed.ask()
    bed.silence(CLOCKS_FRESH - A_LITTLE)
    reported = bed.clock.trusted()
    assert reported.agreement is Agreement.AGREE
    assert reported.server is not None
    assert abs(reported.server.time - reported.now) < A_LITTLE, "what passes since the answer counts"
    bed.silence(2 * A_LITTLE)
    assert bed.clock.trusted().agreement is Agreement.UNKNOWN
    bed.ask()
    assert bed.clock.trusted().agreement is Agreement.AGREE
