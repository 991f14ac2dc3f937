#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Wrong command lines: exit code 2, a message that helps, nothing on standard output.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

# wrong MESSAGE ARGUMENT...
wrong() {
  local message=$1
  shift
  expect 2 "$@"
  has "$err" "$message"
  is_empty "$out" "standard output"
  [[ $(wc -l <"$work/err") -eq 1 ]] || fail "the message is not one line"
}

claim "a mistyped command gets a suggestion"
wrong "tessera: 'devcies' is not a command. Did you mean 'devices'?" devcies
wrong "tessera: 'confg' is not a command. Did you mean 'config'?" confg
wrong "Did you mean 'estimate'?" help estmate

claim "one that is near to nothing gets the way to the list"
wrong "tessera: 'xyzzy' is not a command; 'tessera help' lists them" xyzzy
wrong "is not a command" ""

claim "a mistyped option gets a suggestion"
wrong "tessera devices: '--jsn' is not an option. Did you mean '--json'?" devices --jsn
wrong "tessera estimate: '--kv-head' is not an option. Did you mean '--kv-heads'?" estimate --kv-head=8
wrong "tessera: '--versoin' is not an option. Did you mean '--version'?" --versoin
wrong "tessera config: '--zzzzz' is not an option; --help lists them" config --zzzzz
wrong "is not an option" devices -j

claim "arguments and values too many are refused"
wrong "tessera devices: unexpected argument 'cuda'" devices cuda
wrong "tessera help: unexpected argument 'config'" help devices config
wrong "tessera devices: --json takes no value" devices --json=yes
