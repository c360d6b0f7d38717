"""Runs benchmarks, each in processes of its own, and prints one table: `run.py [--size small] [name …]` (all of them).

A missed goal is a result. A benchmark that does not end well has none: the others go on, and the exit code says so.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from result_table import NAME, table, write_table
from sizes import RESULTS, TRIALS

HERE = Path(__file__).parent
PROGRAMS = {
    "topics": "topics.py",
    "fleet": "fleet.py",
    "purge": "purge.py",
    "ledger": "ledger.py",
    "reassign": "reassign.py",
    "verify": "verify.py",
    "backup": "backup.py",
    "restore": "restore.py",
    "subscription": "subscription.py",
    "refdb": "reference_database.py",  # a module with the package's name would stand in its way
    "roll": "roll.py",
    "kafka": "managed_kafka.py",  # another module is called so
}
"""By name. The last ones need the local cluster, which the others would have to share the machine with."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what is asked for; the number of those that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=["full", "small"], default="full")
    parser.add_argument("names", nargs="*", choices=[*PROGRAMS, []], metavar="name")
    given = parser.parse_args(arguments)
    names, folder = given.names or list(PROGRAMS), RESULTS if given.size == "full" else TRIALS
    failed = []
    for name in names:
        print(f"== {name}", flush=True)
        began = time.monotonic()
        command = [sys.executable, str(HERE / PROGRAMS[name]), "--size", given.size]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
        print(f"{name} took {time.monotonic() - began:.0f} s", flush=True)
    written = write_table(folder)
    if len(names) > 1:
        print(f"\n{table(folder / f'{name}.json' for name in names if name not in failed)}")
        print(f"\n{NAME} beside the JSON has it too: {written}")
    for name in failed:
        print(f"{name} failed: its last result stays", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
