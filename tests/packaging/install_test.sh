#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs to a folder, moves it, and builds a small outside project against it: with CMake and with pkg-config,
# shared and static. The installed program must run from there too. In the end, uninstalling leaves nothing of it.
set -euo pipefail
here=$TSR_TEST_SOURCE_DIR/tests/packaging
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAIL: $*" >&2
  exit 1
}
# needed FILE: the libraries it asks the loader for
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

echo "-- install"
DESTDIR=$work/stage cmake --install "$TSR_TEST_BUILD_DIR" --prefix /opt/tessera >/dev/null
mv "$work/stage/opt/tessera" "$work/moved"
prefix=$work/moved
libdir=$(dirname "$(find "$prefix" -name libtessera.a)")
for file in include/tessera/tessera.h include/tessera/plugin/backend.h bin/tessera share/man/man1/tessera.1; do
  [ -e "$prefix/$file" ] || fail "$file is not installed"
done
[ -e "$libdir/libtessera.so.0" ] || fail "libtessera.so.0 is not installed"
if grep -rlF "$TSR_TEST_SOURCE_DIR/" "$libdir/pkgconfig" "$libdir/cmake"; then
  fail "these files name the source tree"
fi

echo "-- program"
version=$("$prefix/bin/tessera" version) || fail "the installed program does not run"
echo "$version"
grep -qF "$prefix" <<<"$(ldd "$prefix/bin/tessera" | grep -F libtessera)" ||
  fail "the program does not find the library beside it"

echo "-- CMake package"
cmake -S "$here/outside" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  fail "find_package(Tessera)"
}
cmake --build "$work/cmake" >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  fail "the outside project does not build with CMake"
}
"$work/cmake/with_shared"
"$work/cmake/with_static"
grep -qx libtessera.so.0 <<<"$(needed "$work/cmake/with_shared")" || fail "with_shared does not use libtessera.so.0"
! grep -q libtessera <<<"$(needed "$work/cmake/with_static")" || fail "with_static needs the shared library"

echo "-- pkg-config"
export PKG_CONFIG_PATH=$libdir/pkgconfig
read -ra cflags <<<"$(pkg-config --cflags tessera)"
read -ra libs <<<"$(pkg-config --libs tessera)"
read -ra static_libs <<<"$(pkg-config --static --libs tessera | sed 's/-ltessera/-l:libtessera.a/')"
grep -qF "$(pkg-config --modversion tessera)" <<<"$version" ||
  fail "tessera.pc says $(pkg-config --modversion tessera), the program: $version"
cc -std=c17 "$here/outside/outside.c" "${cflags[@]}" -o "$work/pc_shared" "${libs[@]}"
cc -std=c17 "$here/outside/outside.c" "${cflags[@]}" -o "$work/pc_static" "${static_libs[@]}"
c++ -std=c++17 "$here/outside/outside.cc" "${cflags[@]}" -o "$work/pc_cxx" "${libs[@]}"
LD_LIBRARY_PATH=$libdir "$work/pc_shared"
LD_LIBRARY_PATH=$libdir "$work/pc_cxx"
"$work/pc_static"
! grep -q libtessera <<<"$(needed "$work/pc_static")" || fail "pc_static needs the shared library"

echo "-- uninstall"
touch "$prefix/include/somebody_elses.h"
"$TSR_TEST_SOURCE_DIR/scripts/uninstall" "$prefix" | tee "$work/log"
grep -q '^uninstall: [0-9]* files removed below' "$work/log" || fail "uninstall says something else"
[ "$(cd "$prefix" && find . -mindepth 1 | sort | tr '\n' ' ')" = "./include ./include/somebody_elses.h " ] ||
  fail "this is left: $(find "$prefix" -mindepth 1)"
! "$TSR_TEST_SOURCE_DIR/scripts/uninstall" "$prefix" 2>"$work/log" || fail "there is nothing left to uninstall"
grep -q 'Tessera is not installed below' "$work/log" || fail "it does not say that nothing is installed"
DESTDIR=$work/stage cmake --install "$TSR_TEST_BUILD_DIR" --prefix /opt/tessera >/dev/null
DESTDIR=$work/stage "$TSR_TEST_SOURCE_DIR/scripts/uninstall" /opt/tessera
[ -z "$(find "$work/stage/opt/tessera" -mindepth 1)" ] || fail "with DESTDIR this is left: $(find "$work/stage" -type f)"

echo "-- uninstall leaves the folders that were there before, also after installing twice"
mkdir -p "$work/local/bin" "$work/local/share/man"
for _ in first again; do cmake --install "$TSR_TEST_BUILD_DIR" --prefix "$work/local" >/dev/null; done
"$TSR_TEST_SOURCE_DIR/scripts/uninstall" "$work/local"
[ "$(cd "$work/local" && find . -mindepth 1 | sort | tr '\n' ' ')" = "./bin ./share ./share/man " ] ||
  fail "this is left: $(find "$work/local" -mindepth 1)"
mkdir -p "$work/local/share/tessera"
echo ../somebody_elses.h >"$work/local/share/tessera/installed-files.txt"
! "$TSR_TEST_SOURCE_DIR/scripts/uninstall" "$work/local" 2>"$work/log" || fail "it removes what is not below the folder"
grep -q "names '../somebody_elses.h', which is not below it" "$work/log" || fail "it does not say what is wrong with the list"

echo "-- the loader's cache is brought up to date where the loader looks for libraries"
mkdir "$work/path"
cat >"$work/path/ldconfig" <<EOF
#!/bin/sh
if [ "\$1" = -N ]; then echo "$work/local/lib: (from a list)"; else echo called >>"$work/ldconfig_log"; fi
EOF
chmod +x "$work/path/ldconfig"
PATH=$work/path:$PATH "$TSR_TEST_SOURCE_DIR/scripts/refresh-loader" "$work/elsewhere"
DESTDIR=$work PATH=$work/path:$PATH "$TSR_TEST_SOURCE_DIR/scripts/refresh-loader" "$work/local"
[ ! -e "$work/ldconfig_log" ] || fail "ldconfig ran although the loader does not look there"
PATH=$work/path:$PATH "$TSR_TEST_SOURCE_DIR/scripts/refresh-loader" "$work/local"
[ "$(cat "$work/ldconfig_log")" = called ] || fail "ldconfig did not run"
