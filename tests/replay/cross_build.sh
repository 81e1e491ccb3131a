#!/usr/bin/env bash
# One build writes journals, another one replays them byte for byte:
#   tests/replay/cross_build.sh WRITER READER [SIMULATION.yaml...]
#
# WRITER and READER are `tephra` programs. Without simulations, those of simulations/examples.
# Both journal the same simulation, and the journals must be equal too; a cut and a damaged copy
# must end as docs/reference/journal.md says.
set -euo pipefail

(($# >= 2)) || { echo "usage: cross_build.sh WRITER READER [SIMULATION.yaml...]" >&2; exit 2; }
writer=$(realpath "$1")
reader=$(realpath "$2")
shift 2
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
simulations=("$@")
[ ${#simulations[@]} -gt 0 ] || simulations=("$root"/simulations/examples/*.yaml)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "cross_build: $*" >&2
  [ ! -s "$scratch/log" ] || cat "$scratch/log" >&2
  exit 1
}

# expect CODE COMMAND...
expect() {
  local code=0 wanted=$1
  shift
  "$@" >"$scratch/log" 2>&1 || code=$?
  [ "$code" -eq "$wanted" ] || fail "exit code $code, expected $wanted: $*"
}

for simulation in "${simulations[@]}"; do
  journal=$scratch/written
  expect 0 "$writer" simulate "$simulation" --journal "$journal" --out "$scratch/out"
  expect 0 "$reader" replay "$journal" --strict
  grep 'reproduced' "$scratch/log" | sed "s|^|${simulation##*/}: |"

  expect 0 "$reader" simulate "$simulation" --journal "$scratch/again" --out "$scratch/out"
  cmp -s "$journal" "$scratch/again" || fail "$simulation: the two builds wrote different journals"

  size=$(stat -c %s "$journal")
  head -c $((size * 2 / 3)) "$journal" >"$scratch/cut"
  expect 0 "$reader" replay "$scratch/cut"
  grep -q 'note: the journal is truncated' "$scratch/log" || fail "$simulation: the cut is not reported"
  expect 2 "$reader" replay "$scratch/cut" --strict

  cp "$journal" "$scratch/damaged"
  printf '\xff\xff\xff' | dd of="$scratch/damaged" bs=1 seek=$((size / 2)) conv=notrunc status=none
  expect 2 "$reader" replay "$scratch/damaged"
done
echo "cross_build: ${#simulations[@]} simulations, all journals reproduced"
