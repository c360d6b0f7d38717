"""The SQL of the remote-WAL guide's demonstration."""

from __future__ import annotations

from string import ascii_lowercase

from seawall_e2e.loopback.refdb import GUIDE_ROWS as INSERTS
from seawall_e2e.loopback.refdb import GUIDE_TABLE as CREATE_TABLE

__all__ = ["CREATE_TABLE", "INSERTS", "PEERS", "ROWS", "SELECT"]

ROWS = tuple(zip(ascii_lowercase, range(1, len(INSERTS) + 1), strict=False))
"""What the inserts write, without the time."""
SELECT = "SELECT * FROM dist_table;"
PEERS = "SELECT region_id, peer_id FROM information_schema.region_peers ORDER BY region_id"
