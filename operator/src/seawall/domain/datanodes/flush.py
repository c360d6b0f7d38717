"""Regions flush before the restart of their datanode: then it has less to read.

Regions whose rows are written without the log (`skip_wal`) flush whatever is declared: what they have in memory is
nowhere else, and a restart loses it. A flush counts from when it was asked for: what is written after that may not be
in it. So a pod that waits for long flushes again, also when the journal has it already.
"""

from __future__ import annotations

from seawall.api.v1alpha1.rollout import AskedFlush, FlushBefore, Flushed, RestartStatus, RollStage
from seawall.domain.datanodes.actions import FlushRegions
from seawall.domain.datanodes.checks import Candidate, against
from seawall.domain.datanodes.decision import RollDecision
from seawall.domain.datanodes.facts import Datanode, Facts, RegionFacts
from seawall.domain.dataplane.in_memory import InMemory
from seawall.domain.rollout.decision import changed, decided
from seawall.domain.rollout.workload import Pod
from seawall.domain.rollout_reasons import Blocker, Reason
from seawall.domain.times import ROLLOUT_AGAIN, ROLLOUT_TIMEOUT

MAX_REGIONS = 1_000

MAX_PODS = 1_000


def is_flushed(status: RestartStatus, pod: Pod, facts: Facts) -> bool:
    """Whether its regions were asked, and did or had the time to, not too long ago."""
    return pod.uid in {each.uid for each in _recent(status, facts)}


def flush(status: RestartStatus, pod: Pod, facts: Facts, stage: RollStage = RollStage.FLUSHING) -> RollDecision | None:
    """The next thing to do; None: nothing is to be flushed, or it was."""
    datanode, asked = facts.datanodes.get(pod.name), status.flush
    if datanode is None or is_flushed(status, pod, facts):
        return None
    message = f"regions of {pod.name} flush before its restart"
    if asked is None or asked.uid != pod.uid:
        regions = _candidates(datanode, all_of_them=_is_wanted(status, pod, facts))
        if not regions:
            return None
        found = FlushBefore(uid=pod.uid, start_time=facts.now, regions=regions)
        return changed(status, Reason.FLUSHING, message, stage=stage, flush=found)
    waited_for = _waited_for(asked, datanode)
    if not waited_for or facts.now >= asked.start_time + ROLLOUT_TIMEOUT:
        flushed = (*_recent(status, facts), Flushed(uid=pod.uid, time=asked.start_time))[-MAX_PODS:]
        return changed(status, Reason.FLUSHING, message, flush=None, flushed=flushed)
    return decided(status, Reason.FLUSHING, message, (FlushRegions(waited_for),))


def _recent(status: RestartStatus, facts: Facts) -> tuple[Flushed, ...]:
    return tuple(each for each in status.flushed if facts.now < each.time + ROLLOUT_AGAIN)


def _is_wanted(status: RestartStatus, pod: Pod, facts: Facts) -> bool:
    if facts.limits.flush_first:
        return True
    found = against(Candidate(pod.name, facts, status.last_replay))
    return Blocker.REPLAY_TOO_LONG in {each.reason for each in found}


def _candidates(datanode: Datanode, *, all_of_them: bool) -> tuple[AskedFlush, ...]:
    """Those with rows in memory: whose rows no log has, then who would replay most."""
    found = [region for region in datanode.regions if region.in_memory and region.leads]
    found = [region for region in found if all_of_them or region.unlogged_bytes is not None]
    found.sort(key=lambda region: (region.unlogged_bytes is None, -(region.entries or 0), region.region))
    return tuple(
        AskedFlush(region_id=str(region.region), flushed_to=region.flushed_to, unlogged_bytes=region.unlogged_bytes)
        for region in found[:MAX_REGIONS]
    )


def _waited_for(asked: FlushBefore, datanode: Datanode) -> tuple[int, ...]:
    """Those that have rows in memory and have not flushed since, in their order; one that is gone is out."""
    found = {region.region: _in_memory(region) for region in datanode.regions if region.in_memory}
    before = ((int(each.region_id), each) for each in asked.regions)
    return tuple(
        region
        for region, then in before
        if region in found and not found[region].is_flushed_since(then.flushed_to, then.unlogged_bytes)
    )


def _in_memory(region: RegionFacts) -> InMemory:
    """Of one with rows in memory; how many is only asked of those whose rows skip the log."""
    return InMemory(region.flushed_to, 1 if region.unlogged_bytes is None else region.unlogged_bytes)
