"""What a WALCluster's status says of its deletion (`status.deletion`)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from seawall.api.meta import StatusModel


class DeletionStatus(StatusModel):
    """What a deletion with deletionPolicy Delete has decided."""

    decided_at: datetime
    """Since when it is written down which logs go, by their ids and where they ended. A log that is another one, was
    made since or was written to stops the deletion (TopicsChanged): this object may come from a backup."""
    topics: Annotated[int, Field(ge=0)]
    """How many topics they were."""
