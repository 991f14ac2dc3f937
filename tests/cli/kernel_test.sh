#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tessera kernel: checking, emitting and running kernels, their messages and exit codes.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"
cd "$work"

cat >good.tk <<'END'
kernel saxpy<T: float = f32>(in T x[], inout T y[], f32 a, u32 n) {
    u32 i = global.x;
    if (i < n) y[i] = T(a * f32(x[i]) + f32(y[i]));
}
END
cat >two.tk <<'END'
kernel ramp<WG = 8, WG_Y = 4>(out u8 image[], u32 width, u32 height) {
    if (global.x < width && global.y < height) image[global.y * width + global.x] = u8(global.x * 10 + global.y);
}
kernel pick(in i32 x[], out i32 y[], i32 at) { if (global.x == 0) y[0] = x[at]; }
END
cat >bad.tk <<'END'
kernel mean(in f32 x[], out f32 y[], u32 n) {
    u32 i = global.x;
    if (i >= n) return;
    y[group.x] = x[i] / nn;
    y[i + n] = z;
}
END
cat >diverges.tk <<'END'
kernel mean(in f32 x[], out f32 y[], u32 n) {
    u32 i = global.x;
    if (i >= n) return;
    y[group.x] = group_sum(x[i]) / f32(n);
}
END

