#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tuning: what is found is stored, shown, used and forgotten; several processes, and one that is killed, do no harm.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"
export COLUMNS=200

export XDG_CACHE_HOME=$work/home
mkdir -m 700 "$XDG_CACHE_HOME"
small=(--device cpu --size 20000 --repeat 1 --min-time 0.001)

claim "nothing is known at first, and that is no error"
expect 0 tune --device cpu --show --json
json "it['tuned'] == []"

claim "an operator that is not there is named, and nothing else is printed"
expect 2 tune --device cpu --op nosuch
has "$err" "no operator matches 'nosuch'"
is_empty "$out" "standard output"

claim "two processes that tune at once both succeed, and what both found is there"
TESSERA_TUNE=quick "$TSR_TEST_PROGRAM" bench "${small[@]}" --op exp >"$work/one" 2>&1 &
one=$!
TESSERA_TUNE=quick "$TSR_TEST_PROGRAM" bench "${small[@]}" --op tanh >"$work/two" 2>&1 &
two=$!
wait $one || fail "the first fails: $(<"$work/one")"
wait $two || fail "the second fails: $(<"$work/two")"
expect 0 tune --device cpu --show --json
json "any(t['work'].startswith('exp ') for t in it['tuned']) and any(t['work'].startswith('tanh ') for t in it['tuned'])"

claim "a process that is killed while it tunes leaves what was there"
"$TSR_TEST_PROGRAM" tune --device cpu --op sum --full >"$work/killed" 2>&1 &
killed=$!
sleep 0.3
kill -9 $killed
wait $killed 2>/dev/null || true
expect 0 tune --device cpu --show --json
json "any(t['work'].startswith('exp ') for t in it['tuned'])"

claim "a row is not slower as it is tuned"
expect 0 bench --tuned --device cpu --size 20000 --op exp --json
json "[r['name'] for r in it['rows']] == ['exp'] and it['rows'][0]['status'] == 'TSR_OK'"
json "it['rows'][0]['usual_ns'] > 0 and it['rows'][0]['tuned_ns'] > 0 and it['rows'][0]['verdict'] in ('same', 'faster')"
expect 0 bench --tuned --device cpu --size 20000 --op exp
has "$out" "Tuned is"

claim "a damaged file costs one warning at most"
for file in "$XDG_CACHE_HOME"/tessera/choices-*; do printf 'damaged' >"$file"; done
TESSERA_LOG=warn expect 0 bench "${small[@]}" --op exp
[[ $(grep -c choices "$work/err" || true) -le 1 ]] || fail "there are several warnings"

claim "--clear forgets all"
TESSERA_TUNE=quick expect 0 bench "${small[@]}" --op exp
expect 0 tune --device cpu --clear
expect 0 tune --device cpu --show --json
json "it['tuned'] == []"
