#!/bin/sh
# A control plane on loopback with two racks of fake 8-GPU nodes, and four Volcano Jobs shown until they end.
#   ./demo.sh [--keep]    --keep leaves the cluster running until Ctrl-C
# Needs python3 and nothing else.
case "$*" in
  "" | --keep) ;;
  *) echo "usage: ./demo.sh [--keep]" >&2; exit 2 ;;
esac
command -v python3 >/dev/null || { echo "demo: python3 is missing" >&2; exit 1; }
exec python3 "$(dirname "$(readlink -f "$0")")/demo/live_demo.py" "$@"
