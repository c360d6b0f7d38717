"""Maintenance: while a datanode restarts, nobody may take it for dead and move its regions; and which database answers.

A name leads elsewhere at any time. Maintenance counts as off only by the word of the database in which it was turned
on. The status remembers that by the id of its metadata store, and three things speak against it:

    the address is the spec's, and metasrv, store and frontend are not of one database, or it is another store
    the store is the remembered one, and has the switch on: a metasrv that says off keeps its own elsewhere

Of an address that the spec no longer names only the metasrv's answer is known, if the store is another one, too.

It is one switch for all who use it, without an owner. So the roll writes into its status that it wants it before it
turns it on, and whether it was on before: then it is somebody else's, and stays on. It is given back in every end:
when the roll is over, when the gate is shut, when a PodDisruptionBudget forbids the eviction (budget.py), when a
restart takes too long (failover may then help), and when the time that is in the status is over. The status forgets it
only when it was seen off, and a request to turn it on that was on its way has had the time to arrive.

It also has the address of the metasrv: the spec may name another one by then, or none. It is turned off where it was
turned on, and no other database is asked to enter maintenance before that. And it has the database, by the id of its
metadata store: while another one answers at the address, nobody knows, and the status keeps it.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, replace
from datetime import timedelta

from seawall.api.v1alpha1.rollout import Maintenance, RestartStatus, RollStage
from seawall.domain.clocks import prolonged
from seawall.domain.datanodes.actions import SetMaintenance
from seawall.domain.datanodes.decision import RollDecision
from seawall.domain.datanodes.facts import Facts
from seawall.domain.dataplane.connection import identity_by_contract, url_of_contract
from seawall.domain.dataplane.metadata import StoredMaintenance
from seawall.domain.rollout.decision import changed, decided, saying
from seawall.domain.rollout.workload import OVERRIDE_ANNOTATION
from seawall.domain.rollout_reasons import Reason
from seawall.domain.times import (
    MAINTENANCE_GIVE_UP_AFTER,
    MAINTENANCE_LEASE,
    MAINTENANCE_MAX_RETRY_SECONDS,
    MAINTENANCE_ON_ITS_WAY,
    MAINTENANCE_SETTLES,
    MAINTENANCE_SILENT,
    ROLLOUT_POLL_SECONDS,
    SILENCE_LONGEST_BREAK,
)


@dataclass(frozen=True, slots=True)
class Answers:
    """What is asked after the metasrv has answered, and says whose answer that was.

    Attributes:
        contradiction: why what answers at the spec's addresses is not the pinned database, in one clause; None: nothing
            says so.
        store: what the spec's metadata store has; None: it was not asked, does not let us read that, or is silent.
        is_store_silent: it was asked, and did not answer.
    """

    contradiction: str | None = None
    store: StoredMaintenance | None = None
    is_store_silent: bool = False


def with_witnesses(facts: Facts, lease: Maintenance | None, answers: Answers) -> Facts:
    """The facts without the metasrv's answer, where it is another database's; "off" needs a store that answers."""
    other = why_other_database(facts, lease, answers)
    if other is not None:
        return replace(facts, in_maintenance=None, other_database=other)
    is_unproven = answers.is_store_silent and facts.in_maintenance is False and _is_the_specs(facts, lease)
    return replace(facts, in_maintenance=None) if is_unproven else facts


def why_other_database(facts: Facts, lease: Maintenance | None, answers: Answers) -> str | None:
    """Why the answer is not that of the database in which maintenance was turned on, in one clause; None: it may be."""
    is_the_specs = _is_the_specs(facts, lease)
    if is_the_specs and answers.contradiction is not None:
        return answers.contradiction
    store, database = answers.store, meant_by(lease, facts.database)
    if database is None or store is None:
        return None
    if store.store_id != database:
        other = f"the metadata store is {store.store_id}, and it is {database} that was put into maintenance"
        return other if is_the_specs else None
    if store.is_on and facts.in_maintenance is False:
        return f"the database says that maintenance is off, and the metadata store {database} that it is on"
    return None


def meant_by(lease: Maintenance | None, pinned: str | None) -> str | None:
    """Which database's maintenance matters: that of which the status remembers it, or else the pinned one."""
    return pinned if lease is None else lease.database or pinned


def _is_the_specs(facts: Facts, lease: Maintenance | None) -> bool:
    return lease is None or lease.metasrv in {None, facts.metasrv}


AT_ITS_OWN = "It is asked again and again. By hand, where the first one can be reached"

NO_MORE = (
    f"If that database is no more, as where its metadata were restored under another id, {OVERRIDE_ANNOTATION}: "
    "<reason>@<expiry> ends the wait after ten minutes"
)

