#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tessera demo: after a short training the network reads 98 % of the digits that it has not seen. In optimised builds only, since others are slow.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"
cd "$work"

[[ ${TSR_TEST_BUILD_DIR:-} == */release ]] || {
  echo "SKIPPED cli.demo_accuracy: this is not the release build"
  exit 77
}

claim "four epochs on the CPU are enough for 98 %, and the loss falls"
expect 0 demo --json --device cpu --epochs 4 --seconds 280
json "[(t['end'], t['steps']) for t in it['training']] == [('done', 320)]"
json "it['training'][0]['accuracy'] >= 0.98 and it['training'][0]['tried'] == 2000"
json "it['training'][0]['epochs'][3]['loss'] < 0.1 * it['training'][0]['epochs'][0]['loss']"
