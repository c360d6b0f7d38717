# shellcheck shell=bash
# Shared by every script of the platform; source it, do not run it.
# Scripts print progress on stderr, so that stdout can carry a result.

PLATFORM=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
REPO=$(cd "$PLATFORM/../.." && pwd)
CACHE=${SEAWALL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/seawall}
DEBIAN_SUITE=bookworm

say() { printf '%5ds  %s\n' "$SECONDS" "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# hash_of: what stdin says, as 16 hex digits; names cache entries.
hash_of() { sha256sum | cut -c1-16; }

# tree_manifest DIR [FILE...]: one line "mode digest name" for each file, names relative to DIR,
# so that the same content in two clones has the same hash.
tree_manifest() (
  cd "$1" && shift
  if [ $# -eq 0 ]; then mapfile -d '' -t files < <(find . -type f -print0 | sort -z); else files=("$@"); fi
  for file in "${files[@]}"; do
    [ -f "$file" ] || continue
    # Only the executable bit: clones differ in umask.
    if [ -x "$file" ]; then printf 'x '; else printf -- '- '; fi
    sha256sum "$file"
  done
)

# source_files DIR [PATH...]: tracked and untracked files below DIR that git does not ignore,
# NUL-separated, relative to DIR; every file when DIR is in no git work tree.
source_files() (
  cd "$1" && shift
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard -- "${@:-.}"
  else
    find "${@:-.}" -type f -print0
  fi | sort -zu
)

# with_lock NAME COMMAND...: runs COMMAND while no other process on this cache holds NAME,
# so that two clones wait for each other instead of building the same thing twice.
with_lock() {
  local file="$CACHE/locks/$1.lock"; shift
  mkdir -p "$CACHE/locks"
  (
    if ! flock -n 9; then
      say "waiting for another process to finish: $(basename "$file" .lock)"
      flock -w 1800 9 || die "the lock $file was still held after 30 minutes"
    fi
    # 9>&-: a process that COMMAND leaves behind must not keep the lock.
    "$@" 9>&-
  ) 9>"$file"
}

# wait_until SECONDS WHAT COMMAND...: tries COMMAND until it succeeds; non-zero when time is up.
wait_until() {
  local limit=$1 what=$2 start=$SECONDS; shift 2
  until "$@" >/dev/null 2>&1; do
    if (( SECONDS - start >= limit )); then say "still not there after ${limit} s: $what"; return 1; fi
    sleep 0.3
  done
}

# packages NAME...: Debian packages, installed only when missing.
packages() {
  local missing=() name
  for name in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || die "needs Debian's packages ${missing[*]}, and this machine has no apt-get"
  [ "$(id -u)" = 0 ] || die "needs root to install ${missing[*]}"
  say "installing ${missing[*]}"
  local log="$CACHE/log/apt.log"; mkdir -p "$CACHE/log"
  local apt=(apt-get -y -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  {
    DEBIAN_FRONTEND=noninteractive "${apt[@]}" install --no-install-recommends "${missing[@]}" ||
      { "${apt[@]}" update && DEBIAN_FRONTEND=noninteractive "${apt[@]}" install --no-install-recommends "${missing[@]}"; }
  } >"$log" 2>&1 9>&- || { tail -20 "$log" >&2; die "could not install ${missing[*]} (log: $log)"; }
}

has_docker() { docker info >/dev/null 2>&1; }
