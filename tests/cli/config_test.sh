#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tessera config: every setting with its value and where it came from.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"
export COLUMNS=400 # a setting is a line

settings='backend device priority memory_limit pool_bytes required_bytes pending_bytes timeout threads simd native tf32 strict eager deterministic checked mix placement log cache_mb'

claim "JSON has every setting, with its variable, what it may be and what it means"
expect 0 config --json
for setting in $settings; do
  json "'$setting' in [s['name'] for s in it['settings']]"
done
json "all(set(s) == {'name', 'variable', 'value', 'source', 'place', 'allowed', 'help'} for s in it['settings'])"
json "all(s['variable'] == 'TESSERA_' + s['name'].upper() for s in it['settings'])"
json "all(s['source'] == 'default' for s in it['settings'])"
json "all(s['allowed'] and s['help'] for s in it['settings'])"

claim "the table has every setting too"
expect 0 config
for setting in $settings; do
  grep -Eq "^$setting " "$work/out" || fail "there is no line for $setting"
done
has "$out" "Config file: "

claim "a value from the environment is shown with its variable"
TESSERA_THREADS=3 expect 0 config
grep -Eq '^threads +3 +TESSERA_THREADS ' "$work/out" || fail "TESSERA_THREADS is not shown"
TESSERA_THREADS=3 expect 0 config --json
json "[(s['value'], s['source'], s['place']) for s in it['settings'] if s['name'] == 'threads']
      == [('3', 'environment', 'TESSERA_THREADS')]"

claim "a value from the file is shown with its line, and the file is named"
printf '# mine\nthreads = 2\n' >"$work/config"
TESSERA_CONFIG=$work/config expect 0 config
grep -Eq "^threads +2 +$work/config:2" "$work/out" || fail "the file's value is not shown"
has "$out" "Config file: $work/config"
TESSERA_CONFIG=$work/config expect 0 config --json
json "it['file'] == '$work/config'"
json "[s['source'] for s in it['settings'] if s['name'] == 'threads'] == ['file']"

claim "a bad value is an error that names the variable: exit code 3"
TESSERA_THREADS=many expect 3 config
has "$err" "tessera: "
has "$err" TESSERA_THREADS
is_empty "$out" "standard output"
printf 'thraeds = 2\n' >"$work/config"
TESSERA_CONFIG=$work/config expect 3 config --json
has "$err" "$work/config:1"
