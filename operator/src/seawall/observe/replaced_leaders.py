"""Leaders that were replaced, and do not know it: what they say is of the log as it was, and of no cut.

A broker that is cut off from the controllers leads on by what it knows, for whoever still reaches it. It answers in its
own, older epoch, and a question about a newer one as if that had never been (KIP-320): as a log of which all is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.tables import TopicLog
from seawall.domain.times import LEDGER_REPLACED_MS


@dataclass(slots=True)
class ReplacedLeaders:
    """Since when topics are led in an older epoch than is known, in the stopwatch's milliseconds, by their names.

    A process that starts anew waits once more. Who leads so for longer may do so by metadata of an older copy: then
    nobody ever leads in the newer epoch again, and the log is judged as it is.
    """

    since: dict[str, int] = field(default_factory=dict)

    def left_out(
        self,
        known: Mapping[str, TopicLog],
        records: Mapping[str, FenceRecord],
        before: Mapping[str, TopicLog],
        now: int,
    ) -> dict[str, TopicLog]:
        """The logs; of those whose leader was replaced lately nothing is known but their ids.

        `records` and `before` say in which epochs they were led: by anybody, and by this process's last observation.
        """
        older = [name for name, log in known.items() if _is_older(log, records.get(name), before.get(name))]
        self.since = {name: self.since.get(name, now) for name in older}
        lately = [name for name, since in self.since.items() if now - since < LEDGER_REPLACED_MS]
        return {**known, **{name: TopicLog(known[name].topic_id, None, None, None) for name in lately}}


def _is_older(log: TopicLog, *others: FenceRecord | TopicLog | None) -> bool:
    epoch = log.leader_epoch
    same = [each.leader_epoch for each in others if each is not None and each.topic_id == log.topic_id]
    return epoch is not None and any(other is not None and epoch < other for other in same)
