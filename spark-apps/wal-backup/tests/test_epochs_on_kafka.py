"""What a Kafka says of its leader epochs: what was read is of its log, whoever led, and who led before does not say."""

from __future__ import annotations

import pytest
from wal_topics import Topics

from seawall_e2e.loopback import KafkaProcesses
from sparkjob.errors import Interrupted
from sparkjob.wire import epochs
from sparkjob.wire.epochs import Piece, epochs_to_ask, first_lost, read_epoch_ends
from sparkjob.wire.reader import Range, Reader

pytestmark = [pytest.mark.integration]
TOPIC, RECORDS = "epochs", [(b"k", b"v")] * 5


def test_an_epoch_ends_where_the_next_leader_began(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that starts again leads anew; one that led before, and does not know it, is not asked."""
    with KafkaProcesses(1) as kafka:
        topics, options = Topics(kafka.bootstrap_servers), {"bootstrap.servers": ",".join(kafka.bootstrap_servers)}
        topics.fill({TOPIC: RECORDS})
        (topic_id,) = topics.ids(TOPIC).values()
        kafka.stop(0)
        kafka.start(0)
        topics.append({TOPIC: RECORDS})
        with Reader(options) as reader:
            read = [(record.offset, epoch) for record, epoch in reader.read(Range(TOPIC, 0, 10))]
        (old,), (new,) = ({epoch for offset, epoch in read if (offset < 5) is is_old} for is_old in (True, False))
        assert old < new
        pieces = [Piece(old, 0, 5), Piece(new, 5, 10)]
        found = read_epoch_ends(options, {(TOPIC, topic_id): epochs_to_ask(pieces)})
        ends = found[TOPIC]
        assert (ends[old], ends[new]) == (5, 10)
        assert first_lost(pieces, ends) is None
        assert first_lost([Piece(old, 0, 6)], ends) == 5
        assert first_lost([Piece(new, 4, 10)], ends) == 4
        other = "AAAAAAAAAAAAAAAAAAAAAQ"
        assert read_epoch_ends(options, {(TOPIC, other): [old]}) == {TOPIC: {}}, "it was made again"
        monkeypatch.setattr(epochs, "SECONDS", 0.1)
        with pytest.raises(Interrupted, match="and is replaced"):
            read_epoch_ends(options, {(TOPIC, topic_id): [new + 1]})
