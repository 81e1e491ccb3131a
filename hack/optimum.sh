#!/usr/bin/env bash
# Compares policies with the best schedules of small instances: hack/optimum.sh [--install]
# Writes the tables and the chart of docs/explanation/optimum.md. Needs the release build; the first call installs the solver
# into build/optimum, which is all that --install does. Half an hour on two cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case "$#:${1:-}" in
  0: | 1:--install) ;;
  *) echo "usage: hack/optimum.sh [--install]" >&2; exit 2 ;;
esac

needs=tests/optimum/requirements.txt
if ! cmp -s $needs build/optimum/installed.txt; then
  python3 -m venv build/optimum || { echo "optimum: apt-get install python3-venv" >&2; exit 2; }
  build/optimum/bin/pip install --quiet --disable-pip-version-check --requirement $needs
  cp $needs build/optimum/installed.txt
fi
[ $# -eq 0 ] || exit 0

build/optimum/bin/python tests/optimum/compare.py 10000 500 >build/optimum/result.json
build/optimum/bin/python tests/optimum/page.py build/optimum/result.json
