#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A set-user-ID program that uses Tessera runs nobody's code but its own, whatever its user puts into the environment
# and the home folder; and for everybody, plug-ins come only from where nobody else can write.
set -euo pipefail

skip() {
  printf 'skipped: %s\n' "$1"
  exit 77
}
fail() {
  printf 'FAILED: %s\n--- it printed:\n%s\n' "$1" "$out" >&2
  exit 1
}
[[ $(id -u) -eq 0 ]] || skip "only root can make a set-user-ID program"
command -v setpriv >/dev/null || skip "there is no setpriv(1) to run a program as another user"

user=65534 # nobody: owns nothing
work=$(mktemp -d /tmp/tessera-setuid-XXXXXX)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
sources=$TSR_TEST_SOURCE_DIR
cp -L "$TSR_TEST_LIBRARY" "$work/libtessera.so.0"
cc -I "$sources/include" "$sources/tests/packaging/setuid/program.c" "$work/libtessera.so.0" "-Wl,-rpath,$work" \
  -o "$work/plain"
install -m 4755 "$work/plain" "$work/setuid"
install -m 2755 "$work/plain" "$work/setgid"

# What the user has: a home with a config file that leads to a folder with a plug-in.
home=$work/home
mkdir -p "$home/plugins" "$home/.config/tessera" "$home/xdg/tessera"
cc -shared -fPIC "$sources/tests/packaging/setuid/plugin.c" -o "$home/plugins/evil.so"
printf 'plugin_path = %s\n' "$home/plugins" | tee "$home/.config/tessera/config" >"$home/xdg/tessera/config"
chown -R "$user:$user" "$home"

out=
# run PROGRAM BACKEND VARIABLE=VALUE...: as the user, with these variables alone; output and messages in $out
run() {
  local program=$1 backend=$2
  shift 2
  out=$(cd / && env -i "$@" setpriv --reuid="$user" --regid="$user" --clear-groups "$work/$program" "$backend" 2>&1) ||
    fail "$program $backend with $* does not work"
}
has() { [[ $out == *"$1"* ]] || fail "there is no '$1' in it"; }
lacks() { [[ $out != *"$1"* ]] || fail "there is '$1' in it"; }
claim() { printf -- '- %s\n' "$1"; }

run setuid cpu HOME=/
[[ $out == *"user $user, rights of user 0"* ]] || skip "set-user-ID programs get no other rights here (nosuid, or no new privileges)"

settings=("TESSERA_PLUGIN_PATH=$home/plugins" "TESSERA_CONFIG=$home/.config/tessera/config" "XDG_CONFIG_HOME=$home/xdg"
  "HOME=$home")

claim "a program with its user's own rights does load the plug-in, so that what follows can fail"
for setting in "${settings[@]}"; do
  run plain all "$setting"
  has "PLUG-IN LOADED by user $user with the rights of user $user"
done

claim "but not when a built-in backend is named"
run plain cpu "${settings[0]}"
lacks "PLUG-IN LOADED"

claim "a set-user-ID or set-group-ID program loads nothing and takes no setting from its user"
for program in setuid setgid; do
  for backend in all cpu; do
    for setting in "${settings[@]}" "TESSERA_WEBGPU_LIB=$home/plugins/evil.so" "TESSERA_THREADS=1" "TESSERA_LOG=debug"; do
      run "$program" "$backend" "$setting"
      lacks "PLUG-IN LOADED"
      lacks "comes from"
    done
  done
done

claim "a folder that others can write, or that belongs to somebody else, is refused with the reason"
chmod 777 "$home/plugins"
run plain all "TESSERA_PLUGIN_PATH=$home/plugins"
lacks "PLUG-IN LOADED"
has "plugins: $home/plugins: is not used: the folder $home/plugins can be written by others (mode 0777"
chmod 755 "$home/plugins"
chown 12345 "$home/plugins"
run plain all "TESSERA_PLUGIN_PATH=$home/plugins"
lacks "PLUG-IN LOADED"
has "belongs to user 12345"
chown "$user" "$home/plugins"

claim "and so is such a file"
chmod 666 "$home/plugins/evil.so"
run plain all "TESSERA_PLUGIN_PATH=$home/plugins"
lacks "PLUG-IN LOADED"
has "evil: $home/plugins/evil.so: is not used: the file $home/plugins/evil.so can be written by others"
run plain all "TESSERA_WEBGPU_LIB=$home/plugins/evil.so"
lacks "PLUG-IN LOADED"
