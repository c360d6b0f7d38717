"""Regions flush before the restart of their datanode: then it has less to read.

Regions whose rows are written without the log (`skip_wal`) flush whatever is declared: what they have in memory is
nowhere else, and a restart loses it. A flush counts from when it was asked for: what is written after that may not be
in it. So a pod that waits for long flushes again, also when the journal has it already.

    those whose rows no log has   a thousand at a time, by their ids, until all were asked; each has two minutes
    then who would replay most    as many as fit into the last thousand

By their ids those that are written to all the time are asked once in a round, whichever process goes on with it.
"""

from __future__ import annotations

from seawall.api.v1alpha1.rollout import AskedFlush, FlushBefore, Flushed, RestartStatus, RollStage
from seawall.domain.datanodes.actions import FlushRegions
from seawall.domain.datanodes.checks import Candidate, against
from seawall.domain.datanodes.decision import RollDecision
from seawall.domain.datanodes.facts import Datanode, Facts, Memtable
from seawall.domain.datanodes.maintenance import give_back
from seawall.domain.dataplane.in_memory import InMemory
from seawall.domain.ledger.declarations import Grounds
from seawall.domain.rollout.decision import changed, decided, meanwhile, saying
from seawall.domain.rollout.workload import OVERRIDE_ANNOTATION, Pod
from seawall.domain.rollout_reasons import Blocker, Reason
from seawall.domain.text import few
from seawall.domain.times import ROLLOUT_AGAIN, ROLLOUT_TIMEOUT, ROLLOUT_WAITING_SECONDS

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
        regions = _candidates(datanode, all_of_them=_is_wanted(status, pod, facts), lives=pod.ready)
        if not regions:
            return None
        found = FlushBefore(uid=pod.uid, start_time=facts.now, regions=regions)
        return changed(status, Reason.FLUSHING, message, stage=stage, flush=found)
    waited_for = _waited_for(asked, datanode)
    is_late = facts.now >= asked.start_time + ROLLOUT_TIMEOUT
    lost = _unlogged(waited_for, datanode, lives=pod.ready) if is_late else ()
    if lost and facts.override is None:
        return _stops(status, asked, pod, facts, lost=lost, stage=stage)
    if not waited_for or is_late:
        rest = _not_asked(asked, datanode, all_of_them=_is_wanted(status, pod, facts), lives=pod.ready)
        if rest:
            update = {"stage": stage, "flush": FlushBefore(uid=pod.uid, start_time=facts.now, regions=rest)}
        else:
            flushed = (*_recent(status, facts), Flushed(uid=pod.uid, time=asked.start_time))[-MAX_PODS:]
            update = {"flush": None, "flushed": flushed}
        done: RollDecision = changed(status, Reason.FLUSHING, message, **update)
        return done if facts.override is None or not lost else _gives_up(done, pod, lost, facts.override)
    return decided(status, Reason.FLUSHING, message, (FlushRegions(waited_for),))


def _stops(
    status: RestartStatus, asked: FlushBefore, pod: Pod, facts: Facts, *, lost: tuple[int, ...], stage: RollStage
) -> RollDecision:
    """They are asked until they did, and the database is not in maintenance meanwhile.

    One that is written to faster than it flushes may never have less than when it was asked, if it had little then: now
    and then it is asked as if anew, with its two minutes over, and so are all that flushed before it.
    """
    reason, stage = Reason.UNLOGGED_NOT_FLUSHED, RollStage.WAITING if stage is RollStage.FLUSHING else stage
    update: dict[str, object] = {"stage": stage, "reason": reason}  # with which it is said before they are asked again
    if facts.now >= asked.start_time + ROLLOUT_AGAIN:
        regions = _candidates(facts.datanodes[pod.name], all_of_them=False, lives=pod.ready)
        update["flush"] = FlushBefore(uid=pod.uid, start_time=facts.now - ROLLOUT_TIMEOUT, regions=regions)
    stopped = status.model_copy(update=update)
    cure = f"Look for FlushFailed among the events; {OVERRIDE_ANNOTATION}: <reason>@<expiry> gives them up"
    message = f"{_loss(pod, lost)}. {cure}"
    but = "" if facts.override_problem is None else f". But {facts.override_problem}"
    waits: RollDecision = decided(stopped, reason, f"{message}{but}", (FlushRegions(lost),), ROLLOUT_WAITING_SECONDS)
    return meanwhile(give_back(stopped, facts), waits)


