#!/usr/bin/env bash
# All checks that must pass before a change is merged: hack/test.sh [--only STEP]
# The slower checks, sanitizers and fuzzers among them, are in hack/test-slow.sh. TEPHRA_JOBS bounds the parallelism.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

steps=(release volcano lab manifests claims)
only=
case "$#:${1:-}" in
  0:) ;;
  2:--only) only=$2 ;;
  *) echo "usage: hack/test.sh [--only release|volcano|lab|manifests|claims]" >&2; exit 2 ;;
esac
if [ -n "$only" ] && [[ " ${steps[*]} " != *" $only "* ]]; then
  echo "hack/test.sh: --only $only, expected one of ${steps[*]}" >&2
  exit 2
fi

go_programs() { # STEP
  case $1 in
    volcano) hack/build-scheduler.sh ;;
    lab) hack/build-scheduler.sh && hack/build-lab.sh ;;
    manifests) hack/build-scheduler.sh && hack/build-lab.sh && hack/helm.sh ;;
    claims) hack/build-scheduler.sh && hack/build-bench.sh && hack/build-lab.sh && hack/helm.sh ;;
  esac
}

# Builds what a step needs: Go downloads and links while C++ compiles.
build_for() { # STEP
  beside go_programs "$1"
  build release
  local status=$?
  rejoin && return "$status"
}

# Tests a Go module with the flags of hack/build-*.sh: other flags would compile Kubernetes again, and vet would
# read all of it.
test_module() (
  source hack/go.sh
  cd "$1" || exit
  CGO_ENABLED=0 GOFLAGS="-mod=readonly -trimpath" go test -vet=off -timeout 30m ./...
)

release() { run_tests release; }
volcano() { test_module plugins/volcano && test_module tests/volcano; }
lab() { test_module lab; }  # with the whole live path
manifests() { tests/manifests/all; }
claims() { tests/claims/all --quick --notes "$TEPHRA_NOTES"; }

# Runs a step with a low priority: the lab, which waits more than it computes, goes first.
yielding() { (renice -n 10 -p "$BASHPID" >/dev/null; "$@"); }

step setup hack/setup.sh
if [ -n "$only" ]; then
  step build build_for "$only"
  step "$only" "$only"
  finish
  exit
fi
step build build_for claims
beside lab
for name in release volcano manifests; do step "$name" yielding "$name"; done
step lab rejoin
step claims claims
finish
