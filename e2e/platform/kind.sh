# shellcheck shell=bash disable=SC2034
# The same commands on kind, for machines with Docker. Sourced by `cluster`.

KUBECONFIG_FILE=$RUN/kubeconfig
KUBECTL=kubectl   # for `cluster`

is_up() { [ -s "$KUBECONFIG_FILE" ] && kind get clusters 2>/dev/null | grep -qFx "$INSTANCE"; }

cluster_up() {
  local tool
  for tool in kind kubectl helm; do
    command -v "$tool" >/dev/null || die "a Docker engine answers, so the platform uses kind, but $tool is not in PATH: install it or set SEAWALL_PLATFORM=local"
  done
  mkdir -p "$RUN/log"
  is_up || kind create cluster --name "$INSTANCE" --config "$PLATFORM/kind.yaml" --kubeconfig "$KUBECONFIG_FILE" --wait 180s >&2 ||
    die "kind could not create the cluster"
}

cluster_down() {
  ! kind get clusters 2>/dev/null | grep -qFx "$INSTANCE" || kind delete cluster --name "$INSTANCE" --kubeconfig "$KUBECONFIG_FILE" >&2
  rm -f "$KUBECONFIG_FILE"
}

cluster_load() {
  local image
  for image in "$@"; do
    if [ -f "$image" ]; then
      kind load image-archive --name "$INSTANCE" "$image" >&2
    else
      kind load docker-image --name "$INSTANCE" "$image" >&2
    fi
  done
}

cluster_shell() {
  if [ $# -gt 0 ]; then docker exec "$INSTANCE-control-plane" "$@"; else docker exec -it "$INSTANCE-control-plane" bash; fi
}

cluster_env() { echo "export KUBECONFIG='$KUBECONFIG_FILE'"; }