def _gives_up(done: RollDecision, pod: Pod, lost: tuple[int, ...], override: Grounds) -> RollDecision:
    message = f"{_loss(pod, lost)}: they are given up, {override.until_and_why}"
    return saying(done, Reason.UNLOGGED_NOT_FLUSHED, message)


def _loss(pod: Pod, lost: tuple[int, ...]) -> str:
    return f"rows of {pod.name} that no log has did not flush, and a restart would lose them (regions {few(lost)})"


def _unlogged(regions: tuple[int, ...], datanode: Datanode, *, lives: bool) -> tuple[int, ...]:
    """Those of them whose rows in memory are nowhere else; of a process that is gone there are none any more."""
    found = {region.region for region in datanode.memtables if region.unlogged_bytes and (region.leads or lives)}
    return tuple(region for region in regions if region in found)


def _recent(status: RestartStatus, facts: Facts) -> tuple[Flushed, ...]:
    return tuple(each for each in status.flushed if facts.now < each.time + ROLLOUT_AGAIN)


def _is_wanted(status: RestartStatus, pod: Pod, facts: Facts) -> bool:
    if facts.limits.flush_first:
        return True
    found = against(Candidate(pod.name, facts, status.last_replay))
    return Blocker.REPLAY_TOO_LONG in {each.reason for each in found}


def _candidates(datanode: Datanode, *, all_of_them: bool, lives: bool, beyond: int = -1) -> tuple[AskedFlush, ...]:
    """Those with rows in memory: whose rows no log has, with ids beyond this one; then who would replay most.

    `lives`: its pod serves, so of those whose rows no log has it has them, whatever reports say of who leads: they may
    be late, or the region on its way to another datanode.
    """
    found = [region for region in datanode.memtables if region.in_memory]
    found = [region for region in found if region.leads or (lives and region.unlogged_bytes is not None)]
    found = [region for region in found if all_of_them or region.unlogged_bytes is not None]
    found = [region for region in found if region.unlogged_bytes is None or region.region > beyond]
    found.sort(key=_turn)
    return tuple(
        AskedFlush(region_id=str(region.region), flushed_to=region.flushed_to, unlogged_bytes=region.unlogged_bytes)
        for region in found[:MAX_REGIONS]
    )


def _turn(region: Memtable) -> tuple[bool, int, int]:
    is_logged = region.unlogged_bytes is None
    return is_logged, -(region.entries or 0) if is_logged else 0, region.region


def _not_asked(asked: FlushBefore, datanode: Datanode, *, all_of_them: bool, lives: bool) -> tuple[AskedFlush, ...]:
    """The next ones, while there are any whose rows no log has: they did not all fit into what was asked."""
    if len(asked.regions) < MAX_REGIONS or asked.regions[-1].unlogged_bytes is None:
        return ()
    ids = [int(each.region_id) for each in asked.regions]
    beyond = ids[-1] if ids == sorted(ids) else -1  # an older version asked in another order
    found = _candidates(datanode, all_of_them=all_of_them, lives=lives, beyond=beyond)
    return found if found and found[0].unlogged_bytes is not None else ()


def _waited_for(asked: FlushBefore, datanode: Datanode) -> tuple[int, ...]:
    """Those that have rows in memory and have not flushed since, in their order; one that is gone is out."""
    found = {region.region: _in_memory(region) for region in datanode.memtables if region.in_memory}
    before = ((int(each.region_id), each) for each in asked.regions)
    return tuple(
        region
        for region, then in before
        if region in found and not found[region].is_flushed_since(then.flushed_to, then.unlogged_bytes)
    )


def _in_memory(region: Memtable) -> InMemory:
    """Of one with rows in memory; how many is only asked of those whose rows skip the log."""
    return InMemory(region.flushed_to, 1 if region.unlogged_bytes is None else region.unlogged_bytes)
