#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tessera demo: right answers on every device found, the picture, the table, and devices that cannot.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"
cd "$work"

claim "its help is complete, no line wider than 80 columns"
expect 0 demo --help
for part in NAME USAGE DESCRIPTION OPTIONS "EXIT CODES" EXAMPLE --device --image --json; do has "$out" "$part"; done
fits 80

claim "on every device found each program's difference is below its bound; backends without one have a reason"
expect 0 demo --json
json "'cpu' in [d['backend'] for d in it['devices']]"
json "all([p['name'] for p in d['programs']] == ['chain', 'layer', 'softmax', 'kernel'] for d in it['devices'])"
json "all(p['passed'] and p['status'] == 'TSR_OK' and p['difference'] <= p['bound'] and p['bound_reason']
          and p['again_ms'] > 0 and p['first_ms'] > 0 for d in it['devices'] for p in d['programs'])"
json "all(a['reason'] for a in it['absent'])"
json "it['image'] is None"
[[ ! -e tessera-demo.png ]] || fail "--json wrote a picture nobody asked for"

claim "the element-wise chain is one kernel, and so is each of the others"
json "all(p['kernels'] == 1 for d in it['devices'] if d['backend'] == 'cpu' for p in d['programs'])"

claim "the picture is a PPM of 720 by 480, the same from every run"
expect 0 demo --device cpu --json --image one.ppm
json "[(d['backend'], d['index']) for d in it['devices']] == [('cpu', 0)] and it['image'] == 'one.ppm'"
[[ $(head -c 15 one.ppm) == $'P6\n720 480\n255' ]] || fail "the header is another"
[[ $(stat -c %s one.ppm) -eq $((15 + 720 * 480 * 3)) ]] || fail "the size is another"

claim "for people there is the list of devices, the table and the picture's name"
expect 0 demo --device cpu:0
lacks "$out" "Best device: "
grep -Eq '^Device +Program +First run +Again +Kernels +Difference$' out || fail "the headings are others"
grep -Eq '^cpu:0 +8 element-wise ops.* [0-9.]+ [mu]s +[0-9.]+ [mu]s +1 +[0-9.e-]+$' out || fail "the chain has no figures"
has "$out" "The picture that the kernel made: tessera-demo.png"
[[ $(png_as_ppm tessera-demo.png | cksum) == "$(cksum <one.ppm)" ]] || fail "the PNG shows another picture than the PPM"
is_empty "$err" "standard error"

claim "a device that runs no kernels is shown with the reason: exit code 4"
expect 4 demo --device null --json
json "all(p['status'] == 'TSR_ERR_UNSUPPORTED' and p['message'] for p in it['devices'][0]['programs'])"
has "$err" "there is no device that runs kernels"

claim "a program that fails is shown with the reason: exit code 1"
TESSERA_FAULTS=launch:2 expect 1 demo --device cpu --json
json "any(not p['passed'] and p['message'] for p in it['devices'][0]['programs'])"

claim "a picture that cannot be written: exit code 3; one of another kind: 2"
expect 2 demo --device cpu --image picture.jpg
has "$err" "--image takes the name of a file that ends in .png or .ppm, not 'picture.jpg'"
expect 3 demo --device cpu --image none/such.ppm
has "$err" "none/such.ppm"
