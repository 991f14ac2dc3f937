# SPDX-License-Identifier: MIT
# What the scripts here share: running the program and checking what it did. The first failure ends the script.
#
#   claim "an unknown command is a mistake"
#   expect 2 devcies            # runs the program; output in $out, messages in $err
#   has "$err" "Did you mean 'devices'?"

: "${TSR_TEST_PROGRAM:?the path of the program to test}"

# The settings of the person who runs the tests must not influence them.
for variable in $(compgen -e); do
  case $variable in
    TSR_TEST_PROGRAM) ;;
    TESSERA_* | NO_COLOR | COLUMNS) unset "$variable" ;;
  esac
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=
err=

claim() {
  printf -- '- %s\n' "$1"
}

fail() {
  printf 'FAILED: %s\n--- output:\n%s\n--- messages:\n%s\n' "$1" "$out" "$err" >&2
  exit 1
}

# expect EXIT_CODE ARGUMENT...
expect() {
  local wanted=$1 code=0
  shift
  "$TSR_TEST_PROGRAM" "$@" >"$work/out" 2>"$work/err" || code=$?
  out=$(<"$work/out")
  err=$(<"$work/err")
  [[ $code -eq $wanted ]] || fail "'tessera $*' exits with $code, not $wanted"
}

# has TEXT PART
has() {
  [[ $1 == *"$2"* ]] || fail "there is no '$2' in it"
}

lacks() {
  [[ $1 != *"$2"* ]] || fail "there is '$2' in it"
}

is_empty() {
  [[ -z $1 ]] || fail "$2 is not empty"
}

# fits COLUMNS: no line of the output is wider.
fits() {
  local line
  while IFS= read -r line; do ((${#line} <= $1)) || fail "this line is wider than $1 columns: $line"; done <<<"$out"
}

# json EXPRESSION: the output is JSON, and the Python expression on it (as `it`) holds.
json() {
  /usr/bin/python3 -c '
import json, sys
it = json.load(open(sys.argv[1], encoding="utf-8"))
sys.exit(0 if eval("(" + sys.argv[2] + ")") else "it does not hold: " + sys.argv[2])
' "$work/out" "$1" || fail "the JSON is not as it should be"
}

# png_as_ppm FILE: the picture as PGM or PPM, read by the rules of the format: chunks, checksums, deflate, unfiltered rows.
png_as_ppm() {
  /usr/bin/python3 -c '
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
at, chunks = 8, []
while at < len(data):
    length, name = struct.unpack(">I4s", data[at:at + 8])
    body, crc = data[at + 8:at + 8 + length], struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0]
    assert zlib.crc32(name + body) == crc, name
    chunks.append((name, body))
    at += 12 + length
assert [name for name, _ in chunks] == [b"IHDR", b"IDAT", b"IEND"]
width, height, depth, colours, *rest = struct.unpack(">IIBBBBB", chunks[0][1])
assert depth == 8 and colours in (0, 2) and rest == [0, 0, 0]
rows, bytes_ = zlib.decompress(chunks[1][1]), width * (3 if colours == 2 else 1)
assert len(rows) == height * (1 + bytes_) and all(rows[y * (1 + bytes_)] == 0 for y in range(height))
sys.stdout.buffer.write(b"P%d\n%d %d\n255\n" % (6 if colours == 2 else 5, width, height))
sys.stdout.buffer.write(b"".join(rows[y * (1 + bytes_) + 1:(y + 1) * (1 + bytes_)] for y in range(height)))
' "$1"
}

# on_terminal COMMAND: its output as a terminal of 80 columns shows it. Skips the script where there is no script(1), or no terminal
# can be made (a chroot without /dev/pts).
on_terminal() {
  script -qec true /dev/null </dev/null >/dev/null 2>&1 || {
    printf 'SKIPPED cli.%s: script(1) is not there, or cannot make a terminal\n' "$(basename "$0" _test.sh)"
    exit 77
  }
  out=$(script -qec "$1" /dev/null </dev/null) || fail "'$1' fails on a terminal"
}
