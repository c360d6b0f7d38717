"""The offsets of the ledger: what regions need, what a run sees, and where a purge may end.

Named as in the design (section 3, "The ledger"); the rules (`rules.py`) judge by them. Where the design leaves a
choice, the safe reading was taken:

* `idle_to` is per inner region, as `flushed_to` is: the metric engine's quiet metadata region must not hold back its
  busy data region, and each of them needs nothing at and below its own prunable id.
* `flushed_to` is unknown without a report, even if a checkpoint is stored: the checkpoint alone would be too low, and
  show a disaster that is none.
* `idle_to` counts only while its reporter is *settled*: two advances under one leader, one epoch and one revision of
  the route. The sample of a leader that was replaced and came back may have been taken while its successor wrote:
  announcing it would skip the successor's rows. (The design asks for two advances before a delete; the announcement
  needs them too.)
* Nor does it count where rows may have left the memtable without becoming durable (`Route.may_have_staged`): a restart
  would read them from the log. A region that is idle is then moved on by the checkpoint that the database stores.
* In mode A and B the value that is read again is the marker; in mode B a marker that was announced before by somebody
  else is as good, because every opener reads it: but for UNDROP TABLE, which opens a region by its manifest's flushed
  ids. Where tables may be undropped mode B announces nothing beyond these, neither by idle ids nor by checkpoints.
* `reads_from` is unknown while the marker is: the reason is then `MarkerMissing`, no disaster.
"""

from __future__ import annotations

import numpy as np

from seawall.domain.columns import Ids, Mask, any_by, choose, greatest, least, least_of_all
from seawall.domain.ledger.mode import Mode
from seawall.domain.ledger.tables import Bounds, Freshness, Regions, Topics


def flushed_to(regions: Regions) -> Ids:
    """The min over inner regions of max(manifest flushed entry id, stored checkpoint)."""
    data = greatest(regions.data_flushed, regions.data_checkpoint).only(regions.data_flushed.known)
    metadata = greatest(regions.metadata_flushed, regions.metadata_checkpoint).only(regions.metadata_flushed.known)
    return _of_both(regions, data, metadata)


def prunable(regions: Regions, freshness: Freshness, mode: Mode, *, undrops: bool = False) -> Ids:
    """The max(flushed to, idle to if the database reads the marker when it opens a region); never the marker itself.

    `undrops`: in mode B the manifest's flushed ids alone.
    """
    if not mode.reads_marker:
        return flushed_to(regions)
    if undrops and mode is Mode.B:
        return _of_both(regions, regions.data_flushed, regions.metadata_flushed)
    counts = freshness.settled & regions.idle_is_durable
    data_idle, metadata_idle = regions.data_idle.only(counts), regions.metadata_idle.only(counts)
    flushed = regions.data_flushed.known
    data = greatest(regions.data_flushed, regions.data_checkpoint, data_idle).only(flushed)
    flushed = regions.metadata_flushed.known
    metadata = greatest(regions.metadata_flushed, regions.metadata_checkpoint, metadata_idle).only(flushed)
    return _of_both(regions, data, metadata)


def _of_both(regions: Regions, data: Ids, metadata: Ids) -> Ids:
    """Of a metric region the lesser one of its two inner regions."""
    return choose(regions.metric, least_of_all(data, metadata), data)


def reads_from(regions: Regions, topics: Topics, mode: Mode) -> Ids:
    """The max(flushed to [, marker if read at open]) + 1: what a restart would read; never a licence to delete."""
    flushed = flushed_to(regions)
    if not mode.reads_marker:
        return flushed + 1
    marker = topics.marker.take(regions.topic)
    return greatest(flushed, marker).only(flushed.known & marker.known) + 1


def to_be_recorded(prunable_: Ids, regions: Regions, topics: Topics, mode: Mode, bounds: Bounds) -> Ids:
    """The value that a run would see now: A the marker, B what it would announce (or what stands), C min flushed to.

    B and C: not beyond what a follower needs, which skips what is announced if it opens the region anew. Of a topic
    without regions that was declared unused nothing is needed: in B and C it is the last id of its log.
    """
    if mode is Mode.A:
        return topics.marker
    lowest = prunable_.least_of_all_by(regions.topic, len(topics))
    lowest = least(lowest, bounds.follower).only(lowest.known)
    unused = bounds.unused
    lowest = choose(unused & without_regions(regions, topics), topics.high_watermark - 1, lowest)
    return greatest(lowest, topics.marker).only(lowest.known & topics.marker.known) if mode is Mode.B else lowest


def without_regions(regions: Regions, topics: Topics) -> Mask:
    """By topic, whether no region is mapped to it, reported, or remembered by a tombstone."""
    return ~any_by(np.ones(len(regions), np.bool_), regions.topic, len(topics))


def read_again(regions: Regions, topics: Topics, mode: Mode, unused: Mask) -> Ids:
    """The seen value as it is now: A and B the marker, C min flushed to."""
    if mode.reads_marker:
        return topics.marker
    lowest = flushed_to(regions).least_of_all_by(regions.topic, len(topics))
    return choose(unused & without_regions(regions, topics), topics.high_watermark - 1, lowest)


def floor(observed: Ids, again: Ids) -> Ids:
    """The min(seen value, the same value read again now); unknown where either is."""
    return least_of_all(observed, again)


def purge_to(floor_: Ids, bounds: Bounds) -> Ids:
    """The min(floor less keepEntries, followers, holds, verifiedFrom): exclusive, so the record at it stays."""
    kept = floor_ - bounds.keep_entries
    verified = bounds.verified_from.only(bounds.verification_required)
    return least(kept, bounds.follower, bounds.hold, verified).only(
        floor_.known & (~bounds.verification_required | verified.known)
    )
