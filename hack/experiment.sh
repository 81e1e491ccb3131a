#!/usr/bin/env bash
# Makes the figures of docs/explanation/experiment.md, about eight minutes: hack/experiment.sh [OUT]. Needs the release build
# and the data folder; called again it goes on where it was.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=${1:-build/experiment}
data=$(hack/data.sh --where)
tephra=build/release/simulations/tephra
[ -x "$tephra" ] || { echo "experiment: no $tephra: cmake --preset release && cmake --build --preset release" >&2; exit 2; }
[ -d "$data" ] || { echo "experiment: no $data: hack/data.sh gets the data" >&2; exit 3; }
mkdir -p "$out"

sweep() {  # NAME [OPTION...]
  local name=$1
  shift
  "$tephra" sweep "simulations/experiments/$name-sweep.yaml" --out "$out/$name" "$@" >"$out/$name.txt"
  cat "$out/$name.txt"
  echo
}
sweep made
sweep alea --files --trace "$data/alea/Example4-load_100%-urgent_10%-instance_0.swf"
sweep philly-apart --trace "$data/philly/philly_oct_nov_11vc.csv"
sweep philly --trace "$data/philly/philly_oct_nov_11vc.csv"
"$tephra" report "$out/alea/volcano-like/1/1" "$out/alea/easy/1/1" --out "$out/alea.html"
