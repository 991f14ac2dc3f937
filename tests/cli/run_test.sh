#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tessera run: any program with the profiler on.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

add=("$TSR_TEST_PROGRAM" check --device cpu --op 'add/f32/*' --quick --sample 50)

claim "a program's report says what ran where, how long, and how much memory it took"
expect 0 run "${add[@]}"
has "$out" "cases passed"
has "$err" "Tessera profile of"
has "$err" "memory: "
has "$err" "Work of devices"
has "$err" ": add"

claim "it says why other devices were not chosen"
TESSERA_PRIORITY=cuda,cpu CUDA_VISIBLE_DEVICES='' expect 0 run "$TSR_TEST_PROGRAM" bench --op add --size 64 --min-time 0.01
has "$err" "not chosen: cuda"

claim "options after the program's name are its own, and the exit code is the program's"
expect 7 run sh -c 'echo "$0 $1"; exit 7' --full --profile
[[ $out == "--full --profile" ]] || fail "the arguments are '$out'"
is_empty "$err" "standard error"

claim "--profile writes a file in place of the table"
expect 0 run --profile "$work/trace.json" "${add[@]}"
is_empty "$err" "standard error"
python3 -c "import json, sys; json.load(open(sys.argv[1]))" "$work/trace.json" || fail "the trace does not parse"

claim "a profile that cannot be written is named, and the exit code is the program's"
expect 0 run --profile /nowhere/trace.json "${add[@]}"
has "$err" "/nowhere/trace.json cannot be written"

claim "a program that is not there is named"
expect 3 run "$work/nothing"
has "$err" "$work/nothing' cannot be run: No such file"
expect 2 run
has "$err" "missing: PROGRAM"
