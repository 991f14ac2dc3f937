#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The profiler from outside: the setting, --profile, what the files contain, and the report in a real browser.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

export TESSERA_BACKEND=cpu
add=(check --device cpu --op 'add/f32/*' --quick --sample 50)

claim "TESSERA_PROFILE=on prints a table when the program ends"
TESSERA_PROFILE=on expect 0 "${add[@]}"
has "$err" "Tessera profile of"
has "$err" "memory: "
has "$err" "Work of devices"
has "$err" ": add"

claim "off and none do nothing"
for value in off none; do
  TESSERA_PROFILE=$value expect 0 "${add[@]}"
  is_empty "$err" "standard error"
done

claim "--profile does the same, - prints the table"
expect 0 "${add[@]}" --profile -
has "$err" "Tessera profile of"

claim "a file that ends in .json is a trace that parses, with devices, threads, kernels and memory"
expect 0 "${add[@]}" --profile "$work/trace.json"
is_empty "$err" "standard error"
python3 - "$work/trace.json" <<'END' || fail "the trace is not what it should be"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = {e["args"]["name"] for e in events if e["ph"] == "M"}
assert "host" in names and any(n.startswith("cpu: ") for n in names), names
work = [e for e in events if e["ph"] == "X" and e["cat"] in ("kernel", "native")]
assert any("add" in e["name"] for e in work), len(work)
assert all(e["dur"] >= 0 and e["ts"] >= 0 and e["args"]["clock"] == "device" for e in work)
ends = sorted((e["ts"], e["ts"] + e["dur"]) for e in work)
assert all(a[1] <= b[0] + 0.001 for a, b in zip(ends, ends[1:])), "work of one queue overlaps"
assert any(e["ph"] == "C" and e["args"]["bytes"] > 0 for e in events)
END

claim "each run has a file of its own with %p, and nothing half-written stays"
expect 0 "${add[@]}" --profile "$work/run_%p.txt"
count=$(find "$work" -name 'run_*' | wc -l)
[[ $count -eq 1 ]] || fail "there are $count files"

claim "a place that cannot be written is named, also without a log, and the command's own result stays"
for level in off error; do
  TESSERA_LOG=$level expect 0 "${add[@]}" --profile /nowhere/trace.json
  has "$err" "/nowhere/trace.json cannot be written"
done

claim "the report opens in a browser, light and dark, draws everything and loads nothing"
expect 0 "${add[@]}" --profile "$work/report.html"
if grep -E 'src=|href=|https?://' "$work/report.html"; then fail "the report refers to something outside"; fi
chromium=$(command -v chromium || command -v chromium-browser || true)
if [[ -n $chromium ]]; then
  for scheme in 0 1; do
    timeout 60 "$chromium" --headless=new --no-sandbox --disable-gpu --user-data-dir="$work/browser" \
      --blink-settings=preferredColorScheme=$scheme --dump-dom "file://$work/report.html" >"$work/out" 2>"$work/err" || true
    out=$(<"$work/out")
    has "$out" 'data-ready="yes"'
    has "$out" 'timed by its own clock'
    has "$out" '<canvas id="timeline"'
    has "$out" 'fused: add'
  done
else
  echo "  without a browser: chromium is not installed"
fi
