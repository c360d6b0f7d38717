"""How the logs of a restore that passed are adopted: their records begin anew, purges and restarts go on by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from seawall.api.v1alpha1.restore_status import RestoredTopic
from seawall.domain.kafka_log import LogOffsets
from seawall.domain.ledger.fence import ObservedLog, first_record
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.restore.actions import AdoptLogs
from seawall.domain.restore.case import Case, PoolNow, RestoreDecision
from seawall.domain.restore.contract import logs_digest
from seawall.domain.restore.inspecting import and_besides
from seawall.domain.restore.reasons import Reason
from seawall.domain.restore.topics import (
    planned_names,
    wait_for_absent,
    wait_for_stop,
    was_started,
    why_changed,
    why_unknown,
)
from seawall.domain.text import listed

STARTED = "the database was started while its logs were written: what it has opened is not whole, stop it"


def adopt(case: Case) -> RestoreDecision:
    """Begins the records anew, if the logs are what was read back, and then says that all is done."""
    pool = case.observed.pool
    if not isinstance(pool, PoolNow):
        return case.stays(case.goes_on(Reason.KAFKA_UNREACHABLE, pool or "nobody has asked yet"))
    if (silent := why_unknown(case, pool)) is not None:
        return case.stays(case.goes_on(Reason.KAFKA_UNREACHABLE, silent))
    if (changed := why_changed(case, pool)) is not None:
        return case.ends(Reason.TOPIC_CHANGED, changed)
    if (absent := wait_for_absent(case, pool)) is not None:
        return absent
    records, known = _records(case, pool), pool.shards.of_topics(planned_names(case))
    new = _without_good(records, known)
    if not new:
        rows = tuple(_with_ends(row, records.get(row.name)) for row in case.status.topics)
        message = f"{case.status.message}{and_besides(case.status)}"
        return case.ends(Reason.RESTORED, message, complete=True, topics=rows)
    return _why_not_adopted(case, records) or case.stays(
        case.goes_on(Reason.ADOPTING, f"it adopts {listed(list(new))}"),
        AdoptLogs(pool.id, pool.shards.changed(new), tuple(new)),
    )


def _without_good(records: Mapping[str, FenceRecord], known: Mapping[str, FenceRecord]) -> dict[str, FenceRecord]:
    """The records of logs of which none is known that is good for them."""
    return {
        name: record
        for name, record in records.items()
        if name not in known or not known[name].is_good_for(record.topic_id)
    }


def _why_not_adopted(case: Case, records: Mapping[str, FenceRecord]) -> RestoreDecision | None:
    """Logs that were cut or written to since they were read back, or that a database has opened before."""
    if was_started(case):
        return case.leaves(Reason.NOT_OURS, f"{STARTED}; what is there is left as it is")
    database = case.observed.database
    if database is None or database.runs is None:
        return wait_for_stop(case, database)
    found = logs_digest((name, record.log_start, record.high_watermark) for name, record in records.items())
    if found != case.status.logs:
        message = "the logs were cut or written to after they were read back; what is there is left as it is"
        return case.leaves(Reason.NOT_RESTORED, message)
    return None


def _records(case: Case, pool: PoolNow) -> dict[str, FenceRecord]:
    """As of a first contact; the mark of a readoption that was met before stays, so that it adopts nothing again."""
    known, found = pool.shards.of_topics(planned_names(case)), dict[str, FenceRecord]()
    for row in case.status.planned:
        offsets, before = pool.offsets[row.name], known.get(row.name)
        if isinstance(offsets, LogOffsets) and row.topic_id is not None:
            log = ObservedLog(row.topic_id, offsets.leader_epoch, offsets.log_start, offsets.high_watermark, None)
            found[row.name] = replace(first_record(log), readopted=None if before is None else before.readopted)
    return found


def _with_ends(row: RestoredTopic, record: FenceRecord | None) -> RestoredTopic:
    if record is None:
        return row
    return row.model_copy(update={"start": record.log_start, "end": record.high_watermark})
