# SPDX-License-Identifier: MIT
# What the scripts here share: choosing one software driver and running `tessera check` on it alone.
#
# Of the quick run's cases a sample is run: one in TSR_TEST_SAMPLE (each script has its own default), and at least one of
# each operator. Under a sanitizer a tenth of that, and an eighth of the operators: operators differ in their kernels, and
# drivers compile these without the sanitizer.
: "${TSR_TEST_PROGRAM:?the path of the program to test}"

# The settings of the person who runs the tests must not influence them.
for variable in $(compgen -e); do
  case $variable in
    TSR_TEST_*) ;;
    TESSERA_* | OCL_ICD_* | VK_* | NO_COLOR | COLUMNS) unset "$variable" ;;
  esac
done

# Only the driver that a script chooses is there: programs that run on every device would compile their kernels for the others, too.
export OCL_ICD_VENDORS=/nowhere VK_ICD_FILENAMES=/nowhere

export COLUMNS=400 # no line of output is broken

name=$(basename "$0" _test.sh)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
  printf 'SKIPPED devices.%s: %s\n' "$name" "$1"
  exit 77
}

fail() {
  printf 'FAILED: %s\n' "$1" >&2
  cat "$work/out" "$work/err" >&2 2>/dev/null
  exit 1
}

# first FILE...: prints the first of these files that exists; nothing if none does.
first() {
  local file
  for file in "$@"; do
    if [[ -e $file ]]; then
      printf '%s\n' "$file"
      return
    fi
  done
}

use_pocl() {
  OCL_ICD_VENDORS=$(first "${TSR_TEST_POCL:-}" /etc/OpenCL/vendors/pocl.icd)
  [[ -n $OCL_ICD_VENDORS ]] || skip "PoCL is not installed (package pocl-opencl-icd)"
  export OCL_ICD_VENDORS
}

use_lavapipe() {
  VK_ICD_FILENAMES=$(first /usr/share/vulkan/icd.d/lvp_icd*.json)
  [[ -n $VK_ICD_FILENAMES ]] || skip "lavapipe is not installed (package mesa-vulkan-drivers)"
  export VK_ICD_FILENAMES
}

use_swiftshader() {
  VK_ICD_FILENAMES=$(first "${TSR_TEST_SWIFTSHADER:-}" /usr/lib/chromium/vk_swiftshader_icd.json)
  [[ -n $VK_ICD_FILENAMES ]] || skip "SwiftShader is not installed (it comes with the package chromium)"
  export VK_ICD_FILENAMES
}

# AMD's GPU by the stand-ins for ROCm's libraries. use_rocm [SWITCH...]: those of tests/standins/README.md.
use_rocm() {
  [[ ${TSR_TEST_SANITIZE:-} != *thread* ]] || skip "the thread sanitizer does not know the fibers of the stand-in for ROCm"
  command -v "${TSR_STANDIN_CLANG:-clang-19}" >/dev/null || skip "there is no clang-19 here, which compiles kernel text for the stand-in"
  [[ -e $TSR_TEST_BUILD_DIR/tests/standins/hip/libamdhip64.so.6 ]] || skip "the stand-in for ROCm is not built here"
  export LD_LIBRARY_PATH=$TSR_TEST_BUILD_DIR/tests/standins/hip TSR_STANDIN_HIP="$*"
}

# Dawn, on SwiftShader.
use_webgpu() {
  TESSERA_WEBGPU_LIB=$(first "${TSR_TEST_WEBGPU_LIB:-}")
  [[ -n $TESSERA_WEBGPU_LIB ]] || skip "there is no WebGPU library here (scripts/setup-webgpu gets one)"
  export TESSERA_WEBGPU_LIB NODEVICE_SELECT=1 # a layer of Mesa's that complains where there is no window system
  use_swiftshader
}

# The stand-in for Metal (tests/standins), which runs kernel text on the CPU. Switches of its own: use_metal devices=2,slow=1000
use_metal() {
  TSRI_METAL_LIB=$(first "${TSR_TEST_BUILD_DIR:-.}/tests/standins/metal/libmetal_standin.so")
  [[ -n $TSRI_METAL_LIB ]] || skip "the stand-in for Metal is not built here"
  command -v "${TSR_STANDIN_CLANG:-clang-19}" >"$work/out" || skip "there is no clang-19 to compile kernel text"
  export TSRI_METAL_LIB TSR_STANDIN_METAL=${1:-}
}

# says USE SWITCHES TEXT: calls USE, which is use_rocm or use_metal, with these switches; `tessera devices` must then print this text.
says() {
  ("$1" "$2" && "$TSR_TEST_PROGRAM" devices --verbose >"$work/out" 2>"$work/err") || fail "tessera devices fails with $2"
  grep -q -- "$3" "$work/out" || fail "tessera devices does not say '$3' with $2"
}

