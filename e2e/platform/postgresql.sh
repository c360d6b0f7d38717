#!/usr/bin/env bash
# Prints the folder with postgres and initdb: the newest that Debian has installed here, else its package, installed
# without a server that starts.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the folder only
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

newest() { find /usr/lib/postgresql -path '*/bin/postgres' -printf '%h\n' 2>/dev/null | sort -V | tail -1; }

install() {
  [ -z "$(newest)" ] || return 0
  # Debian's package makes a cluster and starts it, unless it is told not to before.
  packages postgresql-common
  mkdir -p /etc/postgresql-common
  grep -qs '^create_main_cluster' /etc/postgresql-common/createcluster.conf ||
    echo 'create_main_cluster = false' >>/etc/postgresql-common/createcluster.conf
  packages postgresql
}

[ -n "$(newest)" ] || with_lock postgresql install
newest >&3
