"""`checker {writer|reader|judge|tell}`. Flags may be variables, too: --journals is CHECKER_JOURNALS."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from pathlib import Path

from checker.database import Database
from checker.reader import read_for_ever
from checker.teller import answers
from checker.verdict import judge
from checker.writer import Pace, write_for_ever


def main() -> None:
    """Runs a role. The judge ends with 1 when a row is not there as it was acknowledged."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    args = _parser().parse_args()
    folder, database = Path(args.journals), Database(args.database, args.timeout)
    match args.role:
        case "writer":
            pace = Pace(args.partitions, args.period, args.large_every, args.large)
            write_for_ever(database, Database(args.database, args.patience), folder, args.name, pace)
        case "reader":
            read_for_ever(database, folder, args.name, args.pause)
        case "judge":
            verdict = judge(database, folder, args.within)
            print(json.dumps(verdict.as_json()))
            sys.exit(0 if verdict.holds else 1)
        case _:
            for answer in answers(folder, sys.stdin):
                print(answer, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="checker", description="Proves that every acknowledged row can be read.")
    parser.add_argument("role", choices=["writer", "reader", "judge", "tell"])
    _flag(parser, "--database", "http://127.0.0.1:4000", "the frontend")
    _flag(parser, "--journals", "journals", "the folder that writers, readers and the judge share")
    _flag(parser, "--name", "checker", "writer, reader: its name, kept over restarts; no two have the same")
    _flag(parser, "--timeout", "8", "seconds to wait for an answer", float)
    _flag(parser, "--patience", "60", "writer: the same for its patient threads", float)
    _flag(parser, "--partitions", "6", "writer: regions of the table", int)
    _flag(parser, "--period", "0.4", "writer: seconds between the batches of a thread", float)
    _flag(parser, "--large-every", "201", "writer: one in so many batches has large values", int)
    _flag(parser, "--large", "20000", "writer: the length of a large value", int)
    _flag(parser, "--pause", "1", "reader: seconds between readings, at least", float)
    _flag(parser, "--within", "60", "judge: seconds to wait until the table can be read", float)
    return parser


def _flag(parser: argparse.ArgumentParser, flag: str, default: str, text: str, kind: type = str) -> None:
    variable = "CHECKER_" + flag.removeprefix("--").replace("-", "_").upper()
    parser.add_argument(flag, default=os.environ.get(variable, default), type=kind, help=f"{text} ({variable})")


if __name__ == "__main__":
    main()