claim "kernel and each of its commands have help, no line of it wider than 80 columns"
for command in "" check emit run; do
  # shellcheck disable=SC2086  # no argument for the empty one
  expect 0 kernel $command --help
  shown=$out
  for part in NAME USAGE DESCRIPTION OPTIONS "EXIT CODES" EXAMPLE; do has "$out" "$part"; done
  while IFS= read -r line; do
    ((${#line} <= 80)) || fail "this line is wider than 80: $line"
    [[ $line != *" " ]] || fail "this line ends in a space: $line"
  done <<<"$out"
  # shellcheck disable=SC2086
  expect 0 help kernel $command
  [[ $out == "$shown" ]] || fail "'tessera help kernel $command' shows something else"
done
expect 0 kernel
has "$out" "COMMANDS"
has "$out" "check  find the mistakes"
expect 0 kernel emit --help
has "$out" "ir opencl cuda hip metal c"

claim "a command that is none is a mistake, with a suggestion"
expect 2 kernel chekc good.tk
has "$err" "tessera kernel: 'chekc' is not a command. Did you mean 'check'?"
expect 2 help kernel xyzzy
has "$err" "'tessera help kernel' lists them"
for command in check emit run; do
  options=()
  [[ $command == emit ]] && options=(--dialect c)
  expect 2 kernel "$command" "${options[@]}"
  has "$err" "tessera kernel $command: missing: FILE"
done

claim "check says nothing of good files and everything of bad ones, as a compiler does"
expect 0 kernel check good.tk two.tk
is_empty "$out$err" "the output"
expect 1 kernel check good.tk bad.tk diverges.tk
is_empty "$out" "standard output"
has "$err" "bad.tk:4:25: error: 'nn' is not declared
        y[group.x] = x[i] / nn;
                            ^
hint: did you mean 'n'?"
has "$err" "bad.tk:5:16: error: 'z' is not declared"
has "$err" "diverges.tk:4:18: error: group_sum() stands where not all items of a group arrive"
has "$err" "diverges.tk:3:11: note: "
expect 3 kernel check missing.tk bad.tk
has "$err" "tessera: missing.tk: cannot be opened: No such file"
has "$err" "bad.tk:4:"
expect 3 kernel check "$work"
has "$err" "$work: cannot be read"
: >empty.tk
echo '// nothing but a comment' >comment.tk
for file in empty comment; do
  expect 0 kernel check $file.tk
  [[ $err == "$file.tk: warning: there is no kernel in it"* ]] || fail "the message is another"
done
expect 0 kernel check - <good.tk
expect 1 kernel check - <bad.tk
has "$err" "standard input:4:"
head -c 2000000 /dev/zero >large.tk
expect 3 kernel check large.tk
has "$err" "more than 1048576 bytes"

claim "emit writes every text dialect, to a file too"
for dialect in ir opencl cuda hip metal c wgsl lanes; do
  expect 0 kernel emit --dialect "$dialect" good.tk -DT=f16
  [[ -n $out ]] || fail "there is no $dialect text"
  is_empty "$err" "standard error"
done
expect 0 kernel emit --dialect c good.tk
has "$out" "saxpy"
text=$out
expect 0 kernel emit --dialect c -o saxpy.c good.tk
is_empty "$out" "standard output"
[[ $(<saxpy.c) == "$text" ]] || fail "the file has another text"
expect 0 kernel emit --dialect=c --checked good.tk
[[ $out != "$text" ]] || fail "--checked changes nothing"
expect 0 kernel emit --dialect c -k ramp -D WG=4 --define=WG_Y=2 two.tk
expect 3 kernel emit --dialect c good.tk -o /nowhere/saxpy.c
has "$err" "/nowhere/saxpy.c: cannot be opened for writing"

claim "a wrong dialect, kernel or define gets what is allowed"
expect 2 kernel emit good.tk
has "$err" "missing: --dialect D"
expect 2 kernel emit --dialect fortran good.tk
has "$err" "there is no dialect 'fortran'; known: ir opencl"
expect 2 kernel emit --dialect c two.tk
has "$err" "say which kernel: ramp"
expect 2 kernel emit --dialect c two.tk -k rmap
has "$err" "did you mean ramp?"
expect 2 kernel emit --dialect c good.tk -DT=i32
has "$err" "T cannot be i32; it may be: f16"
expect 2 kernel emit --dialect c good.tk -DU=f32
has "$err" "has no compile-time parameter U; it has: T"
expect 2 kernel emit --dialect c good.tk -DT
has "$err" "write T=f32"
expect 2 kernel emit --dialect c good.tk -D
has "$err" "--define needs a value: --define NAME=VALUE"
expect 2 kernel emit --dialect c good.tk -x
has "$err" "'-x' is not an option"
expect 1 kernel emit --dialect c bad.tk
has "$err" "bad.tk:4:"

# run ARGUMENT...: on the CPU.
run() {
  expect 0 kernel run --backend cpu "$@"
}

claim "run prints what was written, for each dtype and way to give contents"
run good.tk --items 4 4=arange 4=ones 2.5 4
has "$out" "y:
[1.  3.5 6.  8.5]
f32 [4] on cpu"
run good.tk --items 4 f32:2x2=1,2,-3.5,4 2x2=10 -1 4
has "$out" "[[ 9.   8. ]
 [13.5  6. ]]"
run good.tk -DT=bf16 --groups 1 bf16:3=1,2,3 3=zeros 1 3
has "$out" "bf16 [3] on cpu"
run two.tk -k pick --items 1 3=7,-8,9 1=out 1
has "$out" "[-8]"
run two.tk -k pick --items 1 3=0x10 1 1
has "$out" "[16]"
run two.tk -k pick --groups 0 3=5 1=out 1
has "$out" "[0]"

claim "the same seed gives the same numbers"
run good.tk --items 4 4=rand:7 4=zeros 1 4
first=$out
run good.tk --items 4 4=rand:7 4=zeros 1 4
[[ $out == "$first" ]] || fail "the numbers are others"
run good.tk --items 4 4=rand:8 4=zeros 1 4
[[ $out != "$first" ]] || fail "another seed gives the same numbers"

claim "files go in and out, raw and as images"
run good.tk --items 4 4=1,2,3,4 '4=zeros>y.bin' 1 4
is_empty "$out" "standard output"
[[ $(wc -c <y.bin) -eq 16 ]] || fail "y.bin has another size"
run good.tk --items 4 @y.bin 4=@y.bin 1 4
has "$out" "[2. 4. 6. 8.]"
run two.tk -k ramp --items 3,2 '2x3=out>ramp.pgm' 3 2
printf 'P5\n3 2\n255\n\0\12\24\1\13\25' | cmp - ramp.pgm || fail "the image is another"
run two.tk -k ramp --items 6,1 '1x2x3>ramp.ppm' 6 1
printf 'P6\n2 1\n255\n\0\12\24\36\50\62' | cmp - ramp.ppm || fail "the colour image is another"
run two.tk -k ramp --items 3,2 '2x3=out>ramp.png' 3 2
png_as_ppm ramp.png | cmp - ramp.pgm || fail "the PNG shows another picture"
run two.tk -k ramp --items 6,1 '1x2x3>colours.png' 6 1
png_as_ppm colours.png | cmp - ramp.ppm || fail "the PNG shows other colours"
run two.tk -k ramp --items 512,300 '300x512>large.png' 512 300 # longer than the compressor looks back
run two.tk -k ramp --items 512,300 '300x512>large.pgm' 512 300
png_as_ppm large.png | cmp - large.pgm || fail "the large PNG shows another picture"
expect 3 kernel run --backend cpu two.tk -k ramp --items 1 '0x3>none.png' 0 0
has "$err" "none.png: a PNG has from 1 pixel"

claim "--repeat prints the median of the times"
run good.tk --items 4 --repeat 3 4=ones 4=zeros 1 4
has "$out" "saxpy<T=f32> on cpu ("
has "$out" " ms, median of 3"
has "$out" "[3. 3. 3. 3.]"

# wrong MESSAGE ARGUMENT...: a usage error of `kernel run`.
wrong() {
  local message=$1
  shift
  expect 2 kernel run --backend cpu "$@"
  has "$err" "$message"
  is_empty "$out" "standard output"
}

claim "wrong arguments get the parameter and what is allowed"
wrong "saxpy<T=f32> takes 4 arguments (in f32 x[], inout f32 y[], f32 a, u32 n), 2 given" good.tk --items 4 4=ones 4=ones
wrong "say how much to run" good.tk 4=ones 4=ones 1 4
wrong "say how much to run" good.tk --items 4 --groups 1 4=ones 4=ones 1 4
wrong "--items takes one to three whole numbers separated by commas, not '4,x'" good.tk --items 4,x 4=ones 4=ones 1 4
wrong "--groups takes one to three" good.tk --groups 1,1,1,1 4=ones 4=ones 1 4
wrong "--groups: 4294967296 is too large" good.tk --groups 4294967296 4=ones 4=ones 1 4
wrong "argument 1, in f32 x[]: 'many' is no contents; allowed: zeros, ones, arange, rand" good.tk --items 4 4=many 4=ones 1 4
wrong "argument 1, in f32 x[]: '4xx4' is no shape; write up to 8 sizes such as 16 or 4x3" good.tk --items 4 4xx4=ones 4=ones 1 4
wrong "argument 1, in f32 x[]: is f32, not i32" good.tk --items 4 i32:4=ones 4=ones 1 4
wrong "f31" good.tk --items 4 f31:4=ones 4=ones 1 4
wrong "argument 1, in f32 x[]: is read and needs its contents" good.tk --items 4 4 4=ones 1 4
wrong "argument 2, inout f32 y[]: is read, so 'out' is not enough for it" good.tk --items 4 4=ones 4=out 1 4
wrong "3 numbers for 4 elements; give one for each, or one for all" good.tk --items 4 4=1,2,3 4=ones 1 4
wrong "takes a number, not ''" good.tk --items 4 4=1,,3 4=ones 1 4
wrong "argument 3, f32 a: takes a number, not 'x'" good.tk --items 4 4=ones 4=ones x 4
wrong "argument 4, u32 n: takes a whole number, not '1.5'" good.tk --items 4 4=ones 4=ones 1 1.5
wrong "-4 does not fit parameter 'n' of type u32" good.tk --items 4 4=ones 4=ones 1 -4
wrong "'2147483648' does not fit i32" two.tk -k pick --items 1 1=2147483648 1 0
wrong "is only read: there is nothing to write to a file" good.tk --items 4 '4=ones>x.bin' 4=ones 1 4
wrong "'>' needs the name of a file" good.tk --items 4 4=ones '4=ones>' 1 4
wrong ".pgm takes u8 of shape HEIGHTxWIDTH, this is f32 of [4]" good.tk --items 4 4=ones '4=ones>y.pgm' 1 4
wrong ".ppm takes u8 of shape HEIGHTxWIDTHx3, this is u8 of 2x3" two.tk -k ramp --items 3,2 '2x3>y.ppm' 3 2
wrong ".png takes u8 of shape HEIGHTxWIDTH or HEIGHTxWIDTHx3, this is u8 of 2x3x4" two.tk -k ramp --items 3,2 '2x3x4>y.png' 3 2
wrong "y.bin has 16 bytes, 5 elements of f32 are 20" good.tk --items 4 5=@y.bin 4=ones 1 4
wrong "--repeat takes at most 2147483647" good.tk --items 4 --repeat 2147483648 4=ones 4=ones 1 4
wrong "timeout" good.tk --items 4 --timeout soon 4=ones 4=ones 1 4
expect 3 kernel run --backend cpu good.tk --items 4 3=@y.bin 4=ones 1 4
has "$err" "y.bin: has more than 12 bytes"
expect 3 kernel run --backend cpu good.tk --items 4 4=@/dev/zero 4=ones 1 4 # as much as 4 elements need, and no more
has "$err" "/dev/zero: has more than 16 bytes"
expect 3 kernel run --backend cpu good.tk --items 4 @nowhere.bin 4=ones 1 4
has "$err" "nowhere.bin: cannot be opened"
wrong "has more than 2^63-1 elements" good.tk --items 4 99999999999x99999999=ones 4=ones 1 4

claim "a backend that runs no kernels says so"
expect 3 kernel run --backend null good.tk --items 4 4=ones 4=ones 1 4
has "$err" "the null backend runs no kernels"

claim "checked mode finds an index out of range: exit code 1"
expect 1 kernel run --backend cpu --checked two.tk -k pick --items 1 3=1 1 5
has "$err" "kernel pick: index 5 is outside buffer 'x' of 3 elements (two.tk:4:"
is_empty "$out" "standard output"

claim "an endless kernel runs into the time-out"
echo 'kernel endless(inout i32 y[]) { while (y[0] == 0) y[1] += 1; }' >endless.tk
expect 3 kernel run --backend cpu --timeout 200ms endless.tk --groups 1 2=zeros
has "$err" "200"
