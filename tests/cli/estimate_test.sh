#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tessera estimate: the figures of a 7B model worked out by hand, and numbers that cannot be.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

model=(--hidden 4096 --intermediate 14336 --layers 32 --vocabulary 32000 --heads 32 --kv-heads 8)

# Per layer: q and o 2 * 4096^2, k and v 2 * 4096 * 1024, gate, up and down 3 * 4096 * 14336, norms 2 * 4096.
layer=$((2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096))
parameters=$((2 * 32000 * 4096 + 32 * layer + 4096))
cache=$((2 * 32 * 4096 * 8 * 128 * 2)) # k and v, layers, tokens, heads, head size, bytes

claim "a 7B model has 7241732096 parameters, and its weights and cache take what they must"
[[ $parameters -eq 7241732096 ]] || fail "the sum in this script is wrong"
expect 0 estimate "${model[@]}" --sequence 4096 --json
json "it['parameters'] == $parameters"
json "it['weight_bytes'] == $((2 * parameters))"
json "it['kv_cache_bytes'] == $cache"
json "it['activation_bytes'] > 0"
json "it['total_bytes'] == it['weight_bytes'] + it['kv_cache_bytes'] + it['activation_bytes']"
total=$(/usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["total_bytes"])' "$work/out")

claim "each device is there, with whether its free memory is enough"
json "'cpu' in [d['backend'] for d in it['devices']]"
json "all(d['enough'] == (d['free_bytes'] >= it['total_bytes']) for d in it['devices'] if d['free_bytes'])"

claim "the table has the same figures, and 4096 is the default sequence"
expect 0 estimate "${model[@]}"
has "$out" "Parameters: $parameters"
grep -Eq "^Weights +13\.49 GiB +$((2 * parameters))$" "$work/out" || fail "the weights are others"
grep -Eq "^KV cache +0\.50 GiB +$cache$" "$work/out" || fail "the cache is another"
grep -Eq "^Total +[0-9.]+ GiB +$total$" "$work/out" || fail "the total is another"
grep -Eq '^cpu:0 .* (yes|no)$' "$work/out" || fail "the CPU is not judged"

claim "other sizes change what they should"
expect 0 estimate "${model[@]}" --bytes-per-weight 0.5 --batch=2 --json
json "it['weight_bytes'] == $((parameters / 2)) and it['kv_cache_bytes'] == $((2 * cache))"
expect 0 estimate "${model[@]}" --tied-embeddings --bytes-per-kv 1 --json
json "it['parameters'] == $((parameters - 32000 * 4096)) and it['kv_cache_bytes'] == $((cache / 2))"
expect 0 estimate --hidden 4096 --intermediate 14336 --layers 32 --vocabulary 32000 --heads 32 --json
json "it['model']['kv_heads'] == 32 and it['kv_cache_bytes'] == $((4 * cache))"

claim "what must be given is named when it is missing"
expect 2 estimate
has "$err" "tessera estimate: missing: --hidden N, --intermediate N, --layers N, --vocabulary N, --heads N"

claim "numbers that cannot be are refused with what they may be"
for value in 0 -1 1.5 x '' 4096x; do
  expect 2 estimate "${model[@]}" "--hidden=$value"
  has "$err" "tessera estimate: --hidden takes a whole number from 1, not '$value'"
  is_empty "$out" "standard output"
done
expect 2 estimate "${model[@]}" --bytes-per-weight 0
has "$err" "--bytes-per-weight takes a number above 0, not '0'"
expect 2 estimate "${model[@]}" --hidden 99999999999999999999
has "$err" "too large"
expect 2 estimate "${model[@]}" --heads
has "$err" "--heads needs a value"

claim "so are sizes that do not fit together, or are beyond counting"
expect 2 estimate "${model[@]}" --heads 33
has "$err" "tessera: estimate: "
has "$err" 33
expect 2 estimate "${model[@]}" --kv-heads 7
has "$err" 7
expect 2 estimate "${model[@]}" --layers 18446744073709551615
