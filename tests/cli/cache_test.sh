#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tessera cache: lists, trims and clears what is kept on disk.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"
export COLUMNS=200

export XDG_CACHE_HOME=$work/home
mkdir -m 700 "$XDG_CACHE_HOME"

claim "an empty cache is no error, and the folder is made for the user alone"
expect 0 cache list
has "$out" "$XDG_CACHE_HOME/tessera: 0 files"
[[ $(stat -c %a "$XDG_CACHE_HOME/tessera") == 700 ]] || fail "the folder has mode $(stat -c %a "$XDG_CACHE_HOME/tessera")"

claim "files are listed, the one that was used last first, and others are left alone"
for i in 1 2 3; do
  head -c 1000000 /dev/zero >"$XDG_CACHE_HOME/tessera/some-$i.bin"
  touch -d "$i days ago" "$XDG_CACHE_HOME/tessera/some-$i.bin"
done
echo mine >"$XDG_CACHE_HOME/tessera/notes.txt"
expect 0 cache list --json
json "[f['name'] for f in it['files']] == ['some-1.bin', 'some-2.bin', 'some-3.bin']"
json "it['bytes'] == 3000000 and it['limit_bytes'] == 1024 << 20 and it['reason'] == ''"

claim "trimming removes the oldest first"
expect 0 cache trim --to 2
[[ -e $XDG_CACHE_HOME/tessera/some-2.bin && ! -e $XDG_CACHE_HOME/tessera/some-3.bin ]] || fail "not the oldest was removed"
TESSERA_CACHE_MB=1 expect 0 cache trim
[[ -e $XDG_CACHE_HOME/tessera/some-1.bin && ! -e $XDG_CACHE_HOME/tessera/some-2.bin ]] || fail "the setting was not read"

claim "clearing removes all of ours and nothing else"
expect 0 cache clear
[[ $(ls "$XDG_CACHE_HOME/tessera") == notes.txt ]] || fail "left: $(ls "$XDG_CACHE_HOME/tessera")"

claim "a folder that others can write is not used, and the list says so"
chmod 777 "$XDG_CACHE_HOME/tessera"
expect 0 cache list
has "$out" "is not used: "
has "$out" "can be written by others"
expect 3 cache clear
has "$err" "can be written by others"
chmod 700 "$XDG_CACHE_HOME/tessera"

claim "0 keeps nothing; a number that is none is an error"
TESSERA_CACHE_MB=0 expect 0 cache list
has "$out" "nothing is kept"
TESSERA_CACHE_MB=many expect 3 cache list
has "$err" TESSERA_CACHE_MB
