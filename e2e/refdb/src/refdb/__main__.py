"""`refdb {metasrv|datanode|frontend}`. Flags may be environment variables: --node-id is REFDB_NODE_ID."""

from __future__ import annotations

import argparse
import functools
import logging
import os
import sys
from pathlib import Path

from confluent_kafka.admin import AdminClient

from refdb.datanode.identity import Home, claim_node_id
from refdb.datanode.node import Datanode, NodeOptions
from refdb.datanode.server import datanode_application, start_heartbeats
from refdb.errors import DatabaseError, invalid
from refdb.frontend.catalog import Catalog
from refdb.frontend.database import Database
from refdb.frontend.server import frontend_application
from refdb.frontend.users import user_provider
from refdb.greptime import translated
from refdb.meta.etcd import Etcd
from refdb.meta.mysql import Mysql
from refdb.meta.postgresql import Postgresql
from refdb.meta.store import Store
from refdb.meta.values import Peer
from refdb.metasrv.migration import Migrations
from refdb.metasrv.pruner import delete_records, prune_topics
from refdb.metasrv.server import NodeListing, metasrv_application, register_topics
from refdb.metasrv.state import DETECT_PERIOD, ClusterState
from refdb.metasrv.tables import Tables
from refdb.repeats import every, until_available
from refdb.wal.log import WalLog
from refdb.wal.options import WalOptions, wal_options
from refdb.wal.topics import require_topics
from refdb.web import NOTE, Client, TlsPort, serve

LOG = logging.getLogger("refdb")
MOVE_PERIOD = 1.0


def main() -> None:
    """Runs a role until it is killed."""
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    args = _parser().parse_args(translated(sys.argv[1:]))
    LOG.warning(NOTE)
    try:
        {"metasrv": run_metasrv, "datanode": run_datanode, "frontend": run_frontend}[args.role](args)
    except DatabaseError as error:
        LOG.critical("%s", error)
        sys.exit(1)


def run_metasrv(args: argparse.Namespace) -> None:
    """Placement, leases, admin interface."""
    options, etcd = _wal(args), _store(args)
    until_available(lambda: require_topics(options))
    until_available(lambda: register_topics(etcd, options.topics))
    if args.dead_after < args.lease:
        raise invalid("--dead-after cannot be less than --lease: who may still lead is not dead")
    state, client = ClusterState(args.lease, args.dead_after), Client()
    tables, migrations = Tables(etcd, state, client, options.topics), Migrations(etcd, state, client)
    until_available(migrations.refresh)
    failover = args.enable_region_failover == "true"
    every(DETECT_PERIOD, "Detector", state.detect)
    every(MOVE_PERIOD, "Routes", migrations.fail_over if failover else migrations.refresh)
    if options.auto_prune_interval:
        delete = (
            None if options.auto_prune_logical_delete else functools.partial(delete_records, AdminClient(options.kafka))
        )
        prune = functools.partial(prune_topics, etcd, state, options.topics, delete)
        every(options.auto_prune_interval, "Prune", prune)
    listed = NodeListing(args.advertise or args.http, args.version, options.served)
    serve(metasrv_application(listed, etcd, state, tables, migrations), args.http, _tls(args), args.also_http)


def run_datanode(args: argparse.Namespace) -> None:
    """Regions. It listens once they are replayed."""
    options, etcd = _wal(args), _store(args)
    peer = Peer(args.node_id, args.advertise or args.http)
    home = Home(Path(args.home))
    epoch = until_available(lambda: claim_node_id(etcd, peer, home))
    reads_marker = args.read_pruned_marker == "true"
    node_options = NodeOptions(peer, Path(args.storage), reads_marker, args.idle_heartbeats, args.version)
    node = Datanode(node_options, etcd, WalLog(options), epoch)
    until_available(node.open_all)
    start_heartbeats(node, args.metasrv, args.heartbeat)
    LOG.info("datanode %d starts to listen, epoch %d", peer.id, epoch)
    serve(datanode_application(node, options.served), args.http, also=args.also_http)


