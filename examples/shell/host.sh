#!/usr/bin/env bash
# Stands in for your node: a fake of ours that really executes commands.
place=$(mktemp -d)
mkfifo "$place/input" # a fake ends with its input; this one has no end
exec "${GATEWAY:-gateway}" fake rvbox-client --exec --client-id host-1 \
  --connect "$NODE_SERVER" --state "$place/state" <>"$place/input" >/dev/null
