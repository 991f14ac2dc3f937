#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tessera devices with plug-ins: shown with their file, the broken ones too.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

claim "a file that is no plug-in is listed with its name and the reason, and harms nothing"
mkdir "$work/plugins"
printf 'not a library\n' >"$work/plugins/libbroken.so"
TESSERA_PLUGIN_PATH=$work/plugins expect 0 devices --json
json "any((b['plugin'] or '').endswith('libbroken.so') and b['reason'] and not b['devices'] for b in it['backends'])"
json "it['best'] is not None"
TESSERA_PLUGIN_PATH=$work/plugins expect 0 devices
has "$out" "$work/plugins/libbroken.so"

if [[ -z ${TSR_TEST_PLUGIN_DIR:-} || -z $(ls "$TSR_TEST_PLUGIN_DIR" 2>/dev/null) ]]; then
  printf 'the rest is skipped: no plug-in was built (TSR_TEST_PLUGIN_DIR)\n'
  exit 0
fi

claim "a good one is listed after the built-in backends, with its file"
TESSERA_PLUGIN_PATH=$TSR_TEST_PLUGIN_DIR expect 0 devices --json
json "it['backends'][7]['plugin'].startswith('$TSR_TEST_PLUGIN_DIR') and it['backends'][7]['devices']"
TESSERA_PLUGIN_PATH=$TSR_TEST_PLUGIN_DIR expect 0 devices
has "$out" "plug-in $TSR_TEST_PLUGIN_DIR"
