#!/usr/bin/env bash
# Prints the path of a promtool: the one installed, or one taken out of Debian's package, whose
# installation would also start a Prometheus server.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if command -v promtool; then exit 0; fi
tool=$PWD/build/tools/promtool
if [ ! -x "$tool" ]; then
  fresh=$(mktemp -d)
  trap 'rm -rf "$fresh"' EXIT
  chmod 755 "$fresh"  # apt fetches as a user of its own
  fetch() { (cd "$fresh" && apt-get -q download prometheus >&2); }
  fetch || { apt-get -q update >&2 && fetch; } ||
    { echo "promtool: could not fetch Debian's package prometheus" >&2; exit 1; }
  dpkg -x "$fresh"/prometheus_*.deb "$fresh/tree"
  mkdir -p "${tool%/*}"
  install "$fresh/tree/usr/bin/promtool" "$tool"
fi
echo "$tool"
