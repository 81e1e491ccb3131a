#!/usr/bin/env bash
# Makes the pictures of the documents from real runs: hack/pictures.sh [NAME...], into docs/pictures.
# Needs the release build, graphviz and Chromium (apt-get install graphviz chromium). Without NAME it makes all of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tephra=${TEPHRA:-build/release/simulations/tephra}
draw=hack/pictures/draw.py
all=(simulate explain report chart backfill topology architecture live growth)
limit=300000  # bytes of one picture

tephra=$(realpath -m "$tephra")
[ -x "$tephra" ] || { echo "pictures: no $tephra: cmake --preset release && cmake --build --preset release" >&2; exit 2; }
for program in dot chromium python3; do
  command -v "$program" >/dev/null || { echo "pictures: $program: not found, apt-get install graphviz chromium" >&2; exit 2; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
out=$scratch/pictures  # and from there, whole, into docs/pictures
mkdir -p "$out" docs/pictures

simulate() {
  "$tephra" simulate simulations/examples/demo.yaml |
    python3 $draw terminal --title "tephra simulate simulations/examples/demo.yaml" --lines 34 >$out/simulate.svg
}
explain() {
  "$tephra" explain job/train --simulation simulations/examples/reclaim.yaml --at 5m |
    python3 $draw terminal --title "tephra explain job/train" --lines 26 >$out/explain.svg
}
report() {
  "$tephra" simulate simulations/examples/demo.yaml --out "$scratch/demo" >/dev/null
  (cd "$scratch" && "$tephra" report demo --out demo.html >/dev/null)
  chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,1400 --virtual-time-budget=5000 \
    --screenshot="$scratch/report.png" "file://$scratch/demo.html" >/dev/null 2>&1
  install -m 644 "$scratch/report.png" $out/report.png
}
chart() { python3 $draw chart docs/benchmarks.md >$out/chart.svg; }
backfill() {
  local mode
  for mode in none easy; do
    sed "s/MODE/$mode/" hack/pictures/backfill.yaml >"$scratch/$mode.yaml"
    "$tephra" simulate "$scratch/$mode.yaml" --out "$scratch/$mode" >/dev/null
  done
  python3 $draw gantt --gpus 8 "without backfill=$scratch/none/tasks.csv" "with backfill (the default)=$scratch/easy/tasks.csv" \
    >$out/backfill.svg
}
topology() { "$tephra" topology simulations/examples/near.yaml --output svg >$out/topology.svg; }
architecture() { dot -Tsvg hack/pictures/architecture.dot >$out/architecture.svg; }
live() { dot -Tsvg hack/pictures/live.dot >$out/live.svg; }
growth() { python3 $draw growth docs/growth.json >$out/growth.svg; }  # the results of tests/bench/growth --out

for name in "${@:-${all[@]}}"; do
  [[ " ${all[*]} " == *" $name "* ]] || { echo "pictures: $name: expected one of ${all[*]}" >&2; exit 2; }
  "$name"
done
for picture in "$out"/*; do
  size=$(stat -c %s "$picture")
  [ "$size" -le "$limit" ] || { echo "pictures: $picture: $size bytes, expected at most $limit" >&2; exit 1; }
  install -m 644 "$picture" docs/pictures
done
