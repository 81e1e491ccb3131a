#!/usr/bin/env bash
# The checks that take a day: sanitizers, races, long fuzzing, many more random cases, a release, every claim in full (50
# kills and 10^8 executions of fuzzers among them). All of them together have not been run yet. A step takes minutes to hours.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

# GCC 12's ThreadSanitizer dies at start where the kernel randomises more address bits than it
# expects ("unexpected memory mapping"), so its programs run without randomisation where allowed.
unrandomised=()
! setarch -R true 2>/dev/null || unrandomised=(setarch -R)

# The sanitized build also replays the journal of the release build byte for byte.
asan() {
  build_and_test asan && build release --target tephra &&
    tests/replay/cross_build.sh build/release/simulations/tephra build/asan/simulations/tephra
}

tsan() {
  TSAN_OPTIONS="ignore_noninstrumented_modules=1 suppressions=$PWD/tests/tsan.supp" \
    "${unrandomised[@]}" bash -c 'source hack/steps.sh && build_and_test tsan'
}

# Twenty times the random cases of an ordinary run, so a test may take longer than usual too.
property() { TEPHRA_PROPERTY_SCALE=20 build_and_test release -R '[Pp]roperty' --timeout 7200; }

# The page of tephra report in a real browser.
page() {
  hack/setup.sh browser && build release --target tephra &&
    /usr/bin/python3 tests/simulations/report_page_test.py build/release/simulations/tephra
}

vet() (
  hack/build-scheduler.sh && hack/build-lab.sh || exit
  source hack/go.sh
  export CGO_ENABLED=0 GOFLAGS="-mod=readonly -trimpath"
  for module in plugins/volcano tests/volcano lab; do (cd "$module" && go vet ./...) || exit; done
)

# The shim's facts under Go's race detector, which needs C.
races() (
  source hack/go.sh
  hack/volcano-apis.sh && hack/proto-go.sh && cd plugins/volcano &&
    CGO_ENABLED=1 GOFLAGS="-mod=readonly -trimpath" go test -race -vet=off ./facts ./link ./annotations
)

# Outages of the real processes of a lab.
outages() (
  build release && hack/build-scheduler.sh && hack/build-lab.sh || exit
  source hack/go.sh
  cd lab && TEPHRA_OUTAGES=1 CGO_ENABLED=0 GOFLAGS="-mod=readonly -trimpath" go test -vet=off -timeout 30m -count 1 -run TestFault ./e2e
)

# A release, for both architectures; then the claims about releases are not skipped.
release() {
  hack/setup.sh release && hack/release.sh && build arm64 --target scenario_test
}

# The controllers without which the claims frameworks-* are skipped.
frameworks() { hack/build-frameworks.sh; }

claims() {
  build release && hack/build-scheduler.sh && hack/build-bench.sh && hack/build-lab.sh &&
    hack/build-node-lab.sh && tests/claims/all --notes "$TEPHRA_NOTES"
}

# All steps, or the named ones: hack/test-slow.sh asan tsan
all=(setup asan tsan property fuzz page vet races outages release frameworks claims)
for name in "${@:-${all[@]}}"; do
  case $name in
    setup) step setup hack/setup.sh ;;
    fuzz) step fuzz hack/fuzz.sh "${TEPHRA_FUZZ_S:-300}" ;;
    asan | tsan | property | page | vet | races | outages | release | frameworks | claims) step "$name" "$name" ;;
    *) echo "test-slow: $name: no such step, expected one of ${all[*]}" >&2; exit 2 ;;
  esac
done
finish
