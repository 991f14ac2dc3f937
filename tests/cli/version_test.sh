#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tessera version: for people and for scripts.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

claim "version and --version show one line with the version"
expect 0 version
[[ $out =~ ^tessera\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "this is no version"
shown=$out
expect 0 --version
[[ $out == "$shown" ]] || fail "--version shows something else"

claim "--json has the same, of program and library"
expect 0 version --json
json "it['program'] == it['library'] == '${shown#tessera }'"
