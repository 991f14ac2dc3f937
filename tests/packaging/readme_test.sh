#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# README's program compiles without warnings, runs, and needs as many kernels as README says. The commands of README and
# docs/using.md build it against an installed Tessera as they stand, with no tool but the compiler where none is named. The same for the program of
# docs/training.md, whose network must learn.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
readme=$TSR_TEST_SOURCE_DIR/README.md using=$TSR_TEST_SOURCE_DIR/docs/using.md training=$TSR_TEST_SOURCE_DIR/docs/training.md

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

# block FILE LANGUAGE PATTERN: the first block of that language with a line that matches.
block() {
  awk -v begin="\`\`\`$2" -v pattern="$3" '
    $0 == begin {inside = 1; text = ""; found = 0; next}
    $0 == "```" {if (inside && found) {printf "%s", text; exit} inside = 0}
    inside {text = text $0 "\n"; if ($0 ~ pattern) found = 1}' "$1"
}

block "$readme" c main >"$scratch/hello.c"
[ -s "$scratch/hello.c" ] || fail "README.md has no C program"
cc -std=c17 -Wall -Wextra -Werror -I "$TSR_TEST_SOURCE_DIR/include" "$scratch/hello.c" "$TSR_TEST_LIBRARY" \
  -Wl,-rpath,"$(dirname "$TSR_TEST_LIBRARY")" -o "$scratch/hello"
TESSERA_BACKEND=cpu TESSERA_LOG=plan "$scratch/hello" 2>"$scratch/log" | tee "$scratch/output"
[ -s "$scratch/output" ] || fail "README's program printed nothing"
kernels=$(grep -c '^tessera: plan:' "$scratch/log")
[ "$kernels" = 3 ] || { cat "$scratch/log" >&2; fail "README's program ran $kernels kernels instead of three"; }

echo "-- installed below a home of its own"
export HOME=$scratch/home TESSERA_BACKEND=cpu
mkdir "$HOME"
cmake --install "$TSR_TEST_BUILD_DIR" --prefix "$HOME/.local" >/dev/null
cd "$scratch"

# A path with what a bare Debian has after make run, and no more.
mkdir bare
for tool in cc as ld; do ln -s "$(command -v $tool)" bare/$tool; done

# builds NAME PATH BLOCK PROGRAM: the commands, but for the installation itself, make this program, and run it if they say so.
builds() {
  rm -f "$4"
  [ -n "$3" ] || fail "$1: there is no such block"
  grep -v '^make ' <<<"$3" >commands.sh
  PATH=$2 /bin/bash -euo pipefail commands.sh >output || fail "$1 does not work: $(cat commands.sh)"
  [ -x "$4" ] || fail "$1 made no program"
}

# works NAME PATH BLOCK: as builds, for the README's program, which runs.
works() {
  builds "$@" hello
  ./hello | grep -q '^f32 64x128 on cpu' || fail "$1: the program does not run"
  echo "$1: works"
}
works "README" "$PWD/bare" "$(block "$readme" sh '^cc hello.c')"
works "using.md, a compiler alone" "$PWD/bare" "$(block "$using" sh '^cc hello.c .*-ltessera')"
works "using.md, static" "$PWD/bare" "$(block "$using" sh '^cc hello.c .*libtessera.a')"
! readelf -d hello | grep -q 'NEEDED.*libtessera' || fail "the static program needs the shared library"
private=$(sed -n 's/^Libs.private: *//p' "$HOME/.local/lib/pkgconfig/tessera.pc")
grep -qF -- "libtessera.a $private -o hello" "$using" || fail "the static line should have just these libraries: $private"
works "using.md, pkg-config" "$PATH" "$(block "$using" sh 'pkg-config')"

echo "-- training.md"
block "$training" c main >train.c
cc -std=c17 -Wall -Wextra -Werror -fsyntax-only -I "$TSR_TEST_SOURCE_DIR/include" train.c
builds "training.md" "$PWD/bare" "$(block "$training" sh '^cc train.c')" train
[ "$(grep -c '^step ' output)" = 5 ] || fail "training.md: the program does not print five losses: $(cat output)"
last=$(sed -n 's/^step 1000  loss //p' output)
first=$(awk '/^step +1 / {print $4}' output) page=$(awk '/^step +1 / {print $4; exit}' "$training")
[ "${first%?}" = "${page%?}" ] || fail "training.md: the first loss is $first, and the page says $page"
awk -v last="$last" 'BEGIN {exit !(last > 0 && last < 0.004)}' || fail "training.md: the network has not learned, its loss is ${last:-missing}"
awk '/^at / {d = $6 - $9; found = 1; if (d < 0) d = -d; far = d > 0.05} END {exit !found || far}' output || fail "training.md: $(tail -n 1 output)"

echo "-- using.md, CMake"
block "$using" cmake find_package >CMakeLists.txt
grep -v '^make ' <<<"$(block "$using" sh '^cmake -S')" >commands.sh
bash -euo pipefail commands.sh >output 2>&1 || { cat output >&2; fail "the CMake project does not build"; }
./build/hello >output && ./build/hello_static >output || fail "the programs that CMake built do not run"
readelf -d build/hello | grep -q 'NEEDED.*libtessera.so' || fail "build/hello is not linked with the shared library"
! readelf -d build/hello_static | grep -q 'NEEDED.*libtessera' || fail "build/hello_static needs the shared library"
sed -i 's/find_package(tessera /find_package(Tessera /' CMakeLists.txt
cmake -S . -B again -DCMAKE_PREFIX_PATH="$HOME/.local" >output 2>&1 || { cat output >&2; fail "find_package(Tessera) does not find it"; }
