"""The datanodes as members of a roll: when one may go, what is done around that, and when it is back.

the spec was edited      the database of before leaves maintenance first, while the old pod is there
before a pod goes        its regions flush, the database enters maintenance, the gate (checks.py) is open
it waited since then     its regions flush anew, before the database enters maintenance anew
it goes                  evicted, or the partition is lowered to it
it is back               the new one is Ready, and leads all its regions by reports of another epoch
it is none any more      scaled away, or its StatefulSet is named no more: it is over when no such pod is left
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind
from seawall.api.v1alpha1.rollout import RestartStatus, RollStage
from seawall.domain.datanodes import template
from seawall.domain.datanodes.actions import RolloutAction, SetPartition
from seawall.domain.datanodes.budget import in_its_words, keep_out
from seawall.domain.datanodes.checks import Candidate, let_through, refusal
from seawall.domain.datanodes.decision import DatanodeRoll, RollDecision
from seawall.domain.datanodes.diagnosis import diagnose
from seawall.domain.datanodes.entry import begun, measured_anew, noted
from seawall.domain.datanodes.facts import Facts
from seawall.domain.datanodes.flush import flush, is_flushed
from seawall.domain.datanodes.maintenance import enter, give_back, is_elsewhere, kept_until, leave_first
from seawall.domain.datanodes.order import in_order, is_partition_of_others
from seawall.domain.datanodes.replay import measure
from seawall.domain.datanodes.requests import Cause, due_pods, is_kept_back
from seawall.domain.decision import Decision
from seawall.domain.rollout.actions import Evict
from seawall.domain.rollout.decision import changed, decided, journaled, meanwhile, saying
from seawall.domain.rollout.finish import restarts
from seawall.domain.rollout.gate import RolloutGate
from seawall.domain.rollout.refusal import Refusal
from seawall.domain.rollout.requests import requested
from seawall.domain.rollout.workload import Pod, UpdateStrategy
from seawall.domain.rollout_reasons import Blocker, Reason
from seawall.domain.times import MAINTENANCE_LEASE

BEFORE_FLUSH = frozenset({Blocker.REPLAY_TOO_LONG})
"""What a flush may mend."""


@dataclass(frozen=True, slots=True)
class DatanodeGate(RolloutGate[RestartStatus, RolloutAction, Pod]):
    """What one tick knows of the datanodes; `forbidden`: what a PodDisruptionBudget answered to its eviction."""

    facts: Facts
    forbidden: str | None = None

    @property
    def kind(self) -> str:
        """Of its entries in the journal."""
        return DisruptionKind.DATANODE_RESTART

    @property
    def noun(self) -> str:
        """What a member is called."""
        return "datanode"

    @property
    def now(self) -> datetime:
        """By the clock that all operators share."""
        return self.facts.now

    @property
    def members(self) -> tuple[Pod, ...]:
        """Their pods."""
        return self.facts.pods

    @property
    def override_problem(self) -> str | None:
        """Why `seawall.dev/override-restart-gate` lets nothing through."""
        return self.facts.override_problem

    def due(self, status: RestartStatus) -> dict[str, Cause]:
        """By the name of the pod why it is due."""
        facts = self.facts
        asked = requested(status)
        return due_pods(facts.statefulsets, facts.pods, asked, on_config_change=facts.limits.on_config_change)

    def order(self, status: RestartStatus, first_uid: str | None = None) -> tuple[Pod, ...]:
        """The least to read first."""
        return in_order(self.due(status), self.facts, first_uid)

    def unknown(self, status: RestartStatus) -> RollDecision | None:
        """There is no StatefulSet, or it cannot be read."""
        if self.facts.statefulsets:
            return None
        missing = "there is no such StatefulSet: correct dataPlane.datanodes.statefulSetRef, or create it"
        message = self.facts.statefulset_problem or missing
        return meanwhile(give_back(status, self.facts), decided(status, Reason.NO_STATEFUL_SET, message))

    def before_next(self, status: RestartStatus) -> RollDecision | None:
        """The database of before leaves maintenance; the template is the newest, and Kubernetes leaves pods alone."""
        facts = self.facts
        return (
            leave_first(status, facts, is_begun=False) or template.blocked(status, facts) or template.new(status, facts)
        )

    def impossible(self, status: RestartStatus, member: Pod) -> RollDecision | None:
        """It would come back with the old template."""
        if not is_partition_of_others(member, self.facts, self.due(status)[member.name]):
            return None
        message = f"{member.name} would come back with the old pod template: another operator sets the partition"
        return decided(status, Reason.PARTITION_NOT_OURS, message)

    def refusal(self, status: RestartStatus, member: Pod, *, is_chosen: bool) -> Refusal | None:
        """The first predicate that holds; the length of the replay counts only before the journal has it."""
        asked = Candidate(member.name, self.facts, status.last_replay)
        if is_chosen:
            return refusal(asked, but=BEFORE_FLUSH)
        but = frozenset[Blocker]() if is_flushed(status, member, self.facts) else BEFORE_FLUSH
        found = refusal(asked, but=but)
        return found if found is not None or flush(status, member, self.facts) is not None else refusal(asked)

    def prepare(self, status: RestartStatus, member: Pod) -> RollDecision | None:
        """Its regions flush, and the database enters maintenance."""
        return flush(status, member, self.facts) or enter(status, self.facts, RollStage.MAINTENANCE)

    def begins(self, status: RestartStatus, member: Pod) -> tuple[RestartStatus, Disruption]:
        """Maintenance stays for as long as a datanode takes to end."""
        update = {"maintenance": kept_until(status, self.facts, MAINTENANCE_LEASE), "progress": None}
        return status.model_copy(update=update), begun(status, member, self.facts)

    def before_act(self, status: RestartStatus) -> RollDecision | None:
        """The database of before leaves maintenance."""
        return leave_first(status, self.facts, is_begun=True)

    def act(self, status: RestartStatus, member: Pod) -> RollDecision:
        """It is evicted; or the partition is lowered to it, where it would come back with the old template.

        While a PodDisruptionBudget forbids that, there is no maintenance but for a try now and then. It may have waited
        for hours, for a budget or for the gate: then its regions flush anew first.
        """
        kept_out = keep_out(status, member.name, self.facts, self.forbidden)
        if kept_out is not None:
            return kept_out
        tried = self._flush_anew(status, member)
        tried = tried or enter(status, self.facts, RollStage.RESTARTING) or self._restart(status, member)
        return in_its_words(tried, member.name, self.facts)

    def measured_anew(self, status: RestartStatus, entry: Disruption) -> Disruption:
        """What it replays, and how long it may take, by the newest report of the process that goes."""
        return measured_anew(entry, status, self.facts)

    def noted(self, entry: Disruption, member: Pod) -> Disruption:
        """Its container may have ended and begun anew where it is, since the journal has it."""
        return noted(entry, self.facts.datanodes.get(member.name))

    def gone(self, status: RestartStatus, entry: Disruption) -> RollDecision:
        """Maintenance stays for as long as the replay may take."""
        lease = kept_until(status, self.facts, timedelta(seconds=entry.budget_seconds))
        update = {"stage": RollStage.REPLAYING, "maintenance": lease, "flush": None, "forbidden": None}
        return changed(status, Reason.REPLAYING, f"{entry.name} is gone, and comes back", **update)

    def rest(self, status: RestartStatus) -> RollDecision | None:
        """Nobody needs the maintenance."""
        return give_back(status, self.facts)

    def is_back(self, entry: Disruption, member: Pod) -> bool:
        """Only what the new process reports counts: what the old one said stays the newest report for a while."""
        datanode = self.facts.datanodes.get(member.name)
        if member.uid == entry.uid or datanode is None or not self.facts.serves(member):
            return False
        return datanode.is_another_process(entry.datanode)

    def returning(self, status: RestartStatus, entry: Disruption) -> RollDecision:
        """It replays. Maintenance is given back when its time is over, or its database is no longer the spec's."""
        reported: RollDecision = decided(status, Reason.REPLAYING, self._how_far(status, entry))
        lease = status.maintenance
        is_over = lease is not None and (lease.leaving_time is not None or self.now >= lease.expiry_time)
        gives_back = is_over or is_elsewhere(status, self.facts)
        return meanwhile(give_back(status, self.facts), reported) if gives_back else reported

    def goes_again(self, entry: Disruption, member: Pod) -> bool:
        """What it took so far is no measure of the next one, which has all of its time."""
        return member.is_terminating and member.uid != entry.uid

    def mends(self, status: RestartStatus, entry: Disruption, member: Pod) -> RollDecision | None:
        """With OnDelete Kubernetes replaces no pod, so an edit alone mends nothing. Maintenance is given back first."""
        if status.maintenance is not None or not self._is_outdated(status, entry, member):
            return None
        if self.refusal(status, member, is_chosen=True) is not None:
            return None
        tried = flush(status, member, self.facts, RollStage.STALLED)
        if tried is not None:  # in the words of what stalls: each flush would be an event
            is_stuck = tried.verdict.reason == Reason.UNLOGGED_NOT_FLUSHED
            return tried if is_stuck else saying(tried, Reason.BUDGET_EXCEEDED, status.message)
        return restarts(status, member.name, Evict(member, self._passed(status, member)), self.forbidden)

    def left_out(self, status: RestartStatus, entry: Disruption) -> Decision[DatanodeRoll, RolloutAction] | None:
        """Over, and its maintenance with it, when nobody makes such a pod again; until then nothing else is begun."""
        if self.facts.expects(entry.name):
            return None
        message = f"{entry.name} is no more one of the datanodes that are named"
        if (why := self.facts.why_not_gone(entry.name)) is not None:
            stalled = status.model_copy(update={"stage": RollStage.STALLED})
            remedy = "scale down or delete what is left of it, or name its StatefulSet again"
            waits: RollDecision = decided(stalled, Reason.NOT_NAMED, f"{message}, and {why}: {remedy}")
            return journaled(entry, meanwhile(give_back(stalled, self.facts), waits))
        update = {
            "progress": None,
            "flush": None,
            "forbidden": None,
            "maintenance": kept_until(status, self.facts, timedelta()),
        }
        message = f"{message}, and gone for good: its restart is over"
        return journaled(None, changed(status, Reason.LEFT_OUT, message, stage=RollStage.WAITING, **update))

    def is_done(self, status: RestartStatus, entry: Disruption, member: Pod) -> RestartStatus:
        """How fast it replayed is remembered; maintenance stays for the next one."""
        update: dict[str, object] = {
            "progress": None,
            "maintenance": kept_until(status, self.facts, MAINTENANCE_LEASE),
        }
        elapsed = self.now - (entry.gone_time or self.now)
        # A crash in between is no measure, nor is what took longer than its budget: nobody may have looked for hours.
        is_measured = not member.restarts and elapsed.total_seconds() <= entry.budget_seconds
        measured = measure(entry.datanode, elapsed) if entry.datanode is not None and is_measured else None
        if measured is not None:
            update["last_replay"] = measured
        return status.model_copy(update=update)

    def diagnosis(self, status: RestartStatus, entry: Disruption) -> str:
        """What ails it."""
        found = diagnose(self.facts, status.last_replay)
        ailment = next((each.message for each in found if each.pod == entry.name), "")
        pod = self.facts.pod(entry.name)
        if pod is None or not self._is_outdated(status, entry, pod):
            return ailment
        waits = self.refusal(status, pod, is_chosen=True)
        return ailment if waits is None else f"{ailment} It is to be made anew, but {waits.message}"

    def ends(self, status: RestartStatus) -> RollDecision | None:
        """Maintenance is given back, and partitions keep all pods again."""
        return give_back(status, self.facts) or template.park(status, self.facts)

    def completed(self, status: RestartStatus) -> RestartStatus:
        """Which configuration is rolled out is remembered: of a request, the one that all pods have at least."""
        facts = self.facts
        is_everywhere = all(each.template.config_hash == facts.config_hash for each in facts.statefulsets)
        known = facts.config_hash if is_everywhere else status.requested_config_hash or status.config_hash
        return status.model_copy(update={"flush": None, "flushed": (), "config_hash": known})

    def nothing_to_do(self, status: RestartStatus) -> tuple[str, str]:
        """Whether a changed configuration, or a value that is done, is what somebody waits for."""
        return template.nothing_to_do(status, self.facts)

    def _flush_anew(self, status: RestartStatus, pod: Pod) -> RollDecision | None:
        """Without maintenance, which a flush of minutes does not need."""
        found = flush(status, pod, self.facts, RollStage.RESTARTING)
        return None if found is None else meanwhile(give_back(status, self.facts), found)

    def _restart(self, status: RestartStatus, pod: Pod) -> RollDecision:
        statefulset, cause = self.facts.set_of(pod.name), self.due(status).get(pod.name)
        if statefulset is not None and not statefulset.observed:  # it would come back as the old template says
            return decided(status, Reason.RESTARTING, "Kubernetes has not looked at the StatefulSet's newest spec yet")
        if statefulset is not None and cause is not None and cause.needs_template and is_kept_back(statefulset, pod):
            if not status.drives_partition:
                message = f"the partition is lowered to {pod.name}"
                return changed(status, Reason.RESTARTING, message, drives_partition=True)
            action: RolloutAction = SetPartition(statefulset, pod.ordinal, self._passed(status, pod))
        else:
            action = Evict(pod, self._passed(status, pod))
        return restarts(status, pod.name, action, None)

    def _passed(self, status: RestartStatus, pod: Pod) -> str:
        passed = let_through(Candidate(pod.name, self.facts, status.last_replay))
        return "" if passed is None else self._by_whom(passed.message)

    def _is_outdated(self, status: RestartStatus, entry: Disruption, pod: Pod) -> bool:
        """Whether it did not come up in time, and only Seawall gives it the template of now. A replay is left to it."""
        found = self.facts.set_of(pod.name)
        if status.stage is not RollStage.STALLED or pod.ready or pod.is_terminating or pod.uid == entry.uid:
            return False
        if found is None or found.strategy is not UpdateStrategy.ON_DELETE or not found.observed:
            return False
        return bool(found.update_revision) and pod.revision not in {"", found.update_revision}

    def _by_whom(self, message: str) -> str:
        override = self.facts.override
        return message if override is None else f"{message}, let through {override.until_and_why}"

    def _how_far(self, status: RestartStatus, entry: Disruption) -> str:
        pod, reported = self.facts.pod(entry.name), status.progress
        if pod is None or pod.uid == entry.uid:
            return f"the old pod {entry.name} ends"
        if reported is None or not reported.total:
            return f"{entry.name} replays"
        return f"{entry.name} replays: {reported.done} of {reported.total} entries"
