#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The CUDA backend on the stand-in for NVIDIA's libraries (tests/fakes/cuda): the program finds it by the usual names.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

for name in libcuda.so.1 libnvrtc.so.13 libnvidia-ml.so.1; do ln -s "$TSR_TEST_FAKE_DIR/fake_cuda.so" "$work/$name"; done
export LD_LIBRARY_PATH="$work${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
cuda="[b for b in it['backends'] if b['name'] == 'cuda'][0]"

claim "a GPU is listed with its facts, and is the best device"
expect 0 devices --json
json "$cuda['devices'][0]['name'] == 'Stand-in GPU 0' and $cuda['devices'][0]['arch'] == '9.0'"
json "$cuda['devices'][0]['uuid'] == '00102030-4050-6070-8090-a0b0c0d0e0f0'"
json "$cuda['devices'][0]['driver'] == 'NVIDIA 580.0, CUDA 13.0' and $cuda['devices'][0]['type'] == 'discrete_gpu'"
json "$cuda['devices'][0]['pci'] == '0000:1b:00.0'"
json "it['best']['backend'] == 'cuda' and it['best']['index'] == 0"

claim "it is opened and tested"
expect 0 devices --test
grep -Eq '^cuda +\* .*Stand-in GPU 0 .* PASS' "$work/out" || fail "the GPU does not pass"

claim "when a device fails in the middle of the demo's training, the next one is tried; here it fails, too"
TESSERA_FAULTS=launch:40 expect 1 demo --json --epochs 0.05
json "[(t['backend'], t['end']) for t in it['training']] == [('cuda', 'failed'), ('cpu', 'failed')]"
has "$err" "tessera: training on cuda:0 failed: launch number 40 failed on purpose"
has "$err" "tessera: going on with the next device"
has "$err" "tessera: training on cpu:0 failed: "
