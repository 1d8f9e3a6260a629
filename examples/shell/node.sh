#!/usr/bin/env bash
# Does a node do what it is asked? Usage: node.sh COMMAND…, which starts the node; it is given the
# address that it shall dial as NODE_SERVER.
set -euo pipefail
source "$(dirname "$0")/fake.sh"

start_fake rvbox-server --listen ws://127.0.0.1:0/agent
[[ $LINE =~ \"address\":\"([^\"]+)\" ]]
NODE_SERVER=${BASH_REMATCH[1]} "$@" &
node=$!
trap 'kill $node 2>/dev/null' EXIT

until_line '"event":"worker".*"state":"ready"'

# It runs a command, and says what the command wrote.
ask '{"op":"start","id":"1","run":"a","input":{"line":"echo hello; exit 3"}}' '"id":"1","ok":true'
ask '{"op":"follow","id":"2","run":"a"}' '"id":"2","ok":true'
until_line '"type":"OutputProduced".*hello'
ask '{"op":"wait","id":"3","run":"a"}' '"id":"3","ok":true.*"state":"failed"'

# A link that is cut in the middle of a run costs nothing: it dials again, and goes on.
ask '{"op":"start","id":"4","run":"b","input":{"line":"sleep 1; echo after"}}' '"id":"4","ok":true'
ask '{"op":"follow","id":"5","run":"b"}' '"id":"5","ok":true'
until_line '"run":"b".*"type":"RunStarted"'
ask '{"op":"drop","id":"6"}' '"id":"6","ok":true'
until_line '"run":"b".*"type":"OutputProduced".*after'
ask '{"op":"wait","id":"7","run":"b"}' '"id":"7","ok":true.*"state":"succeeded"'

end_fake
echo 'the node is all right'
