# SPDX-License-Identifier: MIT
# The services of the runtime on one device: queues, profiler, tuning, limits, captures in files, placement. One line is printed for each.
#
# Needs TSR_TEST_PROGRAM, TSR_TEST_BUILD_DIR, `work`, a folder to write to, and `fail MESSAGE`. What is stored is stored in `work`.

# service NAME COMMAND...: the command succeeds. What it prints is in "$work/out" and "$work/err".
service() {
  local name=$1 start=$SECONDS
  shift
  "$@" >"$work/out" 2>"$work/err" || fail "$backend: $name: '$*' exits with $?"
  printf '  %-8s %-44s %3d s\n' "$backend" "$name" $((SECONDS - start))
}

# printed TEXT [FILE]: the last service printed this.
printed() { grep -q -- "$1" "${2:-$work/out}" || fail "$backend: '$1' is not in what it prints"; }

# visited: tests that go through all devices went to this one.
visited() { printed "on $backend" <(cat "$work/out" "$work/err"); }

services_of_queues() {
  local tests=$TSR_TEST_BUILD_DIR/tests
  service "queues, events, async copies, pinned memory" "$tests/runtime_queue_test"
  service "four threads on four queues" "$tests/attack_queue_threads_test"
  service "two devices from one thread, a split batch" "$TSR_TEST_BUILD_DIR/examples/19_split" 1
}

# Examples with training and large products, which take software devices long.
services_of_examples() {
  service "copies beside work" "$TSR_TEST_BUILD_DIR/examples/18_overlap" 2
  printed 'results are the same'
  service "two devices, moves" "$TSR_TEST_BUILD_DIR/examples/14_two_devices"
  service "captures: a model in a file" "$TSR_TEST_BUILD_DIR/examples/17_saved_capture" "$work/net.tsr"
}

services_of_the_profiler() {
  local program=$TSR_TEST_BUILD_DIR/examples/04_capture
  service "profiler: kernels, labels, bytes, clocks" "$TSR_TEST_BUILD_DIR/tests/runtime_profile_profile_test" \
    every_device_records_its_kernels_with_operators_labels_bytes_and_times
  visited
  service "profiler: its own example, and a trace of it" env "TESSERA_PROFILE=$work/trace.json" "$TSR_TEST_BUILD_DIR/examples/20_profile"
  printed '\[step/network\]' "$work/err"
  python3 -m json.tool "$work/trace.json" >"$work/out" || fail "$backend: the trace does not parse"
  printed 'step/network'
  service "profiler: the table, of any program" "$TSR_TEST_PROGRAM" run "$program"
  printed 'Work of devices' "$work/err"
  service "profiler: the report" "$TSR_TEST_PROGRAM" run --profile "$work/report.html" "$program"
  printed '</html>' "$work/report.html"
}

services_of_tuning() {
  service "tuning: results stay right" env TESSERA_TUNE=quick "$TSR_TEST_PROGRAM" check --backend "$backend" --quick --op add,sum,matmul --sample 100
  service "tuning: a program's own work" env TESSERA_TUNE=quick "$TSR_TEST_PROGRAM" bench --backend "$backend" --op exp --size 200000 --repeat 1
  service "tuning: what is known" "$TSR_TEST_PROGRAM" tune --backend "$backend" --show
  printed '^exp '
  service "tuning: not slower" "$TSR_TEST_PROGRAM" bench --tuned --backend "$backend" --op exp --size 200000
  printed 'Tuned is'
  service "tuning: forgotten" "$TSR_TEST_PROGRAM" tune --backend "$backend" --clear
}

services_of_limits() {
  service "limits: a program fills the cache" "$TSR_TEST_BUILD_DIR/examples/04_capture"
  service "limits: the cache lists its files" "$TSR_TEST_PROGRAM" cache list --json
  case $backend in cuda | vulkan) printed "\"name\": \"$backend-" ;; esac # the others' programs are not kept
  service "limits: the cache is trimmed" env TESSERA_CACHE_MB=0 "$TSR_TEST_PROGRAM" cache trim
  service "limits: and is empty then" "$TSR_TEST_PROGRAM" cache list --json
  printed '"files": \[\]'
  service "limits: a hung device, failures at the wait" "$TSR_TEST_BUILD_DIR/tests/runtime_queue_test" \
    a_hung_device_is_marked_and_closing_it_does_not_wait_again
  # A kernel of some seconds; software drivers of GPUs cut or end such loops.
  [[ -z ${long_kernels:-} ]] || service "limits: a kernel that hangs, closing does not wait" "$TSR_TEST_BUILD_DIR/tests/runtime_late_test" \
    a_device_that_was_given_up_is_closed_when_its_work_has_ended
}

services_of_captures() {
  local tests=$TSR_TEST_BUILD_DIR/tests test
  for test in a_capture_saved_on_the_cpu_computes_the_same_on_every_other_device \
    a_capture_saved_on_any_device_computes_the_same_on_the_cpu kernels_of_users_travel_as_text_and_are_built_where_they_run; do
    service "captures: ${test:0:34}" "$tests/saved_saved_test" "$test"
    visited
  done
  service "captures: a training step goes on" "$tests/saved_optimisers_test" a_training_step_goes_on_from_its_file_on_every_device
  visited
}

services_of_placement() {
  service "placement: the CPU and this device compared" "$TSR_TEST_PROGRAM" bench --compare --device "$backend" --chart "$work/chart.png"
  printed 'Faster from'
  [[ $backend == cpu ]] || service "placement: graphs by measurement" env TESSERA_PLACEMENT=measured TESSERA_LOG=info "$TSR_TEST_BUILD_DIR/examples/05_least_squares"
  [[ $backend == cpu ]] || printed 'placement' "$work/err"
  [[ $backend == cpu ]] || service "placement: counted, results right" "$TSR_TEST_BUILD_DIR/tests/graph_place_test" \
    small_graphs_of_host_data_run_on_the_cpu_and_large_ones_on_the_device
}

# check_services BACKEND [PART...]: all of them, or queues, examples, the_profiler, tuning, limits, captures, placement.
check_services() {
  local backend=$1 part
  shift
  [[ $# -gt 0 ]] || set -- queues examples the_profiler tuning limits captures placement
  export TSR_TEST_BACKEND=$backend TESSERA_BACKEND=$backend XDG_CACHE_HOME=$work/home-$backend COLUMNS=200
  mkdir -p -m 700 "$XDG_CACHE_HOME"
  for part in "$@"; do "services_of_$part"; done
  unset TSR_TEST_BACKEND TESSERA_BACKEND
}