def run_frontend(args: argparse.Namespace) -> None:
    """SQL."""
    users = user_provider(args.user_provider) if args.user_provider else None
    database = Database(Catalog(_store(args)), Client(), args.metasrv)
    serve(frontend_application(database, users), args.http, _tls(args), args.also_http)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="refdb", description=NOTE)
    parser.add_argument("role", choices=["metasrv", "datanode", "frontend"])
    _flag(parser, "--config", "", "the TOML file with [wal]: metasrv.toml or datanode.toml of a WALCluster's ConfigMap")
    _flag(parser, "--http", "127.0.0.1:4000", "where to listen")
    _flag(parser, "--also-http", "", "where to listen as well, in place of GreptimeDB's gRPC")
    _flag(parser, "--advertise", "", "the address that others use, if it is another")
    _flag(parser, "--etcd", "http://127.0.0.1:2379", "its URL")
    _flag(parser, "--postgresql", "", "in place of etcd: postgresql://user:password@host:port/database")
    _flag(parser, "--mysql", "", "in place of etcd: mysql://user:password@host:port/database")
    _flag(parser, "--store-key-prefix", "", "goes before every key in the metadata store")
    _flag(parser, "--metasrv", "127.0.0.1:4000", "datanode, frontend: the metasrv's address")
    _flag(parser, "--node-id", "0", "datanode: its number", int)
    _flag(parser, "--home", "refdb-home", "datanode: its own folder, kept over restarts")
    _flag(parser, "--storage", "refdb-storage", "datanode: the folder that all share, in place of an object store")
    _flag(parser, "--heartbeat", "1", "datanode: seconds between heartbeats", float)
    _flag(parser, "--idle-heartbeats", "3", "datanode: so many with nothing in memory make a region idle", int)
    _flag(parser, "--read-pruned-marker", "true", "datanode: open regions no earlier than the pruned marker")
    _flag(parser, "--version", "1.1.0", "metasrv, datanode: the GreptimeDB whose interfaces it says it has")
    _flag(parser, "--lease", "4", "metasrv: seconds that a datanode may lead a region after a heartbeat", float)
    _flag(parser, "--dead-after", "5", "metasrv: seconds of silence after which a datanode counts as dead", float)
    _flag(parser, "--enable-region-failover", "false", "metasrv: move regions of dead datanodes")
    _flag(parser, "--user-provider", "", "frontend: who may ask, as GreptimeDB's option; none: everybody")
    _flag(parser, "--https", "", "metasrv, frontend: where to listen with TLS as well, as a proxy before it would")
    _flag(parser, "--tls-cert", "", "the certificate for it, a PEM file")
    _flag(parser, "--tls-key", "", "its private key, a PEM file")
    _flag(parser, "--tls-client-ca", "", "the CA whose certificates clients must show there, a PEM file; none: no mTLS")
    return parser


def _flag(parser: argparse.ArgumentParser, flag: str, default: str, text: str, kind: type = str) -> None:
    variable = "REFDB_" + flag.removeprefix("--").replace("-", "_").upper()
    parser.add_argument(flag, default=os.environ.get(variable, default), type=kind, help=f"{text} ({variable})")


def _wal(args: argparse.Namespace) -> WalOptions:
    try:
        return wal_options(Path(args.config).read_text(), os.environ)
    except OSError as error:
        raise invalid(f"--config: {error}") from None


def _tls(args: argparse.Namespace) -> TlsPort | None:
    return TlsPort(args.https, args.tls_cert, args.tls_key, args.tls_client_ca) if args.https else None


def _store(args: argparse.Namespace) -> Store:
    if args.mysql:
        return Mysql(args.mysql, args.store_key_prefix)
    if args.postgresql:
        return Postgresql(args.postgresql, args.store_key_prefix)
    return Etcd(args.etcd, args.store_key_prefix)


if __name__ == "__main__":
    main()
