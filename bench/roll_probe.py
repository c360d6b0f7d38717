"""Writes a row into each region all the time; it is given to `python -c` in the frontend's pod, so it stands alone.

Its arguments are SQL statements, one for each region. A line of JSON for each answer: [number of the region, when it
was asked, when it was answered (seconds of the machine's clock), whether it was acknowledged].
"""

from __future__ import annotations

import json
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

PAUSE = 0.2
TIMEOUT = 5.0
TURN = threading.Lock()
URL = "http://frontend:4000/v1/sql"


def is_acknowledged(statement: str) -> bool:
    """Whether the row is written."""
    try:
        with urllib.request.urlopen(URL, urllib.parse.urlencode({"sql": statement}).encode(), TIMEOUT) as answer:
            return "code" not in json.load(answer)
    except (OSError, ValueError):
        return False


def probe(number: int, statement: str) -> None:
    """For ever."""
    while True:
        asked = time.time()
        acknowledged = is_acknowledged(statement)
        with TURN:
            print(json.dumps([number, asked, time.time(), acknowledged]), flush=True)
        time.sleep(PAUSE)


def main() -> None:
    """A thread for each region, until nobody listens."""
    for number, statement in enumerate(sys.argv[1:]):
        threading.Thread(target=probe, args=(number, statement), daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
