# Everything that is checked here is checked by .ci/run, which calls these recipes: there is
# no second list. They need the environment that README's test command makes.

bin := ".venv/bin"

# what is there
default:
    @{{ bin }}/just --list --unsorted

# all of it, from README's own test command to the coverage gate: what must pass before a merge
ci:
    bash .ci/run

# put the sources in order
fmt:
    {{ bin }}/ruff format .
    {{ bin }}/ruff check --fix .

# format and lint, changing nothing
lint:
    {{ bin }}/ruff format --check .
    {{ bin }}/ruff check .

# two checkers, both strict
types:
    {{ bin }}/mypy
    {{ bin }}/pyright --pythonpath {{ bin }}/python

# who may import whom
imports:
    {{ bin }}/lint-imports --no-logo

# the tests; `just test tests/core -k run` for some of them
test *args:
    {{ bin }}/python -P -m pytest {{ args }}

# the tests that run a whole program for many seconds, which `just test` leaves out; only files that have some are read
slow *args:
    {{ bin }}/python -P -m pytest -n {{ num_cpus() }} --dist worksteal -m slow -o faulthandler_timeout=1500 {{ if args == "" { "$(grep -rl pytest.mark.slow tests --include='test_*.py')" } else { args } }}

# the tests with branch coverage, and the gate on it
cov: (test "--cov" "--cov-report=") cov-report

# the gate alone, on what the last run measured: each room stands for itself
cov-report:
    {{ bin }}/coverage report --include='*/core/*' --fail-under=95
    {{ bin }}/coverage report --include='*/protocols/*' --fail-under=95

# generate the code of the protobuf schemas anew
proto:
    {{ bin }}/python tools/proto.py

# is what is committed what would be generated?
proto-check:
    {{ bin }}/python tools/proto.py --check

# 20,000 gRPC calls whose handler raises, and the connection's window whole behind them
flood:
    FLEETGATE_FLOOD=20000 {{ bin }}/python -P -m pytest -q tests/transports/test_grpc_server.py -k handler_raises

# does every bridge still make of each thing what docs/fidelity.md says, or better?
fidelity-check:
    {{ bin }}/gateway fidelity --check docs/fidelity.md

# what is made of the code or of another page: tables of docs/, and gateway/fidelity/measured.json
tables *args:
    {{ bin }}/python tools/reference.py {{ args }}

# make docs/reference/limits.md from the code
limits:
    {{ bin }}/python -P tools/limits.py

# does anything that is committed look like a secret?
secrets:
    {{ bin }}/python -P tools/secret_scan.py

# the same, and known holes in what we depend on. It asks PyPI (`just audit --service osv`: OSV), fails where
# that does not answer, and so is no gate of `just ci`. The auditor lives apart: what it needs itself is none of ours
audit *args: secrets
    test -x .venv-audit/bin/pip-audit || (python3 -m venv .venv-audit && .venv-audit/bin/pip install -q 'pip-audit==2.10.1')
    {{ bin }}/python -P tools/audit.py {{ args }}

# sdist, then the wheel from it, into dist/
wheel:
    rm -rf dist
    {{ bin }}/python -m build --no-isolation

# each rule and codec with 5,000 drawn examples, on every core: most of an hour
deep-fuzz *args="tests/core tests/protocols":
    {{ bin }}/python -P -m pytest --hypothesis-profile=deep -m hypothesis -n {{ num_cpus() }} -o faulthandler_timeout=3600 {{ args }}

# inputs drawn from seeds through every codec, framing, handshake and adapter; `just fuzz rvbox --inputs 1000000 --seed 1` for many
fuzz *args="--inputs 6000 --within 45 --jobs 2":
    {{ bin }}/python -P tools/fuzz.py {{ args }}

# the power goes at every point of drawn histories, in every way: a minute or two; `just torn-disk deep`: an hour
torn-disk profile="brisk":
    {{ bin }}/python -P -m pytest -q --hypothesis-profile={{ profile }} -n {{ num_cpus() }} -o faulthandler_timeout=3600 tests/core/journal/test_torn.py

# kill a real gateway with all sixteen bridges so many times, inside commits and elsewhere, and judge every run; 20 are part of `just ci`
chaos *args:
    {{ bin }}/python -P tools/chaos.py {{ args }}

# so many trials in virtual time across the sixteen pairs, with seeded faults and kills; a failing one by `--pair P --seed S`
chaos-seeds *args="320 --within 150 --jobs 2":
    {{ bin }}/python -P tools/chaos_seeds.py {{ args }}

# measure; figures are ratios to a plain relay in the same run
bench *args:
    {{ bin }}/python -P -m fleetgate.gateway.bench {{ args }}

# how much memory a gateway takes at most, as docs/guarantees.md says; `just slow` has smaller ones
memory *args:
    FLEETGATE_MEMORY=1 {{ bin }}/python -P -m pytest -q -n 0 -s -m slow -o faulthandler_timeout=3600 tests/memory {{ args }}

# pin what is installed now
constraints:
    {{ bin }}/python -m pip freeze --exclude-editable > constraints.txt

# meet programs that others wrote; names of lanes, and `--report` for docs/interop.md
interop *args:
    {{ bin }}/python -P tools/interop.py {{ args }}

# the examples in other languages, where their toolchains are; names of some
examples *args:
    {{ bin }}/python -P tools/examples.py {{ args }}

# write into the pages what stands in examples/ and in the code
pages:
    {{ bin }}/python -P tools/reference.py
    {{ bin }}/python -P tools/pages.py

# record the transcripts of tests/transcripts anew, between our own fakes
transcripts:
    {{ bin }}/python -P tools/transcripts.py
