"""What a roll asks of purges: of whose topics nothing may begin to be deleted now.

The gate waits for deletes that are on their way (`DeleteOngoing`). So that it does not wait for ever, no other one
begins meanwhile; and none does while a datanode restarts, or cannot come up: what it has to read must stay. A roll that
waits for anything else keeps no purge away: that may take days, and disks are finite.
"""

from __future__ import annotations

from seawall.api.v1alpha1.restart import RestartStatus, RollStage
from seawall.domain.rollout.reasons import Ailment, Shut

BEFORE_THE_RESTART = frozenset({RollStage.FLUSHING, RollStage.MAINTENANCE})

CRASHES = frozenset(
    {
        Ailment.OFFSET_OUT_OF_RANGE.value,
        Ailment.BAD_RECORD.value,
        Ailment.OUT_OF_MEMORY.value,
        Ailment.PROBE_TOO_SHORT.value,
        Ailment.CRASHES.value,
    }
)
"""One that only does not serve yet is the ledger's business: its reports are missing."""


def datanodes_that_keep(status: RestartStatus) -> frozenset[int]:
    """The ids of the datanodes from whose topics no delete may begin."""
    ids = {row.pod: row.datanode for row in status.datanodes}
    found = {row.datanode for row in status.datanodes if row.ailment in CRASHES}
    if status.restarting is not None:
        found.add(ids.get(status.restarting.name, -1))
        found.add(-1 if status.restarting.datanode is None else status.restarting.datanode)
    if status.next is not None and (status.stage in BEFORE_THE_RESTART or status.reason == Shut.DELETE_ONGOING):
        found.add(ids.get(status.next.name, -1))
    return frozenset(found - {-1})
