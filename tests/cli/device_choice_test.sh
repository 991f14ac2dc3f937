#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Naming a device is the same for every command: the forms that are taken, the message and the exit code for one that is
# not there.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"
cd "$work"

echo 'kernel one(out f32 y[]) { y[global.x] = 1.0; }' >one.tk

# with COMMAND OPTION...: the arguments of a short run of the command with these options, in $line.
with() {
  local command=$1
  shift
  case $command in
    "kernel run") line=(kernel run one.tk "$@" --items 4 4=out) ;;
    estimate) line=(estimate --hidden 64 --intermediate 64 --layers 2 --vocabulary 100 --heads 2 "$@") ;;
    check) line=(check --op neg/f32/odd "$@") ;;
    tune) line=(tune --show --json "$@") ;;
    bench) line=(bench --op record --repeat 1 "$@") ;;
    demo) line=(demo --json --seconds 0.1 --epochs 0.01 "$@") ;;
    *) line=("$command" "$@") ;;
  esac
}

for command in devices estimate "kernel run" check bench tune demo; do
  claim "$command takes a device in every form, in capitals too"
  for form in "--device cpu" "--device cpu:0" "--backend cpu --device 0" "--backend cpu" "--device CPU:0" \
    "--backend Cpu --device cpu:0"; do
    # shellcheck disable=SC2086  # several words
    with "$command" $form
    expect 0 "${line[@]}"
    is_empty "$err" "standard error"
    has "$out" cpu
    lacks "$out" vulkan
  done

  claim "$command says at once, and in the same words, that a device is not there: exit code 4"
  absent() { # DEVICE REASON OPTION...
    local device=$1 reason=$2
    shift 2
    with "$command" "$@"
    expect 4 "${line[@]}"
    [[ $err == "tessera: there is no device '$device': "*"$reason"* ]] || fail "the message is another"
    [[ $(wc -l <err) -eq 1 ]] || fail "the message is not one line"
    is_empty "$out" "standard output"
  }
  absent nosuch "no backend is called 'nosuch'; there are cuda, rocm, metal, vulkan, opencl, webgpu, cpu" --device nosuch
  absent nosuch "no backend is called 'nosuch'" --backend nosuch
  absent cup "did you mean 'cpu'?" --device cup
  absent cpu:7 "cpu has 1 device, numbered from 0" --device cpu:7
  absent cpu:7 "cpu has 1 device, numbered from 0" --backend cpu --device 7
  absent metal "there is no Metal on this system" --device Metal

  claim "$command refuses what is no name: exit code 2"
  for device in '' : cpu: cpu:x cpu:-1 cpu:1x cpu:0:0 -1 99999; do
    with "$command" "--device=$device"
    expect 2 "${line[@]}"
    has "$err" "tessera $command: --device takes a backend, a number or both, such as cpu, 1 or cuda:1, not '$device'"
  done
  for backend in '' : cpu:0; do
    with "$command" "--backend=$backend"
    expect 2 "${line[@]}"
    has "$err" "tessera $command: --backend takes the name of a backend, such as cpu or cuda, not '$backend'"
  done
  with "$command" --backend cpu --device vulkan:0
  expect 2 "${line[@]}"
  has "$err" "tessera $command: --backend cpu and --device vulkan:0 name two backends"
done

claim "a number alone is a device of any backend"
expect 0 devices --device 0 --json
json "all(d['index'] == 0 for b in it['backends'] for d in b['devices'])"
json "'cpu' in [b['name'] for b in it['backends']]"
expect 4 devices --device 77
has "$err" "there is no device '77': no backend has as many"

claim "what the settings say of choosing a device does not keep a named one from being opened"
TESSERA_DEVICE=7 expect 0 check --device cpu:0 --op neg/f32/odd
TESSERA_DEVICE=7 expect 0 demo --device cpu:0 --json --seconds 0.1 --epochs 0.01
json "[(t['backend'], t['status']) for t in it['training']] == [('cpu', 'TSR_OK')]"