RETRY_PART = 10
"""It is asked again after this part of the time that it has taken, and once a minute at the least."""


def address_of(status: RestartStatus, metasrv: str | None) -> str | None:
    """The metasrv whose maintenance matters: the one that is remembered, or else the spec's; None: there is none."""
    lease = status.maintenance
    return metasrv if lease is None or lease.metasrv is None else lease.metasrv


def with_address(status: RestartStatus, facts: Facts) -> RestartStatus:
    """An older version wrote no address, or not which database: it meant the spec's, and the pinned one."""
    lease = status.maintenance
    if lease is None:
        return status
    update = {"metasrv": lease.metasrv or facts.metasrv, "database": lease.database or facts.database}
    return status.model_copy(update={"maintenance": lease.model_copy(update=update)})


def with_silence(status: RestartStatus, facts: Facts) -> RestartStatus:
    """For how long nobody says whether it is still on, while the WALCluster is being deleted."""
    lease = status.maintenance
    if lease is None:
        return status
    is_silent = facts.in_maintenance is None
    found = prolonged(lease.unanswered, facts.now, SILENCE_LONGEST_BREAK) if is_silent else None
    return status.model_copy(update={"maintenance": lease.model_copy(update={"unanswered": found})})


def is_elsewhere(status: RestartStatus, facts: Facts) -> bool:
    """Whether the maintenance is that of another address than the spec's."""
    return status.maintenance is not None and address_of(status, facts.metasrv) != facts.metasrv


def is_left_on(status: RestartStatus, facts: Facts) -> bool:
    """Whether people have to hear that the database may be left in maintenance."""
    lease = status.maintenance
    if lease is None or lease.was_on or lease.leaving_time is None:
        return False
    return facts.in_maintenance is not False and facts.now >= lease.leaving_time + MAINTENANCE_SILENT


def is_released(status: RestartStatus, facts: Facts) -> bool:
    """Whether a person's word ends the maintenance of a database that cannot be reached: nobody asks it any more."""
    lease = status.maintenance
    if lease is None or lease.leaving_time is None or facts.in_maintenance is not None or facts.override is None:
        return False
    is_gone = is_elsewhere(status, facts) or facts.other_database is not None
    return is_gone and facts.now >= lease.leaving_time + MAINTENANCE_GIVE_UP_AFTER


def is_of_others(status: RestartStatus, facts: Facts) -> bool:
    """Whether the database is in maintenance that is not Seawall's, as far as the status says.

    It is a person's, or that of a roll which the API server has forgotten: it was restored from a backup.
    """
    lease = status.maintenance
    return facts.in_maintenance is True and (lease is None or lease.was_on)


def by_hand(status: RestartStatus, metasrv: str | None = None, pinned: str | None = None) -> str:
    """What a person can type; `metasrv` is the spec's, and `pinned` the database, where the status remembers none."""
    address = address_of(status, metasrv) or "http://<metasrv>"
    if url_of_contract(address) is not None:
        database = identity_by_contract(meant_by(status.maintenance, pinned)) or "<identity>"
        body = json.dumps({"database": database, "enabled": False})
        return f"curl -X PUT {address}/maintenance --json {shlex.quote(body)}"
    return f"curl -X POST {address}/admin/maintenance/disable"


def of_others_message(status: RestartStatus, facts: Facts) -> str:
    """The sentence on maintenance that is not Seawall's."""
    where = address_of(status, facts.metasrv)
    is_managed = any(each.declared_partition is not None for each in facts.statefulsets)
    who = "a person or greptimedb-operator" if is_managed else "a person"
    return (
        f"the database at {where} is in maintenance, in which nothing fails over; {who} turned it "
        "on, or a roll that the API server has forgotten since it was restored from a backup. "
        f"Who needs it no more types: {by_hand(status, facts.metasrv, facts.database)}"
    )


def left_on_message(status: RestartStatus, facts: Facts) -> str:
    """The sentence; it stays the same while it is tried again."""
    where = address_of(status, None) or "an address that is no more in the spec"
    message = f"the database at {where} may be left in maintenance, in which nothing fails over"
    if facts.other_database is not None:
        message = f"{message}, and another database answers there ({facts.other_database}). {AT_ITS_OWN}"
        return f"{message}: {by_hand(status)}. {NO_MORE}"
    message = f"{message}: it is tried again and again. By hand: {by_hand(status)}"
    return f"{message}. {NO_MORE}" if is_elsewhere(status, facts) else message


