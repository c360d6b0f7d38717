"""How long something lasts, as a status says it."""

from __future__ import annotations

from datetime import datetime

from seawall.api.meta import StatusModel


class Stretch(StatusModel):
    """For how long the operator has observed something, again and again, without a long break."""

    from_time: datetime
    """Since when."""
    until_time: datetime
    """When it last wrote that down. After a break, as of an operator or an API server that was away, it begins anew."""
