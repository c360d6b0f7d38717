"""What the pages tell people to type, taken apart by a real bash and checked by the tools themselves.

Bash runs the blocks of a page in order, with nothing on its PATH but recorders. So a command that cannot be read, a
tool that is not named here, and a variable that no line before has set are found; then each tool judges its words.
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from seawall.api.v1alpha1.kinds import KINDS
from seawall.cli.parser import build_parser
from seawall.crdgen.crd import build_crd
from seawall_e2e.loopback.java import Java

Words = tuple[str, ...]

RECORDER = """#!/bin/sh
printf '%s\\0' "${0##*/}" "$@" "$(printf '\\036')" >> "$RECORD"
"""
"""A program that does nothing but to write down how it was called, in one write: those of a pipe write at once."""
SAID = frozenset({"date", "grep", "kubectl", "seawall"})
KAFKA_TOOLS: Mapping[str, tuple[str, ...]] = {
    "kafka-configs": ("kafka.admin.ConfigCommand",),
    "kafka-leader-election": ("org.apache.kafka.tools.LeaderElectionCommand",),
    "kafka-metadata-quorum": ("org.apache.kafka.tools.MetadataQuorumCommand", "describe"),
    "kafka-reassign-partitions": ("org.apache.kafka.tools.reassign.ReassignPartitionsCommand",),
    "kafka-topics": ("org.apache.kafka.tools.TopicCommand",),
}
"""Tool → its class, and the words before its options."""
OTHERS = frozenset(
    {
        "configmaps",
        "deployment",
        "events",
        "lease",
        "networkpolicy",
        "pod",
        "pods",
        "pvc",
        "sparkapplications",
        "statefulset",
        "storageclass",
    }
)
"""Kinds that are not ours, as the pages call them."""
WITH_VALUE = frozenset({"-n", "-l", "-o", "-p", "--field-selector"})
"""Options of kubectl whose value is the next word."""
NOWHERE = ("--kubeconfig", "/dev/null", "--server", "http://127.0.0.1:1")
FENCE = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:kubectl|seawall) [^`]+)`")
NAMED = re.compile(r"seawall \w+")
"""A verb that is only named."""


def blocks(page: str) -> list[str]:
    """What is to be typed, block by block."""
    return FENCE.findall(page)


def script_of(page: str) -> str:
    """The blocks of a page in order, then what stands in its sentences, with names where those have `<what>`."""
    inline = (re.sub(r"<[\w -]+>", "x", found) for found in INLINE.findall(page) if "…" not in found)
    return "\n".join([*blocks(page), *(f"{found} --help" if NAMED.fullmatch(found) else found for found in inline)])


def typed(script: str, folder: Path) -> tuple[list[Words], str]:
    """What bash makes of it: each command's words, and what is wrong; empty: nothing."""
    tools, record = folder / "tools", folder / "record"
    tools.mkdir()
    record.touch()
    for name in (*SAID, *KAFKA_TOOLS):
        (tools / name).write_text(RECORDER)
        (tools / name).chmod(0o755)
    found = subprocess.run(  # noqa: S603 - bash, which finds nothing but recorders
        ["/bin/bash", "-euo", "pipefail", "-c", script],
        env={"PATH": str(tools), "RECORD": str(record)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    calls = [tuple(call.split("\0")[:-1]) for call in record.read_text().split("\036\0") if call]
    return calls, "" if found.returncode == 0 and not found.stderr else f"exit {found.returncode}: {found.stderr}"


def wrong_words(calls: Sequence[Words], folder: Path) -> list[str]:
    """What the tools have against how they are called."""
    found = list(_wrong_of_kafka(calls, folder))
    asked = sorted({call for call in calls if call[0] == "kubectl"})
    with ThreadPoolExecutor(4) as pool:
        found += [wrong for wrong in pool.map(_wrong_of_kubectl, asked) if wrong]
    for call in asked:
        found += [f"{' '.join(call)}: {wrong}" for wrong in (*_wrong_kinds(call), *_wrong_paths(call))]
    return found + [wrong for call in calls if call[0] == "seawall" and (wrong := _wrong_of_seawall(call))]


def _wrong_of_seawall(call: Words) -> str:
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            build_parser().parse_args(call[1:])
        except SystemExit as end:
            return f"{' '.join(call)}: {said.getvalue()}" if end.code else ""
    return ""


def _wrong_of_kubectl(call: Words) -> str:
    """The real one reads its words before it finds out that nobody answers."""
    command = [*call, *NOWHERE]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - kubectl
    refused = "127.0.0.1:1 was refused" in found.stderr or "connection refused" in found.stderr
    return "" if refused else f"{' '.join(call)}: {found.stdout}{found.stderr}"


def _wrong_of_kafka(calls: Sequence[Words], folder: Path) -> Iterator[str]:
    for tool, options in _options(calls).items():
        main, *before = KAFKA_TOOLS[tool]
        command = list(map(str, Java(folder).command(main, *before, "--help")))
        found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - Kafka's tool
        known = set(re.findall(r"--[a-z-]+", found.stdout + found.stderr))
        yield from (f"{tool} has no {option}" for option in sorted(options - known))


def _options(calls: Sequence[Words]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for call in calls:
        if call[0] in KAFKA_TOOLS:
            found.setdefault(call[0], set()).update(word for word in call if word.startswith("--"))
    return found


def _positional(call: Words) -> list[str]:
    """The words of kubectl that are no options."""
    words, found = iter(call[1:]), []
    for word in words:
        if word in WITH_VALUE:
            next(words, None)
        elif not word.startswith("-"):
            found.append(word)
    return found


def _named_kinds(call: Words) -> list[str]:
    verb, *rest = _positional(call)
    if verb in {"logs", "auth"} or "--raw" in call:
        return []
    if verb == "rollout":
        rest = rest[1:]
    return [each.partition("/")[0] for each in rest[0].split(",")]


def _wrong_kinds(call: Words) -> Iterator[str]:
    ours = {name for kind in KINDS for name in (kind.plural, kind.kind.lower(), *kind.short_names)}
    yield from (f"{name} is no kind" for name in _named_kinds(call) if name not in ours | OTHERS)


def _wrong_paths(call: Words) -> Iterator[str]:
    """Fields of our kinds that a JSONPath asks for and no CRD has."""
    expression = next((word.removeprefix("jsonpath=") for word in call if word.startswith("jsonpath=")), "")
    kinds = [kind for kind in KINDS if {kind.plural, *kind.short_names} & set(_named_kinds(call))]
    for kind in kinds if expression else ():
        whole = build_crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        is_list = "{range .items[*]}" in expression
        inside = expression.replace("{range .items[*]}", "")
        ranged = re.search(r"\{range (\.[^}]+)\[\*\]\}", inside)
        schema = whole if ranged is None or is_list else _schema_at(whole, ranged[1])
        if schema is None:
            yield f"{kind.kind} has no {ranged[1] if ranged else ''}"
            continue
        for path in re.findall(r"\{(\.[^}]*)\}", re.sub(r"\{range [^}]*\}", "", inside)):
            if _schema_at(schema, path) is None:
                yield f"{kind.kind} has no {path}"


def _schema_at(schema: dict[str, Any], path: str) -> dict[str, Any] | None:
    if path.startswith(".metadata"):
        return {}
    found: dict[str, Any] | None = schema
    for name in re.sub(r"\[[^\]]*\]", "", path).strip(".").split("."):
        inner = (found or {}).get("items", found or {})
        found = inner.get("properties", {}).get(name)
    return found
