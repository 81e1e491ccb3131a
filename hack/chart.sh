#!/usr/bin/env bash
# Makes the Helm chart from the manifests into build/chart/tephra, checks it, and packs it and the chart of a team (manifests/team)
# into build/chart/tephra-VERSION.tgz and build/chart/tephra-team-VERSION.tgz.
# --into FOLDER makes them in another folder of build. --values prints the table of docs/reference/chart.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
arguments=()
into=build/chart
case "$#:${1:-}" in
  1:--values) arguments=(--print-values) ;;
  2:--into) into=$2 ;;
  0:) ;;
  *) echo "chart: unknown arguments '$*', expected --values or --into FOLDER" >&2; exit 2 ;;
esac
kubectl=build/lab/kubectl
[ -x "$kubectl" ] || kubectl=$(command -v kubectl) || { echo "chart: no kubectl: hack/build-lab.sh --only kubectl builds it" >&2; exit 1; }
helm=$(hack/helm.sh)
mkdir -p "$into"
python3 hack/chart.py --kubectl "$kubectl" --out "$into/tephra" "${arguments[@]}"
"$helm" lint --strict --quiet "$into/tephra" >&2
"$helm" lint --strict --quiet --set 'groups={lint}' manifests/team >&2
"$helm" package --destination "$into" "$into/tephra" manifests/team >&2

# Helm writes the time of packing into its archives. Equal charts give equal archives.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for archive in "$into"/tephra-*.tgz; do
  rm -rf "${work:?}"/*
  tar -xzf "$archive" -C "$work"
  (cd "$work" && tar --format=gnu --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -c -- *) |
    gzip -n9 >"$archive.new"
  mv "$archive.new" "$archive"
done
