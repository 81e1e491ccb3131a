#!/bin/sh
# Stands in for nvidia-cuda-mps-control: a daemon is a file in its pipe directory. The commands that it gets
# go to the file that FAKE_MPS_COMMANDS names. FAKE_MPS_FAILS: the word that it fails at; FAKE_MPS_SLOW:
# seconds that a start takes.
log() { echo "$*" >>"${FAKE_MPS_COMMANDS:-/dev/null}"; }
if [ "${1:-}" = -d ]; then
  log "start of $CUDA_VISIBLE_DEVICES"
  sleep "${FAKE_MPS_SLOW:-0}"
  [ "${FAKE_MPS_FAILS:-}" = start ] && { echo "no start today"; exit 3; }
  : >"$CUDA_MPS_PIPE_DIRECTORY/control" && : >"$CUDA_MPS_LOG_DIRECTORY/control.log"
  # A daemon keeps its outputs open.
  sleep 3 &
  exit 0
fi
read -r word rest
[ -e "$CUDA_MPS_PIPE_DIRECTORY/control" ] || { echo "Cannot find MPS control daemon process"; exit 1; }
[ "$word" = "${FAKE_MPS_FAILS:-}" ] && exit 1
case $word in
  quit) log quit; rm "$CUDA_MPS_PIPE_DIRECTORY/control" ;;
  get_default_active_thread_percentage) echo 100.0 ;;
  get_server_list) cat "$CUDA_MPS_PIPE_DIRECTORY/servers" 2>/dev/null || true ;;
  set_default_active_thread_percentage | set_default_device_pinned_mem_limit | set_active_thread_percentage | set_device_pinned_mem_limit)
    echo "$word $rest" >>"$CUDA_MPS_PIPE_DIRECTORY/limits" ;;
  *) exit 1 ;;
esac
