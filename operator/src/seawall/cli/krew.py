"""`python -m seawall.cli.krew`: the manifest by which krew installs `kubectl seawall`, for the archives in a folder.

Its form is krew's v1alpha2, which a test lets krew's own validator judge.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path
from typing import Any

import yaml

BASE_URL = "https://seawall.dev/releases"
"""Where releases are, unless it is said otherwise: an archive is at this, `/v<version>/`, and its name."""
PROGRAM = "kubectl-seawall"
SHORT = "Keeps Kafka write-ahead logs safe and replayable"
DESCRIPTION = """\
What is wrong with a write-ahead log in Kafka that Seawall looks after, what
runs, and what to do: status, ledger, plan, purge, verify, hold, backup,
restore, and every annotation as a command that shows what it allows.
"""
CAVEATS = "It needs Python 3.11 or newer as `python3`.\n"


def manifest(folder: Path, version: str, base_url: str) -> dict[str, Any]:
    """The manifest of all archives of this version.

    Raises:
        ValueError: there is none.
    """
    archives = sorted(folder.glob(f"seawall-{version}-*.tar.gz"))
    if not archives:
        raise ValueError(f"{folder} has no archive of {version}")
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "seawall"},
        "spec": {
            "version": f"v{version}",
            "homepage": "https://seawall.dev",
            "shortDescription": SHORT,
            "description": DESCRIPTION,
            "caveats": CAVEATS,
            "platforms": [_platform(archive, version, base_url) for archive in archives],
        },
    }


def _platform(archive: Path, version: str, base_url: str) -> dict[str, Any]:
    os, _, arch = archive.name.removeprefix(f"seawall-{version}-").removesuffix(".tar.gz").partition("-")
    return {
        "selector": {"matchLabels": {"os": os, "arch": arch}},
        "uri": f"{base_url.rstrip('/')}/v{version}/{archive.name}",
        "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
        "files": [{"from": f"./{name}", "to": "."} for name in (PROGRAM, "LICENSE")],
        "bin": PROGRAM,
    }


def main() -> int:
    """Writes it; returns the exit status."""
    parser = argparse.ArgumentParser(prog="seawall.cli.krew", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="with the archives")
    parser.add_argument("--version", required=True, help="without a v")
    parser.add_argument("--base-url", default=BASE_URL, help="where releases are")
    parser.add_argument("--output", type=Path, required=True, help="the file to write")
    arguments = parser.parse_args()
    found = manifest(arguments.folder, arguments.version, arguments.base_url)
    arguments.output.write_text(yaml.safe_dump(found, sort_keys=False), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
