#!/usr/bin/env bash
# Makes the Helm chart from the manifests into build/chart/tephra, checks it, and packs it and the chart of a team (manifests/team)
# into build/chart/tephra-VERSION.tgz and build/chart/tephra-team-VERSION.tgz.
# --values prints the table of docs/reference/chart.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
arguments=()
case "${1:-}" in
  --values) arguments=(--print-values) ;;
  "") ;;
  *) echo "chart: unknown argument '$1', expected --values" >&2; exit 2 ;;
esac
kubectl=build/lab/kubectl
[ -x "$kubectl" ] || kubectl=$(command -v kubectl) || { echo "chart: no kubectl: hack/build-lab.sh --only kubectl builds it" >&2; exit 1; }
helm=$(hack/helm.sh)
mkdir -p build/chart
python3 hack/chart.py --kubectl "$kubectl" --out build/chart/tephra "${arguments[@]}"
"$helm" lint --strict --quiet build/chart/tephra >&2
"$helm" lint --strict --quiet --set 'groups={lint}' manifests/team >&2
"$helm" package --destination build/chart build/chart/tephra manifests/team >&2