# check_examples BACKEND [EXAMPLE]: the networks of examples/, or this one unless all cases are wanted, give what they give on the CPU, to the digits they print.
check_examples() {
  local backend=$1 example examples=(08_transformer 09_resnet)
  [[ $# -lt 2 || -n ${TSR_TEST_SAMPLE:-} ]] || examples=("$2")
  for example in "${examples[@]}"; do
    TESSERA_BACKEND=cpu "$TSR_TEST_BUILD_DIR/examples/$example" >"$work/cpu" 2>"$work/err" || fail "$example fails on the CPU"
    TESSERA_BACKEND=$backend "$TSR_TEST_BUILD_DIR/examples/$example" >"$work/out" 2>"$work/err" || fail "$example fails on $backend"
    cmp "$work/cpu" "$work/out" >&2 || fail "$example differs from the CPU"
  done
}

# check_graphs BACKEND FEW MANY: random graphs give the same fused and eager; MANY of them where all cases are wanted.
check_graphs() {
  local count=$2
  [[ -z ${TSR_TEST_SAMPLE:-} ]] || count=$3
  TSR_TEST_BACKEND=$1 TSR_TEST_GRAPHS=$count "$TSR_TEST_BUILD_DIR/tests/conformance_random_graph_test" >"$work/out" 2>"$work/err" ||
    fail "random graphs fail on $1"
  grep ' graphs from seed' "$work/out"
}

# check_queues BACKEND: four threads on four queues with copies, captures and events agree with a model, for two seconds (longer if all cases are wanted).
check_queues() {
  local seconds=2
  [[ -z ${TSR_TEST_SAMPLE:-} ]] || seconds=60
  TSR_TEST_BACKEND=$1 TSR_TEST_ATTACK_SECONDS=$seconds "$TSR_TEST_BUILD_DIR/tests/attack_queue_threads_test" >"$work/out" 2>"$work/err" ||
    fail "four threads on four queues fail on $1"
}

# check_runtime BACKEND [PART...]: these services of the runtime (services.bash), or all if all cases are wanted. Under a sanitizer only its queues: the CPU's tests
# do the rest.
check_runtime() {
  if [[ -n ${TSR_TEST_SANITIZE:-} ]]; then
    check_queues "$1"
    return
  fi
  [[ -z ${TSR_TEST_SAMPLE:-} ]] || set -- "$1"
  # shellcheck source=tests/devices/services.bash
  (source "${BASH_SOURCE[0]%/*}/services.bash" && TSR_TEST_ATTACK_SECONDS=1 check_services "$@")
}

# part N/M: the option for one of M parts of the operators, unless all cases are wanted.
part() { [[ -n ${TSR_TEST_SAMPLE:-} ]] || printf -- '--part %s' "$1"; }

# check_sample BACKEND ONE_IN [OPTION...]: the conformance run on a sample.
check_sample() {
  local backend=$1 sample=${TSR_TEST_SAMPLE:-$2}
  shift 2
  [[ -z ${TSR_TEST_SANITIZE:-} ]] || set -- "$@" --part 1/8 # the last one counts
  [[ -z ${TSR_TEST_SANITIZE:-} ]] || sample=$((sample * 10))
  "$TSR_TEST_PROGRAM" check --backend "$backend" --quick --sample "$sample" "$@" >"$work/out" 2>"$work/err" ||
    fail "tessera check --backend $backend --quick --sample $sample $* exits with $?"
  tail -n 4 "$work/out"
}

# check_gradients BACKEND PART: gradients against those of the CPU, of one operator in 32; of all with TSR_TEST_SAMPLE. Not under a sanitizer: the CPU's
# tests do that.
check_gradients() {
  local part=(--part "$2/32")
  [[ -z ${TSR_TEST_SAMPLE:-} ]] || part=()
  [[ -z ${TSR_TEST_SANITIZE:-} ]] || return 0
  check_sample "$1" 1000 --grad "${part[@]}"
}

# check_shapes BACKEND SECONDS: operators on random shapes (random_shapes.py); others each time, and for ten minutes, if all cases are wanted. Not under a sanitizer,
# with which Python is not built.
check_shapes() {
  local seconds=$2 seed=1
  [[ -z ${TSR_TEST_SANITIZE:-} ]] || return 0
  [[ -z ${TSR_TEST_SAMPLE:-} ]] || seconds=600 seed=$RANDOM
  PYTHONPATH=$TSR_TEST_BUILD_DIR/python /usr/bin/python3 "${BASH_SOURCE[0]%/*}/random_shapes.py" "$1" --seconds "$seconds" --seed "$seed" \
    >"$work/out" 2>"$work/err" || fail "random_shapes.py $1 --seed $seed exits with $?"
  cat "$work/out"
}

# check_validated ONE_IN [OPTION...]: check_sample on Vulkan under the Khronos validation layer with synchronisation validation, where any message fails. Returns 1 if the
# layer is not installed, or under a sanitizer, which would report the memory that the layer keeps until the process ends.
check_validated() {
  [[ -z ${TSR_TEST_SANITIZE:-} ]] || return 1
  if [[ -z $(first /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json) ]]; then
    printf 'the validation layer is not installed (package vulkan-validationlayers)\n'
    return 1
  fi
  validated check_sample vulkan "$@"
  TSRI_VULKAN_STREAMS=1 validated check_queues vulkan # several streams, on the one queue that software drivers have
}

# validated COMMAND...: with the validation layer on, which must not object.
validated() {
  TSRI_VULKAN_VALIDATION=1 TESSERA_LOG=info "$@"
  grep -q 'the validation layer is on' "$work/out" "$work/err" || fail "the validation layer was not on"
  if grep -q 'vulkan validation:' "$work/out" "$work/err"; then fail "the validation layer objects"; fi
}
