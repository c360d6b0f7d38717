"""What holds for the tests of all distributions."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("no timed tests", deadline=None)  # machines are noisy
settings.load_profile("no timed tests")
