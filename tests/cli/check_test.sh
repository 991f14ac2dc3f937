#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tessera check: the list of operators, filters, failures' exit codes, JSON; and the quick run on the CPU passes.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

top=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)

claim "--list names every operator with what it does, its dtypes and its bound"
COLUMNS=200 expect 0 check --list
has "$out" "layer_norm"
has "$out" "matrix product over the last two axes"
expect 0 check --list --json
json "len(it['operators']) > 100"
json "all(o['text'] and o['dtypes'] and o['result'] and o['family'] for o in it['operators'])"
json "{o['bound'] for o in it['operators']} <= {b['name'] for b in it['bounds']}"
json "all(b['reason'] for b in it['bounds'])"
json "len({b['name'] for b in it['bounds']}) == len(it['bounds'])"

claim "no public operator is missing from it, and none is listed twice"
declared=$(sed -n 's/^TSR_API [a-z_]* \**tsr_\([a-z0-9_]*\)(.*/\1/p' "$top/include/tessera/ops.h" | sort)
listed=$(/usr/bin/python3 -c 'import json, sys; print("\n".join(o["name"] for o in json.load(open(sys.argv[1]))["operators"]))' "$work/out" | sort)
missing=$(comm -23 <(printf '%s\n' "$declared") <(printf '%s\n' "$listed"))
[[ -z $missing ]] || fail "these operators are not checked: $missing"
twice=$(printf '%s\n' "$listed" | uniq -d)
[[ -z $twice ]] || fail "these operators are listed twice: $twice"

claim "the rows of operators.def are all in it"
rows=$(sed -n '/^TSRI_ATTRIBUTES/d;s/^TSRI_[A-Z0-9]*(\([a-z0-9_]*\),.*/\1/p' "$top/src/ops/operators.def" | sort)
[[ $(wc -l <<<"$rows") -gt 150 ]] || fail "operators.def was not understood: $rows"
missing=$(comm -23 <(printf '%s\n' "$rows") <(printf '%s\n' "$listed"))
[[ -z $missing ]] || fail "these rows of operators.def are not checked: $missing"

claim "the page made of the list is fresh"
TSR_TEST_PROGRAM=$TSR_TEST_PROGRAM "$top/scripts/generate-operator-docs" --check 2>"$work/err" || {
  err=$(<"$work/err")
  fail "docs/operators.md is stale"
}

claim "--op picks operators by pattern, and cases"
expect 0 check --backend cpu --op 'is*' --dtype f32
has "$out" "logic"
lacks "$out" "linear"
expect 0 check --backend cpu --op 'add/f32/transposed' --json
json "it['devices'][0]['cases'] == 1 and it['devices'][0]['passed'] == 1"
expect 0 check --backend cpu --op 'neg,add/f32/transposed' --dtype f32 --json
json "{c['name'] for d in it['devices'] for c in d['operators'] if c['cases'] > 0} == {'neg', 'add'}"
json "[c['cases'] for d in it['devices'] for c in d['operators'] if c['name'] == 'add'] == [1]"
expect 0 check --list --op 'log*' --json
json "[o['name'] for o in it['operators']][0].startswith('log')"

claim "JSON has the seed, the device, and each operator's figures"
expect 0 check --backend cpu --op 'exp' --dtype f32 --quick --seed 7 --json
json "it['seed'] == 7 and it['level'] == 'quick' and it['ok'] is True"
json "it['devices'][0]['backend'] == 'cpu' and it['devices'][0]['name']"
json "it['devices'][0]['failures'] == [] and it['devices'][0]['failed'] == 0"
json "it['devices'][0]['operators'][0]['name'] == 'exp' and it['devices'][0]['operators'][0]['worst']['unit'] == 'ULP'"
json "0 < it['devices'][0]['operators'][0]['worst']['share'] <= 1"

claim "the summary ends with the counts and the seed, and a short run shows no progress in a pipe"
expect 0 check --backend cpu --op 'sigmoid' --dtype f32 --seed 3
has "$out" "0 failed"
has "$out" "seed 3"
lacks "$out" $'\r'
is_empty "$err" "standard error"

claim "a run that is ended by timeout(1) says what it found until then: exit code 130"
code=0
export OCL_ICD_VENDORS=/nonexistent VK_ICD_FILENAMES=/nonexistent # devices that are not checked need no time
timeout --preserve-status 3 "$TSR_TEST_PROGRAM" check --backend cpu --json >"$work/out" 2>"$work/err" || code=$?
[[ $code -eq 130 ]] || fail "the exit code is $code"
json "it['ok'] is False and it['devices'][0]['interrupted'] is True and it['devices'][0]['failed'] == 0"
json "it['devices'][0]['passed'] > 0 and len(it['devices'][0]['operators']) < 100"

claim "a long run tells every five seconds how far it is, on standard error"
code=0
timeout --preserve-status 7 "$TSR_TEST_PROGRAM" check --backend cpu >"$work/out" 2>"$work/err" || code=$?
out=$(<"$work/out")
err=$(<"$work/err")
[[ $code -eq 130 ]] || fail "the exit code is $code"
[[ $err =~ ^"cpu:0: "[0-9]+" cases, 0 failed, operator "[0-9]+" of "[0-9]+": "[a-z0-9_]+/.*", "[0-9]+" s"$ ]] || fail "these are not the messages"
[[ $out =~ "interrupted: "[0-9]+" of "[0-9]+" operators were reached" ]] || fail "the summary does not say so"
has "$out" " 0 failed"
unset OCL_ICD_VENDORS VK_ICD_FILENAMES

