#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tessera bench: the list of rows, a small run as table and as JSON, and wrong options. No figure is judged.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

small=(--backend cpu --size 1000 --repeat 1)

claim "its help is complete, no line wider than 80 columns"
expect 0 bench --help
for part in NAME USAGE DESCRIPTION OPTIONS "EXIT CODES" EXAMPLE --backend --device --op --size --dtype --repeat \
  --min-time --json --list --compare --chart --tuned; do
  has "$out" "$part"
done
fits 80

claim "--list shows the rows, or those that match, and times nothing"
expect 0 bench --list
for row in copy add relu_mul_add exp tanh gelu sigmoid sum sum_axis0 sum_axis1 transposed_copy softmax layer_norm matmul \
  gemv record small_add fused_new fused_cached pool launch; do
  grep -Eq "^$row +" "$work/out" || fail "there is no row $row"
done
expect 0 bench --list --op 'sum*,exp'
[[ $(tail -n +2 "$work/out" | cut -d' ' -f1 | tr '\n' ' ') == "exp sum sum_axis0 sum_axis1 " ]] || fail "other rows are listed"

claim "a small run has all rows with their figures"
expect 0 bench "${small[@]}" --json
json "it['backend'] == 'cpu' and it['threads'] >= 1 and it['device_name']"
json "all(r['status'] == 'TSR_OK' and r['median_ns'] > 0 and r['samples'] == 1 and r['dtype'] == 'f32' for r in it['rows'])"
json "all(r['best_ns'] <= r['low_ns'] <= r['median_ns'] <= r['high_ns'] for r in it['rows'])"
json "len([r for r in it['rows'] if r['name'] == 'matmul']) == 1"
json "all((r['rows'], r['cols']) == ((31, 31) if r['bound'] != 'none' or r['name'] in ('upload', 'linear', 'linear_tanh') else (0, 0)) for r in it['rows'])"
json "all(abs(r['share'] * r['limit'] - r[{'GB/s': 'gb_s', 'GFLOP/s': 'gflop_s'}[u]]) < 1e-6 * r['limit']
          for r in it['rows'] for u in [l['unit'] for l in it['limits'] if l['bound'] == r['bound']])"

claim "bytes and operations are those of the inputs and the result"
expect 0 bench --backend cpu --op 'relu*,matmul,sum_axis1' --size 40x30 --repeat 1 --json
json "[r['bytes'] for r in it['rows']] == [4 * 40 * 30 * 4, 4 * (40 * 30 + 40), 4 * (2 * 40 * 30 + 40 * 40)]"
json "[r['flops'] for r in it['rows']] == [3 * 40 * 30, 40 * 30, 2 * 40 * 40 * 30]"
expect 0 bench --backend cpu --op add --size 40x30 --repeat 1 --dtype bf16 --json
json "it['rows'][0]['bytes'] == 3 * 2 * 40 * 30 and it['rows'][0]['dtype'] == 'bf16'"

claim "the table shows the same rows, and the limits below"
expect 0 bench "${small[@]}" --op 'add,record'
[[ $out == cpu:0:* ]] || fail "the device is not named"
grep -Eq '^add +31x31 +[0-9.]+ [num]?s ' "$work/out" || fail "there is no figure for add"
grep -Eq '^record +- +[0-9.]+ [num]?s ' "$work/out" || fail "there is no figure for record"
has "$out" "Measured limits: two reads and a write "
is_empty "$err" "standard error"

claim "TESSERA_THREADS decides how many threads the limits are measured with"
TESSERA_THREADS=1 expect 0 bench "${small[@]}" --op add --json
json "it['threads'] == 1"

claim "a dtype that an operator does not take is shown with the reason, and is no error while others are timed"
expect 0 bench "${small[@]}" --op 'add,matmul,softmax' --dtype i32 --json
json "it['rows'][0]['status'] == 'TSR_OK'"
json "all(bool(r['message']) == (r['status'] != 'TSR_OK') for r in it['rows'])"

claim "with --turns a line of input is a sample, until there is no more"
printf '\n\n\n' > "$work/in"
expect 0 bench "${small[@]}" --op add --turns < "$work/in"
[[ $(sed -n 1p "$work/out") == ready ]] || fail "it does not say that it is ready"
[[ $(sed -n 2,4p "$work/out" | grep -Ec '^[0-9]+\.[0-9]$') == 3 ]] || fail "three lines are not three samples"
[[ $(sed -n 5p "$work/out") == cpu:0:* ]] || fail "the table does not follow"
expect 2 bench "${small[@]}" --op 'add,sum' --turns
has "$err" "--turns is for one row; --op chooses it"

claim "what cannot be is refused with what may be"
for size in 0 -3 x 10x 10x0 1e7 99999999999999999999; do
  expect 2 bench "--size=$size"
  has "$err" "--size takes a number of elements or ROWSxCOLUMNS"
done
expect 2 bench --dtype f33
has "$err" "--dtype: "
expect 2 bench --op nothing
has "$err" "no row is called 'nothing'; --list shows them"
expect 2 bench --repeat 0
expect 2 bench extra

claim "--compare times each work on the CPU and other devices, and draws a chart"
expect 0 bench --compare --device cpu --min-time 0.001 --chart "$work/speeds.png" --json
json "[w['name'] for w in it['devices'][0]['works']] == ['matmul', 'add', 'sum', 'relu', 'conv2d', 'softmax', 'attention']"
json "all(w['status'] == 'TSR_OK' and w['ns'] > 0 and w['times_cpu'] == 1 for w in it['devices'][0]['works'])"
json "it['devices'][0]['multiply_add_ns'] > 0"
[[ $(head -c 4 "$work/speeds.png" | tail -c 3) == PNG ]] || fail "the chart is no PNG"
chromium=$(command -v chromium || command -v chromium-browser || true)
if [[ -n $chromium ]]; then
  cat >"$work/chart.html" <<'END'
<body style="margin:0"><img src="speeds.png" onload="document.body.dataset.size = this.naturalWidth + 'x' + this.naturalHeight"
  onerror="document.body.dataset.size = 'none'"></body>
END
  timeout 60 "$chromium" --headless=new --no-sandbox --disable-gpu --user-data-dir="$work/browser" \
    --dump-dom "file://$work/chart.html" >"$work/out" 2>"$work/err" || true
  size=$(grep -oE 'data-size="[0-9a-z]+"' "$work/out" || true)
  [[ $size =~ data-size=\"([0-9]+)x([0-9]+)\" ]] || fail "a browser does not show the chart: $size"
  ((BASH_REMATCH[1] >= 600 && BASH_REMATCH[2] >= 300)) || fail "the chart is small: $size"
else
  echo "  without a browser: chromium is not installed"
fi
expect 2 bench --compare --chart speeds.jpg
has "$err" "speeds.jpg"
expect 2 bench --chart speeds.png
