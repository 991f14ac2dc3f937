#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tessera demo: the training, the picture, the networks on every device found, the time that it takes, and devices that cannot.
# How well the network reads in the end is tested by demo_accuracy_test.sh.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"
cd "$work"

claim "its help is complete, no line wider than 80 columns"
expect 0 demo --help
for part in NAME USAGE DESCRIPTION OPTIONS "EXIT CODES" EXAMPLE --device --seconds --epochs --seed --image --quiet --json; do has "$out" "$part"; done
fits 80

claim "settings that leave no device end it with the reason, before anything is trained"
TESSERA_BACKEND=cudda expect 4 demo --seconds 1
has "$err" "no backend is called 'cudda', did you mean 'cuda'"
is_empty "$out" "standard output"

# Four steps: as much as shows that it works.
short=(demo --device cpu --epochs 0.05 --seconds 250)

claim "a short run trains on the CPU and has everything in its JSON; backends without a device have a reason"
expect 0 "${short[@]}" --json --seed 7
json "it['seed'] == 7 and it['image'] is None and it['seconds'] > 0"
json "[(t['backend'], t['index'], t['status'], t['message']) for t in it['training']] == [('cpu', 0, 'TSR_OK', '')]"
json "all(t['end'] == 'done' and t['steps'] == len(t['losses']) == 4 and t['kernels'] > 10 and t['parameters'] == 206922 and
          t['batch'] == 128 and 0 <= t['right'] <= t['tried'] and abs(t['accuracy'] - t['right'] / t['tried']) < 1e-9 for t in it['training'])"
json "all(0 < e['loss'] < 5 and 0 <= e['accuracy'] <= 1 and e['tried'] == 2000 and e['seconds'] > 0 for e in it['training'][0]['epochs'])"
json "all(a['reason'] for a in it['absent'])"
[[ ! -e tessera-demo.png ]] || fail "--json wrote a picture nobody asked for"

claim "a step's memory is told: digits, parameters and optimiser, then what each pass needs at most besides"
# 512 digits of 28 x 28 and their labels, 206,922 parameters four times (gradients, two moments); the first layers' results for a batch.
json "all(512 * 784 * 4 + 206922 * 16 <= t['memory']['start_bytes'] < 12e6 for t in it['training'])"
json "all(128 * 16 * 784 * 4 <= t['memory'][k] - t['memory']['start_bytes'] < 64e6 for t in it['training'] for k in ('forward_bytes', 'backward_bytes'))"

claim "untrained, it guesses: the first loss is about that of ten equal chances"
json "1.8 < it['training'][0]['losses'][0] < 4"

claim "the same seed gives the same losses, bit for bit"
cp out one
expect 0 "${short[@]}" --json --seed 7 --image sheet.png
json "it['training'][0]['losses'] == __import__('json').load(open('one'))['training'][0]['losses'] and it['image'] == 'sheet.png'"
json "it['training'][0]['right'] == __import__('json').load(open('one'))['training'][0]['right']"

claim "both networks run on the CPU, as they did for the reference"
json "[(d['backend'], d['index'], d['skipped']) for d in it['devices']] == [('cpu', 0, False)]"
json "[p['name'] for p in it['devices'][0]['programs']] == ['digits', 'transformer']"
json "all(p['passed'] and p['status'] == 'TSR_OK' and p['difference'] == 0 and p['bound_reason'] and p['kernels'] > 0
          and p['again_ms'] > 0 and p['first_ms'] > 0 for p in it['devices'][0]['programs'])"

claim "another seed gives other losses"
cp out one
expect 0 "${short[@]}" --json --seed 8 --seconds 0.1
json "it['training'][0]['losses'][0] != __import__('json').load(open('one'))['training'][0]['losses'][0]"

claim "the picture is a valid PNG of 1332 by 840 with digits, green and red marks, and two curves"
png_as_ppm sheet.png >sheet.ppm
[[ $(head -c 16 sheet.ppm) == $'P6\n1332 840\n255' ]] || fail "the header is another"
/usr/bin/python3 -c '
data = open("sheet.ppm", "rb").read()[-1332 * 840 * 3:]
pixels = [data[i:i + 3] for i in range(0, len(data), 3)]
for colour, least in ((0x2E8B57, 20), (0x2563C9, 50), (0xD0342C, 1000), (0xFAF9F6, 100000)):
    count = pixels.count(colour.to_bytes(3, "big"))
    assert count >= least, (hex(colour), count)
