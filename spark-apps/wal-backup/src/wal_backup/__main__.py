"""The commands of `wal-backup`: what goes in and what comes out is in `contract/README.md`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from sparkjob.command_line import begin_logging, request_parser, write_summary
from sparkjob.errors import Denied, Interrupted, Refused
from sparkjob.outcome import Outcome
from sparkjob.request_file import check_digest, digest_of, read_bytes
from sparkjob.session import sentence_of
from wal_backup.answer import Answer
from wal_backup.backup import Backup, Flawed, LogChanged
from wal_backup.chain import Chain, ParentUnusable, read_chains
from wal_backup.check import find_missing_objects, find_unnamed, objects_of
from wal_backup.expiry import expire
from wal_backup.findings import Finding
from wal_backup.layout import chain_folder
from wal_backup.request import ChainRequest, parse_backup, parse_chain, parse_check
from wal_backup.restore.command import plan, restore
from wal_backup.spark import open_spark
from wal_backup.store import Store
from wal_backup.summary import summarize
from wal_backup.verify import Verifier

LOG = logging.getLogger("wal_backup")


def run() -> None:
    """Entry point of the process."""
    sys.exit(main())


def main(arguments: Sequence[str] | None = None, spark: SparkSession | None = None) -> int:
    """Runs one command and returns the exit code; a summary is written whatever happens."""
    parser = request_parser("wal-backup", __doc__)
    parser.add_argument("command", choices=sorted(COMMANDS))
    given = parser.parse_args(arguments)
    begin_logging()
    digest: str | None = None
    answer = Answer("")
    try:
        content = read_bytes(given.request)
        digest = digest_of(content)
        check_digest(digest, given.digest)
        answer = COMMANDS[given.command](content, spark)
        outcome = answer.outcome
    except Refused as refused:
        outcome, answer = Outcome.REFUSED, Answer(str(refused))
    except Flawed as flawed:
        outcome, answer = Outcome.FAILED, Answer(str(flawed), flawed.findings)
    except LogChanged as changed:
        outcome, answer = Outcome.FAILED, Answer(str(changed))
    except Interrupted as interrupted:
        outcome, answer = Outcome.INTERRUPTED, Answer(str(interrupted))
    except Exception as error:
        LOG.exception("It broke off")
        outcome, answer = Outcome.INTERRUPTED, Answer(f"it broke off: {sentence_of(error)}")
    LOG.info("%s: %s", outcome, answer.message)
    write_summary(given.summary, summarize(outcome, answer.message, digest, answer.findings, answer.details))
    return outcome.exit_code


def _backup(content: bytes, given: SparkSession | None) -> Answer:
    request = parse_backup(content)
    spark = given or open_spark(f"wal-backup {request.backup}")
    try:
        written = Backup(spark, request).write()
    except ParentUnusable as unusable:  # what continues it never will: the chain ends, as with a log that changed
        raise LogChanged(str(unusable)) from unusable
    except Denied as denied:
        raise Interrupted(str(denied)) from denied
    finally:
        if given is None:
            spark.stop()
    manifest = written.manifest
    counts = {
        "records": sum(topic.records for topic in manifest.topics),
        "bytes": sum(section.bytes for topic in manifest.topics for section in topic.sections),
        "storedBytes": sum(each.bytes for each in manifest.objects),
        "objects": len(manifest.objects),
    }
    details: dict[str, Any] = {
        "manifest": {"name": manifest.name, "digest": written.digest},
        "counts": counts,
        "verified": request.verify.value,
        "warnings": written.warnings,
        **({} if manifest.restore_point is None else {"restorePoint": manifest.restore_point.name}),
    }
    if request.expiry is not None:  # last: the backup counts, whatever becomes of this
        details["expired"] = expire(request.expiry, manifest).to_json()
    return Answer(f"{counts['records']} records of {len(manifest.topics)} topics are in {manifest.name}", (), details)


def _inspect(content: bytes, _: SparkSession | None) -> Answer:
    request = parse_chain(content)
    store, chains = Store(request.place), _chains(request)
    findings = [finding for chain in chains for finding in _find_in_chain(store, request, chain)]
    return _about(chains, findings, "is whole")


def _check(content: bytes, given: SparkSession | None) -> Answer:
    request = parse_check(content)
    about, chains = request.chains, _chains(request.chains)
    findings = [finding for chain in chains for finding in chain.findings()]
    spark = given or open_spark("wal-backup check")
    try:
        verifier = Verifier(spark, about.place, request.level, request.database_version)
        proofs = [verifier.verify(_folder(about, chain), [each.manifest for each in chain.path]) for chain in chains]
    finally:
        if given is None:
            spark.stop()
    findings += [finding for proof in proofs for finding in proof.findings]
    answer = _about(chains, findings, "has what was written")
    verified = {} if findings else {"verified": request.level.value}
    return replace(answer, details={**answer.details, **verified, "warnings": sum(each.warnings for each in proofs)})


COMMANDS: Mapping[str, Callable[[bytes, SparkSession | None], Answer]] = {
    "backup": _backup,
    "check": _check,
    "inspect": _inspect,
    "plan": plan,
    "restore": restore,
}


def _chains(request: ChainRequest) -> tuple[Chain, ...]:
    chains = read_chains(Store(request.place), request.cluster_id, request.chain)
    if not chains:
        raise Refused(f"the store has no backup of Kafka {request.cluster_id}")
    return chains


def _find_in_chain(store: Store, request: ChainRequest, chain: Chain) -> Iterator[Finding]:
    """What shows without reading an object."""
    yield from chain.findings()
    for stored in chain.path:
        yield from find_unnamed(stored.manifest)
        yield from find_missing_objects(store, objects_of(_folder(request, chain), stored.manifest))


def _folder(request: ChainRequest, chain: Chain) -> str:
    return chain_folder(request.cluster_id, chain.name)


def _about(chains: Sequence[Chain], findings: Sequence[Finding], verdict: str) -> Answer:
    newest = {chain.name: chain.path[-1] for chain in chains if chain.path}
    details = {
        "chains": [
            {
                "name": chain.name,
                "backups": len(chain.path),
                "newest": newest[chain.name].manifest.name,
                "digest": newest[chain.name].digest,
            }
            for chain in chains
            if chain.name in newest
        ][-5:]
    }
    said = findings[0].message if findings else f"all of {len(chains)} chains {verdict}"
    return Answer(said, findings, details)


if __name__ == "__main__":
    run()
