# Sourced by the scripts beside it: the common environment, `build`, and `step`, which runs one named part of a
# test run, measures its time and counts it. A failing step does not stop the run.
# shellcheck shell=bash

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
exec </dev/null  # nothing here reads input

export TEPHRA_JOBS="${TEPHRA_JOBS:-$(nproc)}"
export CCACHE_DIR="${CCACHE_DIR:-$PWD/.ccache}"
export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}"  # else nothing that reads precompiled headers is cached
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}"  # clones that share a cache share hits
# Without halt_on_error a finding of UBSan is a line on stderr and the test still passes.
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"

# build PRESET [ARGUMENT...]: configures and builds; arguments go to `cmake --build`.
build() {
  local preset=$1
  shift
  cmake --preset "$preset" && cmake --build --preset "$preset" --parallel "$TEPHRA_JOBS" "$@"
}

# run_tests PRESET [ARGUMENT...]: arguments go to ctest. Finding no test is a failure.
run_tests() {
  local preset=$1
  shift
  ctest --preset "$preset" --parallel "$TEPHRA_JOBS" --output-on-failure --no-tests=error "$@"
}

build_and_test() { build "$1" && run_tests "$@"; }

export TEPHRA_NOTES="$PWD/build/notes.txt"  # lines that a step adds to the summary
mkdir -p build && : >"$TEPHRA_NOTES"

passed=0
failed=0
summary=""

# step NAME COMMAND...
step() {
  local name=$1 began=$SECONDS outcome
  shift
  printf '\n==> %s\n' "$name"
  if "$@"; then
    outcome=passed
    passed=$((passed + 1))
  else
    outcome=FAILED
    failed=$((failed + 1))
  fi
  printf '<== %s: %s in %d s\n' "$name" "$outcome" $((SECONDS - began))
  summary+=$(printf '%-8s %-10s %6d s' "$outcome" "$name" $((SECONDS - began)))$'\n'
}

# beside COMMAND...: starts a command in the background, to be ended by a step `rejoin`. One at a time.
beside() {
  beside_output=$(mktemp)
  set -m  # in a process group of its own, so that it ends with this script, and all that it started
  (began=$SECONDS; "$@"; status=$?; echo "took $((SECONDS - began)) s beside other steps"; exit $status) >"$beside_output" 2>&1 &
  beside_group=$!
  set +m
  trap 'kill -- -"$beside_group" 2>/dev/null; rm -f "$beside_output"' EXIT
}

rejoin() {
  local status=0
  wait "$beside_group" || status=$?
  cat "$beside_output"
  rm -f "$beside_output"
  trap - EXIT
  return "$status"
}

# Ends a run. Its last line is for readers and scripts.
finish() {
  printf '\n%s\n' "$summary"
  cat "$TEPHRA_NOTES"
  printf '%d passed, %d failed\n' "$passed" "$failed"
  [ "$failed" -eq 0 ]
}
