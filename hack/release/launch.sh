#!/bin/sh
# Runs the program of this name in lib/tephra with the libraries in lib, and none of the system's.
here=$(dirname "$(dirname "$(readlink -f "$0")")")
name=$(basename "$0")
PATH="$here/bin:$PATH"  # tephra migrate runs kubectl-tephra
export PATH
exec "$here/lib/ld-linux-x86-64.so.2" --library-path "$here/lib" --argv0 "$name" "$here/lib/tephra/$name" "$@"
