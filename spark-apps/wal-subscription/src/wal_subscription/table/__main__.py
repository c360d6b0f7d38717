"""Which files are the table: `python -m wal_subscription.table --request R [--table G]` prints their addresses.

It asks for no more than a request has, and needs the same rights as a reader: GetObject and ListBucket.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase

from sparkjob.bucket import Bucket
from sparkjob.errors import Interrupted, Refused
from sparkjob.request_file import read_bytes
from wal_subscription.stops import MustStop
from wal_subscription.table.chain import Chain, chain_folder
from wal_subscription.table.request import parse_table_request


def main(arguments: Sequence[str] | None = None) -> int:
    """A line for each file, in the order of the commits of each topic; 1: the chain is not whole, or not to be read."""
    parser = argparse.ArgumentParser("wal_subscription.table", description=__doc__)
    parser.add_argument("--request", required=True)
    parser.add_argument("--table", default="*", help="a glob on schema.table")
    given = parser.parse_args(arguments)
    try:
        _print_files(read_bytes(given.request), given.table)
    except MustStop as must:
        return _fail(must.stop.message)
    except (Refused, Interrupted) as error:
        return _fail(str(error))
    return 0


def _print_files(content: bytes, glob: str) -> None:
    request = parse_table_request(content)
    place, writer = request.sink.place(), request.sink.writer
    root, bucket = "/".join(filter(None, (place.bucket, place.prefix.strip("/")))), Bucket(place)
    for topic in request.topics:
        folder = chain_folder(writer, topic.name, topic.source_id, topic.generation)
        for commit in Chain(bucket, folder, topic.name).commits():
            for file in commit.files:
                if fnmatchcase(file.table or str(file.table_id), glob):
                    sys.stdout.write(f"s3://{root}/{file.path}\n")


def _fail(message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
