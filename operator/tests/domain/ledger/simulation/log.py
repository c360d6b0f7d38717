"""Kafka, as far as it matters: one partition whose records can be deleted, cut off, or recreated."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

from seawall.domain.ledger.tables import TopicLog


@dataclass
class Log:
    """A topic. The first record is the noop that makes the first real offset 1."""

    name: str
    incarnation: int = 0
    leader_epoch: int = 0
    log_start: int = 0
    high_watermark: int = 1
    epoch_ends: dict[int, int] = field(default_factory=dict)

    @property
    def topic_id(self) -> str:
        """Another one for each incarnation."""
        raw = f"{self.name[-8:]:>8}{self.incarnation:08d}".encode()
        return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

    def append(self) -> int:
        """One record; its offset."""
        self.high_watermark += 1
        return self.high_watermark - 1

    def delete_records(self, before: int) -> None:
        """As DeleteRecords does, with the adapter's guard."""
        assert 1 <= before <= self.high_watermark, f"the adapter refuses to delete to {before}"
        self.log_start = max(self.log_start, before)

    def fail_over(self, keep_to: int | None = None) -> None:
        """Another leader; with `keep_to` the end is cut off there (an unclean election)."""
        if keep_to is not None:
            self.high_watermark = max(self.log_start, min(keep_to, self.high_watermark))
        self.epoch_ends[self.leader_epoch] = self.high_watermark
        self.leader_epoch += 1

    def end_of_epoch(self, epoch: int | None) -> int | None:
        """OffsetsForLeaderEpoch."""
        return None if epoch is None else self.epoch_ends.get(epoch, self.high_watermark)

    def recreate(self) -> None:
        """Deleted and created again, by somebody."""
        self.incarnation += 1
        self.leader_epoch, self.log_start, self.high_watermark, self.epoch_ends = 0, 0, 1, {}

    def recorded(self) -> TopicLog:
        """What an admin client sees."""
        return TopicLog(self.topic_id, self.leader_epoch, self.log_start, self.high_watermark, 1000)
