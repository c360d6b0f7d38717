"""Faults in the middle of replay verifications: none says "verified" falsely. Counts: results/verifications.json."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count

import pytest

from seawall_e2e.acked_rows import TABLE, AckedRows
from seawall_e2e.cluster import BROKERS
from seawall_e2e.faults import BrokerKilled, Fault, FaultKind, FaultLog, TableFlushed
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import RefDb
from seawall_e2e.site import Site
from seawall_e2e.soak import OFTEN, SECONDS, write_counts
from seawall_e2e.verification_faults import DriverKilled, ExecutorKilled, LogCut, MidJob, stopped_in_mid_job
from seawall_e2e.verifications import VERDICT_SECONDS, Verification, Verifications, scale_spark_operator

WITHIN = 2 * VERDICT_SECONDS
"""Two attempts, and the back-off between them."""
HARMLESS = {FaultKind.DRIVER_KILLED, FaultKind.EXECUTOR_KILLED, FaultKind.BROKER_KILLED}
"""What happens to the job, and nothing to the log: in the end it is verified."""


@dataclass
class Soak:
    """One verification after another, each with a fault in its middle."""

    site: Site
    purges: Purges
    flush: TableFlushed
    verifications: Verifications
    faults: FaultLog = field(default_factory=FaultLog)
    verdicts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By fault how many verifications ended in which way."""
    false: list[Verification] = field(default_factory=list)
    """Those that said "verified" of a log that was cut, or that had not read all of it."""
    wrong: list[Verification] = field(default_factory=list)
    """Those that did not end as they should have."""
    told: list[str] = field(default_factory=list)
    """What people were told to do."""
    records: int = 0
    compared_rows: int = 0

    def one_of_each(self, number: int) -> None:
        """One round."""
        self._verify(number, lambda at: DriverKilled(self.verifications, at.seen))
        self._verify(number, lambda at: ExecutorKilled(self.verifications, at))
        self._verify(number, lambda _: BrokerKilled(self.site, number % BROKERS))
        self._verify(number, self._cut)

    def with_a_snapshot(self, rows: AckedRows) -> None:
        """Two flushes are two cuts of each region: the older one, and the log between them, must give the newer one."""
        for _ in range(2):
            rows.wait_until_written_everywhere()
            self.faults.run(self.flush)
        rows.wait_until_written_everywhere()
        snapshot = self.verifications.export_snapshot("refdb-storage", "snapshot")
        self.verifications.request("equivalence", level="Equivalence", snapshot=snapshot)
        seen = self._end("equivalence", "none, at level Equivalence")
        self._judge_whole(seen)
        report, _ = self.verifications.report(seen)
        self.compared_rows = sum(
            cut["found"]["rows"] for region in report["regions"] for cut in region["comparison"]["cuts"]
        )

    def with_missing_parts(self) -> None:
        """A claim that nobody made, then a Spark Operator that does not run: a person is told, and then it goes on."""
        self.verifications.request("without-claim", report={"persistentVolumeClaim": "late"})
        self.told.append(self.verifications.wait_until_stalled("without-claim", "DriverCannotStart"))
        self.verifications.make_claim("late")
        self._judge_whole(self._end("without-claim", "claim missing"))
        scale_spark_operator(0)
        try:
            self.verifications.request("unserved")
            self.told.append(self.verifications.wait_until_stalled("unserved", "SparkOperatorSilent"))
        finally:
            scale_spark_operator(1)
        self._judge_whole(self._end("unserved", "Spark Operator missing"))

    def _verify(self, number: int, fault_of: Callable[[MidJob], Fault]) -> None:
        """The fault is there before the executor goes on, and until the verdict is."""
        name = f"verification-{number}-{sum(self.faults.counts.values())}"
        with ExitStack() as until_the_verdict:
            with stopped_in_mid_job(self.verifications, name) as at:
                fault = fault_of(at)
                until_the_verdict.enter_context(self.faults.apply(fault))
            seen = self._end(name, fault.kind)
        if isinstance(fault, LogCut):
            self._judge_cut(seen, fault)
        else:
            self._judge_whole(seen)

    def _end(self, name: str, after: str) -> Verification:
        seen = self.verifications.wait_until_over(name, within=WITHIN)
        self.verdicts[after][f"{seen.outcome}, attempt {seen.attempt}"] += 1
        self.records += seen.counts.get("records", 0)
        return seen

    def _cut(self, at: MidJob) -> LogCut:
        """Of the topic with the most to read half of it is deleted."""
        ends = {topic: end for topic, (_, end) in self.site.toolbox.offsets(self.site.prefix).items()}
        reads = at.seen.verified_from
        topic = max(reads, key=lambda name: ends[name] - reads[name])
        before = (reads[topic] + ends[topic] + 1) // 2
        return LogCut(self.site, self.purges, self.flush, topic, before)

    def _judge_whole(self, seen: Verification) -> None:
        if seen.verified and seen.counts["records"] != seen.entries:
            self.false.append(seen)
        if seen.outcome != "Passed" or seen.verified != set(seen.verified_from) or seen.findings:
            self.wrong.append(seen)

    def _judge_cut(self, seen: Verification, cut: LogCut) -> None:
        """What is found names the topic and an offset that a region would read; the rest is verified."""
        start = seen.verified_from[cut.topic]
        found = [each for each in seen.findings if each["kind"] == "LogStartBeyondReplay"]
        is_named = all(each["topic"] == cut.topic and start <= each["offset"] < cut.before for each in found)
        if cut.topic in seen.verified:
            self.false.append(seen)
        if seen.outcome != "Failed" or not found or not is_named:
            self.wrong.append(seen)
        if seen.verified != set(seen.verified_from) - {cut.topic}:
            self.wrong.append(seen)


@pytest.mark.timeout(SECONDS + 1500)
@pytest.mark.helm_values("replayVerification.create=true")
def test_no_fault_in_mid_job_makes_a_verification_say_verified_of_a_log_that_does_not_replay(
    site: Site, database_in_sight: RefDb, purges: Purges, checker_image: str, verification_image: str
) -> None:
    verifications = Verifications(site.wal_cluster(), verification_image)
    soak = Soak(site, purges, TableFlushed(database_in_sight, TABLE), verifications)
    with AckedRows(database_in_sight, checker_image, period=OFTEN) as rows:
        rows.wait_until_written_everywhere()
        soak.with_a_snapshot(rows)
        soak.with_missing_parts()
        began = time.monotonic()
        for number in count():
            rows.wait_until_written_everywhere()
            soak.one_of_each(number)
            if time.monotonic() - began >= SECONDS:
                break
        seconds = time.monotonic() - began
    verdict = rows.judge()
    print(verifications.table(), flush=True)

    write_counts(
        "verifications",
        {
            "seconds": round(seconds),
            "faults": soak.faults.counts,
            "verdicts": soak.verdicts,
            "recordsRead": soak.records,
            "rowsCompared": soak.compared_rows,
            "falselyVerified": len(soak.false),
            "otherwiseThanTheyShould": len(soak.wrong),
            "told": soak.told,
            **verdict,
        },
    )
    assert not soak.false
    assert not soak.wrong, soak.wrong
    assert 'persistentvolumeclaim "late" not found' in soak.told[0]
    assert set(soak.faults.counts) == {*HARMLESS, FaultKind.LOG_CUT, FaultKind.TABLE_FLUSHED}
    assert soak.compared_rows > 0
    assert verdict["holds"]
    assert verdict["lost"] == 0
    assert verdict["regions"] == rows.partitions
