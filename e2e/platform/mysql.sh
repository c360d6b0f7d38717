#!/usr/bin/env bash
# Prints a folder with a MySQL server: Debian's newest (only sid has one), in a folder of its own with all libraries
# that it needs, and the files of a server that was made and never started.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the folder only
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
SUITE=sid
folder="$CACHE/mysql-$(hash_of <"${BASH_SOURCE[0]}")"

# The packages of another suite, by lists and archives of their own: the machine's apt knows nothing of it.
download() {
  local lists=$1 archive
  mkdir -p "$lists/lists/partial" "$lists/archives/partial"
  # Two words that stand in the machine's own sources: where Debian is reached, and whose signatures count.
  archive=$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d/ 2>/dev/null | head -1)
  [ -n "$archive" ] || die "no archive of Debian in the machine's apt sources"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${archive% } $SUITE main" >"$lists/sources.list"
  : >"$lists/status"   # nothing is installed: all libraries come along
  local apt=(apt-get -q -y -o "Dir::Etc::sourcelist=$lists/sources.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$lists/lists" -o "Dir::State::status=$lists/status" -o "Dir::Cache=$lists"
    -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=3)
  "${apt[@]}" update
  "${apt[@]}" install --no-install-recommends --download-only mysql-server-core
}

install() {
  [ ! -x "$folder/mysqld" ] || return 0
  local tmp="$folder.tmp" log="$CACHE/log/mysql.log" deb
  say "fetching Debian's MySQL server"
  rm -rf "$tmp" && mkdir -p "$tmp/root" "$tmp/apt" "$CACHE/log"
  download "$tmp/apt" >"$log" 2>&1 || { tail -20 "$log"; die "MySQL cannot be fetched: $log"; }
  for deb in "$tmp"/apt/archives/*.deb; do
    case "$(basename "$deb")" in perl*|libperl*|debconf*|cdebconf*) continue ;; esac
    dpkg-deb -x "$deb" "$tmp/root"
  done
  rm -rf "$tmp/apt" "$tmp/root/usr/share/doc" "$tmp/root/usr/share/man" "$tmp/root/usr/share/locale"
  cat >"$tmp/mysqld" <<'EOF'
#!/bin/sh
# With its own libraries: the machine's are older.
root=$(dirname "$(readlink -f "$0")")/root
libraries=$root/usr/lib/x86_64-linux-gnu
exec "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" "$root/usr/sbin/mysqld" --no-defaults --user="$(id -un)" \
  --basedir="$root/usr" --lc-messages-dir="$root/usr/share/mysql" --plugin-dir="$root/usr/lib/mysql/plugin" \
  --secure-file-priv=NULL "$@"
EOF
  chmod +x "$tmp/mysqld"
  "$tmp/mysqld" --initialize-insecure --datadir="$tmp/data" --innodb-redo-log-capacity=8M >>"$log" 2>&1 || { tail -20 "$log"; die "MySQL makes no files: $log"; }
  rm -f "$tmp/data/auto.cnf"   # each copy gets an identity of its own
  rm -rf "$folder" && mv "$tmp" "$folder"
}

[ -x "$folder/mysqld" ] || with_lock mysql install
echo "$folder" >&3
