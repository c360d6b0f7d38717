"""When something begins: a cron expression, and the time zone in which it is meant."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

CronText = Annotated[str, Field(min_length=1, max_length=100)]
"""Five fields: minute, hour, day of month, month, day of week. What they say is read when it is needed."""
TimeZone = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_+/-]+$")]
"""A name of the IANA database."""
