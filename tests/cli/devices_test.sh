#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tessera devices: every backend with its devices or a reason, as a table and as JSON, and the test of each device.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

backends='cuda rocm metal vulkan opencl webgpu cpu'

claim "JSON lists the seven backends in their order, each with a device or a reason"
expect 0 devices --json
json "' '.join(b['name'] for b in it['backends'] if b['plugin'] is None) == '$backends'"
json "all(bool(b['devices']) != bool(b['reason']) for b in it['backends'])"
json "all(b['title'] and b['status'].startswith('TSR_') for b in it['backends'])"

claim "each device has all its facts, with their types"
json "all(set(d) == {'index', 'name', 'driver', 'uuid', 'pci', 'arch', 'type', 'software', 'unified_memory', 'compute_units',
                     'total_bytes', 'free_bytes', 'max_buffer_bytes', 'best'}
          for b in it['backends'] for d in b['devices'])"
json "all(d['name'] and d['type'] in ('cpu', 'integrated_gpu', 'discrete_gpu', 'other')
          and isinstance(d['software'], bool) and isinstance(d['total_bytes'], int)
          for b in it['backends'] for d in b['devices'])"

claim "the CPU is always there, with its cores and memory"
json "[d for b in it['backends'] if b['name'] == 'cpu' for d in b['devices']][0]['type'] == 'cpu'"
json "[d for b in it['backends'] if b['name'] == 'cpu' for d in b['devices']][0]['compute_units'] >= 1"
json "[d for b in it['backends'] if b['name'] == 'cpu' for d in b['devices']][0]['total_bytes'] > 0"

claim "one device is the best one, and it is no software"
json "[(b['name'], d['index']) for b in it['backends'] for d in b['devices'] if d['best']]
      == [(it['best']['backend'], it['best']['index'])]"
json "not any(d['best'] and d['software'] for b in it['backends'] for d in b['devices'])"
best=$(/usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["best"]["backend"])' "$work/out")

claim "the table has the same backends, the best one marked, and names the best at the end"
expect 0 devices
[[ $out =~ ^Backend\ +Device\ +Memory\ +Status ]] || fail "the headings are others"
for backend in $backends; do
  grep -Eq "^$backend( |\$)" "$work/out" || fail "there is no line for $backend"
done
grep -Eq "^$best(:[0-9]+)? *\*  " "$work/out" || fail "$best is not marked"
grep -Eq "^Best device: $best" "$work/out" || fail "the best device is not named"
grep -Eq '^cpu .* [0-9.]+ [KMGT]iB( \([0-9.]+ free\))?  ok' "$work/out" || fail "the CPU's memory is not shown"
is_empty "$err" "standard error"

claim "--test opens and tests each device"
expect 0 devices --test
grep -Eq '^cpu .*  PASS' "$work/out" || fail "the CPU does not pass"
expect 0 devices --test --json
json "all(d['test'] == {'passed': True, 'message': ''} for b in it['backends'] for d in b['devices'])"

claim "--test tests the devices themselves, whatever the settings say of choosing one"
TESSERA_REQUIRED_BYTES=1000000GiB expect 0 devices --test
grep -Eq '^cpu .*  PASS' "$work/out" || fail "the CPU does not pass"
TESSERA_DEVICE=7 expect 0 devices --test
grep -Eq '^cpu .*  PASS' "$work/out" || fail "the CPU does not pass"

claim "a device that fails its test is shown with the reason: exit code 1"
TESSERA_FAULTS=copy:1 expect 1 devices --test
grep -Eq '^cpu .*  FAILED' "$work/out" || fail "the CPU does not fail"
grep -A1 '^cpu ' "$work/out" | grep -q 'copy' || fail "the reason is not given"
TESSERA_FAULTS=copy:1 expect 1 devices --test --json
json "any(not d['test']['passed'] and d['test']['message'] for b in it['backends'] for d in b['devices'])"

claim "when the settings leave no device, it says so, why, and where to look"
export COLUMNS=1000 # a message is a line
TESSERA_REQUIRED_BYTES=1000000GiB expect 0 devices
has "$out" "Best device: none"
has "$out" "no device has the required"
has "$out" "tessera config"
TESSERA_BACKEND=vulcan expect 0 devices
has "$out" "Best device: none. TESSERA_BACKEND: no backend is called 'vulcan', did you mean 'vulkan'?"
TESSERA_BACKEND=cpu TESSERA_DEVICE=7 expect 0 devices
has "$out" "cpu has 1 device, index 7 was asked for"
TESSERA_BACKEND=null expect 0 devices
has "$out" "Best device: null"
TESSERA_REQUIRED_BYTES=1000000GiB expect 0 devices --json
json "it['best'] is None"

claim "a bad setting is an error that names the variable: exit code 3"
TESSERA_MEMORY_LIMIT=banana expect 3 devices
has "$err" "tessera: "
has "$err" TESSERA_MEMORY_LIMIT
is_empty "$out" "standard output"

claim "so is one that only opening a device brings to light"
TESSERA_FAULTS=nonsense expect 3 devices --test
has "$err" "tessera: TESSERA_FAULTS"
