"""How much of a topic of the target this mirror wrote: what somebody else appends there is a copy of nothing.

The sequence of a batch is its offset in the source. So what the leader remembers of the mirror's producer says up to
where the source was copied, whatever else is in the log. A leader forgets a producer that is silent for long; nothing
of ours was appended since, so a log that ends further then than was known before has something else, as far as anybody
can say. The next record of the source makes the producer known again.
"""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.v1alpha1.subscription_status import MirroredTopic, Producer
from seawall.domain.kafka_log import ProducerState, TopicFailure

SEQUENCES = 2**31
"""After the last one comes 0."""


@dataclass(frozen=True, slots=True)
class Written:
    """Up to where a topic is copied.

    Attributes:
        applied: the first offset that the target lacks, as far as that is certain.
        doubt: why it may have more; empty: it has not.
    """

    applied: int
    doubt: str = ""


def certain(row: MirroredTopic, held: int) -> int:
    """Up to where a topic is surely copied, by what was found out before: where its hold begins, or began."""
    return max(row.start, row.held or 0, held)


def find_written(
    row: MirroredTopic, end: int, held: int, producer: Producer | None, state: ProducerState | TopicFailure | None
) -> Written:
    """Up to where a topic is copied that ends here.

    Args:
        row: the topic.
        end: of its log in the target, read before `state`.
        held: where its hold begins.
        producer: the mirror's.
        state: what the leader remembers of that; it matters only of a log that ends beyond what is certain.
    """
    known = certain(row, held)
    if end <= known:
        return Written(max(end, row.start))
    if producer is None or not isinstance(state, ProducerState):
        why = "nobody asked" if not isinstance(state, TopicFailure) else state.message
        return Written(known, f"it is not known whether {row.name} of the target has its own records alone: {why}")
    if state.epoch is None:
        message = (
            f"{row.name} of the target ends at {end}, and does not know the producer of this mirror: from {known} on "
            "it may have records of somebody else"
        )
        return Written(known, message)
    if state.epoch != producer.epoch:
        return Written(known, f"{row.name} of the target knows epoch {state.epoch} of the producer: it was promoted")
    foreign = (end - state.last_sequence - 1) % SEQUENCES
    # A sequence ahead of the end is a batch that is not replicated yet.
    if not 0 < foreign < SEQUENCES // 2:
        return Written(end)
    message = f"{row.name} of the target has {foreign} records that this mirror did not write"
    return Written(max(end - foreign, row.start), message)
