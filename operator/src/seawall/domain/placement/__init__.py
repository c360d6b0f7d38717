"""Where the replicas of partitions should be: fewest copies, spread over racks, even over brokers. Pure.

`place` is the whole of it for what is there, `place_new` for what is to be made. What they never do: copy to a broker
that is not online; drop a leader where another replica could go; leave a partition with fewer in-sync replicas than it
has, or than its new replication factor.
"""

from seawall.domain.placement.grid import Demand
from seawall.domain.placement.outcome import Infeasible, InfeasibleReason, LeftAlone, Move, Placement, Why
from seawall.domain.placement.place import place, place_new

__all__ = ["Demand", "Infeasible", "InfeasibleReason", "LeftAlone", "Move", "Placement", "Why", "place", "place_new"]