' || fail "colours are missing"

claim "for people there is a line per epoch, digits, the table and the picture's name; the list of devices only if none is named"
expect 0 "${short[@]}"
lacks "$out" "Best device: "
has "$out" "Learning to read digits on cpu:0"
grep -Eq '^epoch 1/1  loss [0-9.]+ +[0-9.]+ % of [0-9]+ unseen digits +[0-9.]+ s$' out || fail "there is no line for the epoch"
grep -Eq '(reads [0-9](, is [0-9])? *){5}' out || fail "there are no digits"
grep -Eq '^[0-9.]+ % of [0-9]+ unseen digits read right, after 4 steps in [0-9.]+ s on cpu:0$' out || fail "there is no sum"
grep -Eq '^A step takes at most [0-9.]+ MiB of memory in the forward pass and [0-9.]+ MiB in the$' out || fail "a step's memory is not told"
grep -Eq '^Device +Program +First run +Again +Kernels +Difference$' out || fail "the headings are others"
has "$out" "Digits and loss as a picture: tessera-demo.png"
png_as_ppm tessera-demo.png >picture.ppm
is_empty "$err" "standard error"

claim "--quiet leaves out all but the results"
expect 0 "${short[@]}" --quiet --seconds 0.1
lacks "$out" "epoch"
lacks "$out" "reads"
has "$out" "unseen digits read right"
is_empty "$err" "standard error"

claim "on a terminal there is a bar, which is gone in the end"
on_terminal "stty cols 80; TERM=xterm '$TSR_TEST_PROGRAM' ${short[*]} --seconds 0.1"
[[ $out == *"[#"*"] step "* || $out == *"[..."*"] step "* ]] || fail "there is no bar"

claim "when the time is over it ends in order: devices that were not reached say how to run them"
expect 0 demo --seconds 0.1 --epochs 100
has "$out" "The training was cut short"
has "$out" "skipped: the time is over; 'tessera demo --device cpu:0' runs it"

claim "every device found is right, or there was no time for it"
# Without lavapipe, which compiles the networks' kernels for 20 seconds: devices.lavapipe runs one of them on it, and all operators.
VK_ICD_FILENAMES=/nonexistent expect 0 demo --json --seconds 1.5 --epochs 0.01
json "'cpu' in [d['backend'] for d in it['devices']]"
json "all(d['skipped'] or all(p['passed'] and p['difference'] <= p['bound'] for p in d['programs']) for d in it['devices'])"

claim "Ctrl-C ends it in order, with what there is: exit code 130"
rm -f tessera-demo.png
code=0
# Without --foreground the signal is sent twice, to the program and to its group, and a second one ends it at once.
timeout --foreground --preserve-status -s INT 1 "$TSR_TEST_PROGRAM" demo --device cpu --seconds 100 --epochs 100 >out 2>err || code=$?
out=$(<out)
err=$(<err)
[[ $code -eq 130 ]] || fail "the exit code is $code"
has "$out" "The training was interrupted."
has "$out" "skipped: interrupted"
png_as_ppm tessera-demo.png >picture.ppm

claim "a device that runs no kernels is shown with the reason: exit code 4"
expect 4 demo --device null --json
json "all(t['end'] == 'failed' and t['status'] == 'TSR_ERR_UNSUPPORTED' and t['message'] for t in it['training'])"
has "$err" "there is no device that runs kernels"

claim "a device that fails in the middle is shown with the reason: exit code 1"
TESSERA_FAULTS=launch:40 expect 1 demo --device cpu --json
json "all(t['end'] == 'failed' and t['message'] for t in it['training']) and it['image'] is None"
json "all(d['skipped'] and d['message'] and not d['programs'] for d in it['devices'])"
has "$err" "training on cpu:0 failed: "
has "$err" "'tessera devices --test' tests each, --device names another one"

claim "a picture that cannot be written: exit code 3; one of another kind: 2; too many epochs: 2"
expect 2 demo --device cpu --image picture.jpg
has "$err" "--image takes the name of a file that ends in .png or .ppm, not 'picture.jpg'"
expect 3 demo --device cpu --seconds 0.1 --image none/such.ppm
has "$err" "none/such.ppm"
expect 2 demo --epochs 101
has "$err" "--epochs takes a number up to 100"
