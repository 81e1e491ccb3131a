#!/usr/bin/env bash
# Everything that must hold before a change goes in: hack/test.sh [--only STEP]
# The slower checks, sanitizers and fuzzers among them, are in hack/test-slow.sh. TEPHRA_JOBS bounds the parallelism.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

steps=(release volcano lab manifests claims)
case "$#:${1:-}" in
  0:) ;;
  2:--only) steps=("$2") ;;
  *) echo "usage: hack/test.sh [--only release|volcano|lab|manifests|claims]" >&2; exit 2 ;;
esac

# Tests a Go module as hack/build-*.sh build it: other flags would compile Kubernetes anew, and vet
# would read all of it.
test_module() (
  cd "$1" || exit
  CGO_ENABLED=0 GOFLAGS="-mod=readonly -trimpath" go test -vet=off ./...
)

volcano() { build release && hack/build-scheduler.sh && test_module plugins/volcano; }

# The lab, and on it the whole live path.
lab() { build release && hack/build-scheduler.sh && hack/build-lab.sh && test_module lab; }

manifests() { build release && hack/build-scheduler.sh && hack/build-lab.sh && tests/manifests/all; }

claims() {
  build release && hack/build-scheduler.sh && hack/build-bench.sh && hack/build-lab.sh && tests/claims/all --quick
}

step setup hack/setup.sh
for name in "${steps[@]}"; do
  case $name in
    release) step release build_and_test release ;;
    volcano) step volcano volcano ;;
    lab) step lab lab ;;
    manifests) step manifests manifests ;;
    claims) step claims claims ;;
    *) step "$name" false ;;
  esac
done
finish