claim "a sample is repeatable, smaller than the whole, other for another seed, and leaves no operator out"
expect 0 check --backend cpu --quick --sample 50 --json
first=$(sed 's/"seconds": [0-9.e+-]*//' "$work/out")
json "3 * len(it['devices'][0]['operators']) > it['devices'][0]['cases'] >= len(it['devices'][0]['operators']) > 100"
operators=$(/usr/bin/python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["devices"][0]["operators"]))' "$work/out")
expect 0 check --list --json
json "len(it['operators']) == $operators"
expect 0 check --backend cpu --quick --sample 50 --json
[[ $first == "$(sed 's/"seconds": [0-9.e+-]*//' "$work/out")" ]] || fail "the same seed gives another sample"
expect 0 check --backend cpu --quick --sample 50 --seed 2 --json
[[ $first != "$(sed 's/"seconds": [0-9.e+-]*//;s/"seed": 2/"seed": 1/' "$work/out")" ]] || fail "another seed gives the same sample"

claim "the parts of a run are the run"
expect 0 check --backend cpu --op add --dtype f32 --quick --json
whole=$(/usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["devices"][0]["cases"])' "$work/out")
expect 0 check --backend cpu --op add --dtype f32 --quick --json --part 1/2
half=$(/usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["devices"][0]["cases"])' "$work/out")
expect 0 check --backend cpu --op add --dtype f32 --quick --json --part 2/2
json "it['devices'][0]['cases'] == $whole - $half and abs($whole - 2 * $half) <= 1"

claim "a wrong command line is a mistake, with what is allowed"
expect 2 check --op 'add,no_such_operator,exp'
has "$err" "no_such_operator"
expect 2 check --dtype f33
has "$err" "f33"
expect 2 check --seed 0
expect 2 check --sample 0
for part in 0/2 3/2 1 1/ /2 a/b -1/2 1/2x; do
  expect 2 check --part "$part"
  has "$err" "--part takes I/N"
done

claim "a failure says what was wrong and how to repeat it, and the exit code is 1"
TESSERA_FAULTS=launch:1 expect 1 check --backend cpu --op add/f32/odd --seed 5
has "$out" "FAILED add/f32/odd"
has "$out" "inputs f32 7x19, f32 7x19"
has "$out" "TSR_ERR_LAUNCH"
has "$out" "tessera check --device cpu:0 --seed 5 --op 'add/f32/odd'"
TESSERA_FAULTS=launch:1 expect 1 check --backend cpu --op add/f32/odd --json
json "it['ok'] is False and it['devices'][0]['failures'][0]['case'] == 'add/f32/odd'"
json "'--seed 1' in it['devices'][0]['failures'][0]['command']"

claim "the quick run passes on the CPU"
expect 0 check --quick --backend cpu
has "$out" "linear algebra"
has "$out" "indexing"

claim "gradients of all operators agree with differences, and those in other dtypes with f64"
expect 0 check --grad --quick --backend cpu --dtype f64 --json
json "it['grad'] is True and it['ok'] is True"
json "it['devices'][0]['failures'] == [] and it['devices'][0]['passed'] > 1000"
compared=$(/usr/bin/python3 -c 'import json, sys; print("\n".join(o["name"] for o in json.load(open(sys.argv[1]))["devices"][0]["operators"]))' "$work/out" | sort)
expect 0 check --grad --quick --backend cpu --sample 25

claim "no operator that computes floats from floats is without a gradient, unless its row says so"
expect 0 check --list --json
/usr/bin/python3 - "$work/out" "$top/src/ops/operators.def" >"$work/wanted" <<'END'
import json, re, sys
rows = dict(re.findall(r"^TSRI_[A-Z0-9_]+\((\w+),(.*?)(?=^TSRI_|\Z)", open(sys.argv[2]).read(), re.M | re.S))
for op in json.load(open(sys.argv[1]))["operators"]:
    row = rows[op["name"]]
    takes = "TSRI_OPERATOR" not in row and "FLOATS(" in row or "REDUCE(" in row or re.search(r"(?<!\w)(TENSOR|TENSORS)\(", row)
    # Quantised weights are whole numbers, with scales of f32, whose differences say nothing; one_hot and bit_cast take bits and numbers of classes.
    if op["family"] == "quantised weights" or op["name"] == "one_hot":
        continue
    if takes and "f64" in op["dtypes"] and op["result"] not in ("bool", "i32") and "CONSTANTS(1)" not in row:
        print(op["name"])
END
missing=$(comm -23 <(sort "$work/wanted") <(printf '%s\n' "$compared"))
for name in $missing; do # a quick run may leave out all cases of an operator
  expect 0 check --grad --backend cpu --dtype f64 --op "$name" --json
  json "it['devices'][0]['passed'] > 0"
done
expect 0 check --grad --backend cpu --op nextafter --dtype f32
has "$out" "0 failed"

claim "a wrong gradient is found, and the command that repeats it has --grad"
TESSERA_FAULTS=launch:3 expect 1 check --grad --backend cpu --op exp/f64/odd
has "$out" "tessera check --grad --device cpu:0 --seed 1 --op 'exp/f64/odd'"

claim "on a terminal one line shows the progress, and is removed"
on_terminal "stty cols 60; TERM=xterm '$TSR_TEST_PROGRAM' check --backend cpu --op sum,prod,softmax,sort"
[[ $out == *$'\r\x1b[Kcpu:0: '*" cases, 0 failed, operator "[1-4]" of 4: "*$'\r\x1b[K'* ]] || fail "there is no such line"
