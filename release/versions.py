"""The version of a release, wherever it stands: `versions.py [--check] VERSION`.

It writes the version into all places, and closes the changelog's section; with `--check` it says where it is missing.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHANGELOG = "CHANGELOG.md"
UNRELEASED = "## Unreleased"
PLACES = {
    "operator/pyproject.toml": ('version = "', '"'),
    "spark-apps/*/pyproject.toml": ('version = "', '"'),
    "charts/*/Chart.yaml": ("version: ", ""),
    "charts/*/Chart.yaml#appVersion": ("appVersion: ", ""),
}
"""Files → what is before and after the version in its line."""
GUIDES = (
    "docs/install.md",
    "docs/releases.md",
    "docs/backup.md",
    "docs/subscription.md",
    "docs/verification.md",
    "docs/examples/strimzi/walcluster.yaml",
)
"""What people type, and read, names the version there; each of them follows."""
NAMED = re.compile(
    r"(?:(?:seawall|operator|replay-verification|wal-backup|wal-subscription)[:-]|--version )(\d+\.\d+\.\d+)(?![\d.])"
)
"""A version of ours in a guide: after the name of an image or a file, or that of a chart."""
FORM = re.compile(r"\d+\.\d+\.\d+")
"""What Helm, krew and Python write alike."""


def differences(root: Path, version: str) -> list[str]:
    """Where another version stands, or none: a sentence for each."""
    found = [f"{path.relative_to(root)} has {has}" for path, _, has in _standing(root) if has != version]
    found += [f"{name} names {has}" for name, has in _named(root) if has != version]
    if not notes(root, version):
        found.append(f"{CHANGELOG} has no section {version}")
    return found


def prepare(root: Path, version: str, date: str) -> None:
    """Writes the version into all places, and what is unreleased into a section of its own."""
    for path, (left, right), has in _standing(root):
        path.write_text(path.read_text().replace(f"{left}{has}{right}\n", f"{left}{version}{right}\n", 1))
    for name in GUIDES:
        text = (root / name).read_text()
        (root / name).write_text(NAMED.sub(lambda found: found[0].removesuffix(found[1]) + version, text))
    changelog = root / CHANGELOG
    if not notes(root, version):
        text = changelog.read_text().replace(UNRELEASED, f"{UNRELEASED}\n\n## {version} ({date})", 1)
        changelog.write_text(text)


def notes(root: Path, version: str) -> str:
    """What the changelog says of a version; empty: nothing."""
    sections = re.split(r"^## ", (root / CHANGELOG).read_text(), flags=re.MULTILINE)
    found = next((each for each in sections if each.split(maxsplit=1)[:1] == [version]), "")
    return found.partition("\n")[2].strip()


def _standing(root: Path) -> Iterator[tuple[Path, tuple[str, str], str]]:
    """All places, with what is around the version there, and the version."""
    for pattern, (left, right) in PLACES.items():
        for path in sorted(root.glob(pattern.partition("#")[0])):
            line = re.search(rf"^{re.escape(left)}(\S+?){re.escape(right)}$", path.read_text(), re.MULTILINE)
            if line is None:
                raise ValueError(f"{path} has no version")
            yield path, (left, right), line[1]


def _named(root: Path) -> list[tuple[str, str]]:
    """By guide each version that it names, once."""
    found: list[tuple[str, str]] = []
    for name in GUIDES:
        versions = {each[1] for each in NAMED.finditer((root / name).read_text())}
        if not versions:
            raise ValueError(f"{name} names no version")
        found += [(name, each) for each in sorted(versions)]
    return found


def main() -> int:
    """Writes or compares; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail where another version stands")
    parser.add_argument("--notes", action="store_true", help="print what the changelog says of it")
    parser.add_argument("version", help="without a v")
    arguments = parser.parse_args()
    if not FORM.fullmatch(arguments.version):
        parser.error(f"{arguments.version} is no version: it has three numbers, as 1.2.3")
    if arguments.notes:
        print(notes(ROOT, arguments.version))
        return 0
    if not arguments.check:
        prepare(ROOT, arguments.version, f"{datetime.now(UTC):%Y-%m-%d}")
        return 0
    found = differences(ROOT, arguments.version)
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
