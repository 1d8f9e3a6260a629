# Fakes from bash: a fake is a coprocess that takes and gives a JSON object a line.
# To be sourced. Needs bash 4 or later, and the command that GATEWAY names, else `gateway`.

PATIENCE=30 # seconds that any one thing is waited for

# start_fake WORDS…: starts `gateway fake WORDS…` and waits until it is ready
start_fake() {
  coproc FAKE { exec "${GATEWAY:-gateway}" fake "$@"; }
  FAKE_PROCESS=$FAKE_PID
  until_line '"event":"ready"'
}

# ask LINE PATTERN: gives the fake an operation, and waits for what it says to it
ask() {
  printf '%s\n' "$1" >&"${FAKE[1]}"
  until_line "$2"
}

# until_line PATTERN: waits for a line in which this extended regular expression is found;
# leaves it in LINE. Lines before it are shown, and gone.
until_line() {
  while IFS= read -r -t "$PATIENCE" -u "${FAKE[0]}" LINE; do
    printf '  %s\n' "$LINE" >&2
    [[ $LINE =~ $1 ]] && return
  done
  printf 'no line came with %s\n' "$1" >&2
  exit 1
}

# end_fake: closes its input, which is its end; answers its exit code
end_fake() {
  local input=${FAKE[1]}
  exec {input}>&-
  wait "$FAKE_PROCESS"
}
