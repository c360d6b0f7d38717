"""Which reports of datanodes are kept."""

from dataclasses import replace
from datetime import timedelta

from seawall.domain.dataplane.region_reports import region_reports
from seawall.domain.dataplane.reports import DatanodeReport, InnerReport, RegionReport, RegionRole, newest_reports
from tests.domain.builders import NOW

REGION = 4398046511105


def report(datanode: int, *, seconds: int = 0, epoch: int = 1, role: RegionRole = RegionRole.LEADER) -> DatanodeReport:
    at = NOW + timedelta(seconds=seconds)
    region = RegionReport(REGION, datanode, epoch, role, at, "mito", 0, InnerReport(7, None))
    return DatanodeReport(datanode, f"10.0.0.{datanode}:4001", epoch, at, (region,))


def test_the_newest_report_of_each_datanode_is_kept_whatever_their_order() -> None:
    early, late, other = report(1), report(1, seconds=3), report(0, seconds=1)
    assert newest_reports([late, early, other]) == (other, late)
    assert newest_reports([early, late, other]) == (other, late)


def test_a_later_start_of_a_datanode_wins_over_a_later_clock() -> None:
    before, after = report(1, seconds=60), report(1, epoch=2)
    assert newest_reports([after, before]) == (after,)


def test_followers_and_two_leaders_of_one_region_are_all_kept() -> None:
    datanodes = (report(0), report(1, role=RegionRole.FOLLOWER), report(2))
    assert [(region.datanode_id, region.role.value) for region in region_reports(datanodes)] == [
        (0, "Leader"),
        (1, "Follower"),
        (2, "Leader"),
    ]


def test_a_region_of_the_metric_engine_has_two_inner_regions() -> None:
    (region,) = report(0).regions
    metric = replace(region, engine="metric", metadata=InnerReport(5, None))
    assert [inner.flushed_entry_id for inner in region.inner()] == [7]
    assert [inner.flushed_entry_id for inner in metric.inner()] == [7, 5]
