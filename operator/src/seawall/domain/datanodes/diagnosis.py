"""Why a datanode does not come up, from its pod, its regions and their topics: one sentence, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from seawall.api.v1alpha1.rollout import MeasuredReplay
from seawall.domain.datanodes.checks import Candidate
from seawall.domain.datanodes.facts import Facts
from seawall.domain.datanodes.replay import replay_seconds, startup_seconds
from seawall.domain.rollout.workload import Pod, Termination, is_stuck
from seawall.domain.rollout_reasons import FailureReason

CRASHING_RESTARTS = 2
"""A container that ended once may have been unlucky."""

KILLED = frozenset({137, 143})
"""Exit codes of SIGKILL and SIGTERM: how a kubelet ends a container that its probe gave up."""

NEARLY = 0.9
"""A probe counts from its first try, and the container ends a moment after its last."""

UNREADABLE = ("MissingKey", "Missing required key in a record", "Failed to decode object from json")
"""Words for a record whose key is missing, or is none of the database's. They do not name the offset."""

MAX_WORDS = 300
"""Characters of a container's last word that people are shown."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What ails the datanode of a pod."""

    pod: str
    ailment: FailureReason
    clause: str = ""

    @property
    def message(self) -> str:
        """One sentence and what to do."""
        found = f" ({self.clause})" if self.clause else ""
        return f"{self.pod}: {self.ailment.sentence.rstrip('.')}{found}. {self.ailment.remedy}"


@dataclass(frozen=True, slots=True)
class _Patient:
    pod: Pod
    facts: Facts
    measured: MeasuredReplay | None
    last: Termination


def diagnose(facts: Facts, measured: MeasuredReplay | None = None) -> tuple[Diagnosis, ...]:
    """What ails the datanodes, by pod; one that is ready and one that goes in its time ail nothing here."""
    if not facts.statefulsets:
        return ()
    missing = [Diagnosis(name, FailureReason.MISSING) for name in facts.missing()]
    found = [each for pod in facts.pods if (each := _diagnose(pod, facts, measured)) is not None]
    return tuple(sorted((*found, *missing), key=lambda each: (list(FailureReason).index(each.ailment), each.pod)))


def is_crashing(pod: Pod) -> bool:
    """Whether its container ends again and again."""
    return not pod.ready and (pod.restarts >= CRASHING_RESTARTS or pod.waiting == "CrashLoopBackOff")


def _diagnose(pod: Pod, facts: Facts, measured: MeasuredReplay | None) -> Diagnosis | None:
    if facts.serves(pod) or (pod.is_terminating and not is_stuck(pod.gone_by, facts.now)):
        return None
    if pod.is_terminating or not is_crashing(pod) or pod.last_termination is None:
        return Diagnosis(pod.name, FailureReason.NOT_SERVING, _serving(pod, facts))
    patient = _Patient(pod, facts, measured, pod.last_termination)
    for ailment, symptom in _SYMPTOMS:
        clause = symptom(patient)
        if clause is not None:
            return Diagnosis(pod.name, ailment, clause)
    return Diagnosis(pod.name, FailureReason.CRASHES, _last_word(patient.last))


def _is_out_of_range(patient: _Patient) -> str | None:
    datanode = patient.facts.datanodes.get(patient.pod.name)
    starts = {} if datanode is None else {topic.name: topic.log_start for topic in datanode.topics}
    for region in () if datanode is None else datanode.regions:
        start = starts.get(region.topic)
        if start is not None and region.reads_from is not None and start > region.reads_from:
            return f"{region.topic} starts at {start}, region {region.region} reads from {region.reads_from}"
    return _last_word(patient.last) if "OffsetOutOfRange" in patient.last.message else None


def _has_bad_record(patient: _Patient) -> str | None:
    found = patient.facts.bad_records.get(patient.pod.name)
    if found is not None:
        return f"offset {found.offset} of {found.topic}: {found.what}"
    return _last_word(patient.last) if any(words in patient.last.message for words in UNREADABLE) else None


def _is_out_of_memory(patient: _Patient) -> str | None:
    return "OOMKilled" if patient.last.reason == "OOMKilled" else None


def _probe_is_too_short(patient: _Patient) -> str | None:
    statefulset, last = patient.facts.set_of(patient.pod.name), patient.last
    allowed = None if statefulset is None else statefulset.template.startup_seconds
    if allowed is None or last.lasted is None or last.exit_code not in KILLED:
        return None
    if last.lasted < NEARLY * timedelta(seconds=allowed):
        return None
    asked = Candidate(patient.pod.name, patient.facts, patient.measured)
    replay = None if asked.datanode is None else replay_seconds(asked.datanode, patient.measured)
    needs = f"more than {allowed} s" if replay is None else f"{max(startup_seconds(replay), allowed + 1)} s"
    return f"the replay needs {needs}, the probe allows {allowed} s"


_SYMPTOMS: tuple[tuple[FailureReason, Callable[[_Patient], str | None]], ...] = (
    (FailureReason.OFFSET_OUT_OF_RANGE, _is_out_of_range),
    (FailureReason.BAD_RECORD, _has_bad_record),
    (FailureReason.OUT_OF_MEMORY, _is_out_of_memory),
    (FailureReason.PROBE_TOO_SHORT, _probe_is_too_short),
)


def _last_word(last: Termination) -> str:
    lines = [line.strip() for line in last.message.splitlines() if line.strip()]
    said = f": {lines[-1][:MAX_WORDS]}" if lines else ""
    return f"{last.reason or 'Error'}, exit code {last.exit_code}{said}"


def _serving(pod: Pod, facts: Facts) -> str:
    datanode = facts.datanodes.get(pod.name)
    if datanode is None:
        return "the database says nothing of it"
    state = "" if pod.ready else "the pod is not Ready, "
    if is_stuck(pod.gone_by, facts.now):
        state = "its pod does not go, and none is made instead: is its node there? "
    return f"{state}{datanode.leading} of {len(datanode.regions)} regions lead"
