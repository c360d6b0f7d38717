"""`make simulate SEED=n`: lives the day of a seed once more; where something is wrong, with as little as is needed."""

from __future__ import annotations

import logging
import sys

from tests.simulation.minimize import minimize, story
from tests.simulation.run import simulate


def main(seed: int) -> int:
    """Prints the story; 1: something is wrong."""
    logging.disable(logging.CRITICAL)
    found = simulate(seed)
    if found.violation is not None:
        found = minimize(found)
    print(story(found))  # noqa: T201 - what it is for
    print(found.counts)  # noqa: T201 - as above
    return int(found.violation is not None)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