def enter(status: RestartStatus, facts: Facts, stage: RollStage) -> RollDecision | None:
    """The next thing to do to be in maintenance; None: the database has been in it for long enough."""
    lease, is_on, metasrv = status.maintenance, facts.in_maintenance, address_of(status, facts.metasrv)
    if lease is not None and (lease.leaving_time is not None or facts.now >= lease.expiry_time):
        return give_back(status, facts)
    if is_on is None or metasrv is None:
        why = f": another one answers ({facts.other_database})" if facts.other_database is not None else ""
        message = f"the database does not say whether it is in maintenance{why}"
        return decided(status, Reason.ENTERING_MAINTENANCE, message)
    if lease is None:
        return _enters(status, stage=stage, maintenance=_taken(metasrv, facts, was_on=is_on))
    return _settle(status, lease, facts) if is_on else _turn_on(status, lease, metasrv)


def _taken(metasrv: str, facts: Facts, *, was_on: bool) -> Maintenance:
    expiry = facts.now + MAINTENANCE_LEASE
    return Maintenance(
        metasrv=metasrv, database=facts.database, taken_time=facts.now, expiry_time=expiry, was_on=was_on
    )


def _settle(status: RestartStatus, lease: Maintenance, facts: Facts) -> RollDecision | None:
    if lease.seen_time is None:
        return _enters(status, maintenance=lease.model_copy(update={"seen_time": facts.now}))
    return _enters(status) if facts.now < lease.seen_time + MAINTENANCE_SETTLES else None


def _turn_on(status: RestartStatus, lease: Maintenance, metasrv: str) -> RollDecision:
    """Whoever had turned it on before turned it off meanwhile: from now on it is ours."""
    if lease.was_on or lease.seen_time is not None:
        return _enters(status, maintenance=lease.model_copy(update={"was_on": False, "seen_time": None}))
    return replace(_enters(status), actions=(SetMaintenance(enabled=True, metasrv=metasrv),))


def give_back(status: RestartStatus, facts: Facts) -> RollDecision | None:
    """The next thing to do to be out of it; None: it is given back."""
    lease, is_on = status.maintenance, facts.in_maintenance
    if lease is None:
        return None
    if lease.was_on:
        return _leaves(status, maintenance=None)
    if lease.leaving_time is None:
        return _leaves(status, maintenance=lease.model_copy(update={"leaving_time": facts.now}))
    if is_on is False and facts.now >= lease.leaving_time + MAINTENANCE_ON_ITS_WAY:
        return _leaves(status, maintenance=None)
    leaves = _left_on(status, facts, facts.now - lease.leaving_time) if is_left_on(status, facts) else _leaves(status)
    if is_on and lease.metasrv is not None:
        return replace(leaves, actions=(SetMaintenance(enabled=False, metasrv=lease.metasrv),))
    return leaves


def leave_first(status: RestartStatus, facts: Facts, *, is_begun: bool) -> RollDecision | None:
    """The next thing to do before anything else is begun, as the spec names another metasrv; None: it does not.

    Who is next, and who was flushed, was found by what the database of before said. A database that a person no longer
    waits for is forgotten, also when it is another one that answers at the spec's address.
    """
    where = address_of(status, None)
    if facts.override is not None and is_released(status, facts):
        message = f"the database at {where} is no longer waited for, {facts.override.until_and_why}"
        message = f"{message}. It may be left in maintenance: {by_hand(status)}"
        return changed(status, Reason.GIVEN_UP, message, maintenance=None)
    if not is_elsewhere(status, facts):
        return None
    stage = status.stage if is_begun else RollStage.WAITING
    update = {"stage": stage, "next": None, "flush": None, "flushed": ()}
    leaves = give_back(status.model_copy(update=update), facts)
    if leaves is None or leaves.verdict.reason == Reason.LEFT_ON:
        return leaves
    message = f"the spec names another database than that at {where}, which leaves maintenance before anything goes on"
    return saying(leaves, Reason.METASRV_EDITED, message)


def kept_until(status: RestartStatus, facts: Facts, time: timedelta) -> Maintenance | None:
    """The lease with this much time from now on."""
    lease = status.maintenance
    return None if lease is None else lease.model_copy(update={"expiry_time": facts.now + time})


def _enters(status: RestartStatus, **update: object) -> RollDecision:
    return changed(status, Reason.ENTERING_MAINTENANCE, "the database enters maintenance", **update)


def _leaves(status: RestartStatus, **update: object) -> RollDecision:
    return changed(status, Reason.LEAVING_MAINTENANCE, "the database leaves maintenance", **update)


def _left_on(status: RestartStatus, facts: Facts, elapsed: timedelta) -> RollDecision:
    after = min(max(elapsed.total_seconds() / RETRY_PART, ROLLOUT_POLL_SECONDS), MAINTENANCE_MAX_RETRY_SECONDS)
    return decided(status, Reason.LEFT_ON, left_on_message(status, facts), after=after)
