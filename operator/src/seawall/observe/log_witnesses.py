"""Asks logs whether the regions that are reported wrote them, and remembers what they answered."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from seawall.domain.kafka_log import Keys
from seawall.domain.ledger.assess import Assessment
from seawall.domain.ledger.ledger import plan
from seawall.domain.ledger.read import Read
from seawall.domain.ledger.witness import Question, find_strangers, questions
from seawall.ports import KafkaLogs


@dataclass(frozen=True, slots=True)
class LogWitnesses:
    """What the logs of one WALCluster answered last. All of it may be lost: then they are asked again."""

    _answered: dict[str, tuple[Question, tuple[int, ...]]] = field(default_factory=dict)
    """By topic the question, and the regions that its log contradicted."""

    def ask(self, logs: KafkaLogs, found: Assessment, read: Read) -> Assessment:
        """Asks the logs whose records would be deleted, or skipped at a restart; the same question is asked once."""
        planned = plan(found.inputs)
        wanted = {planned.topics.names[row] for row in np.flatnonzero(planned.purge_to.known)}
        ids = {name: log.topic_id for name, log in read.logs.items()}
        asked = questions(planned.case.regions, planned.topics, ids, wanted | read.recorded.keys())
        new = {name: one for name, one in asked.items() if self._answer(name, one) is None}
        answers = logs.read_keys({name: (one.start, one.end) for name, one in new.items()}) if new else {}
        for name, keys in answers.items():
            if isinstance(keys, Keys):
                self._answered[name] = new[name], find_strangers(new[name], keys.by_offset)
        return found.with_records_of_others({name for name, one in asked.items() if self._answer(name, one)})

    def _answer(self, topic: str, question: Question) -> tuple[int, ...] | None:
        asked, strangers = self._answered.get(topic, (None, ()))
        return strangers if asked == question else None
