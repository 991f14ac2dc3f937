# SPDX-License-Identifier: MIT
"""Reads src/ops/operators.def: each operator with its text and its parameters. Used by scripts that write something from that list."""
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = os.path.join(TOP, "src", "ops", "operators.def")
AT_END = "// === What follows is declared in tensor.h"

# Default arguments, for languages that have them, by the parameter's kind (as in scripts/generate-web-lists) and name.
DEFAULTS = {
    "int axis": -1,
    "axes axes": [],
    "bool keep_dims": False,
    "bool complete": False,
    "bool full": False,
    "number tolerance": 0,
    "bool upper": False,
    "bool transposed": False,
    "bool unit": False,
    "bool descending": False,
    "number rtol": 1e-5,
    "number atol": 1e-8,
    "bool equal_nan": False,
    "long offset": 0,
    "long length": 0,
    "bool right": False,
    "number eps": 1e-5,
    "number correction": 1,
    "number slope": 0.01,
    "number alpha": 1,
    "long diagonal": 0,
    "long start": 0,
    "long stop": 2**63 - 1,
    "long step": 1,
}

# The tensors of element-wise operators, by kind of row.
TENSORS = {"ONE": ["x"], "TWO": ["a", "b"]}


def end_of_call(text, at):
    """Position after the parenthesis that closes the one before `at`."""
    depth, quoted = 1, False
    while depth:
        c = text[at]
        if quoted:
            at += c == "\\"
            quoted = c != '"'
        elif c == '"':
            quoted = True
        else:
            depth += (c == "(") - (c == ")")
        at += 1
    return at


def arguments(text):
    """Splits at commas outside parentheses and quotes."""
    found, start, at = [], 0, 0
    while at < len(text):
        if text[at] == "(":
            at = end_of_call(text, at + 1)
        elif text[at] == '"':
            at = re.compile(r'"(?:[^"\\]|\\.)*"').match(text, at).end()
        elif text[at] == ",":
            found.append(text[start:at].strip())
            start = at = at + 1
        else:
            at += 1
    return found + [text[start:].strip()]


def described(kind, name):
    """DESC(loss) is the parameter `desc`, a tsr_loss_desc."""
    return ("DESC " + name, "desc") if kind == "DESC" else (kind, name)


def row(kind, given):
    """Name, text and parameters, as (kind, name), of a row."""
    name = given[0]
    if kind == "OPERATOR":
        return name, given[2][1:-1], [described(*pair) for pair in re.findall(r"(\w+)\((\w+)\)", given[3])]
    if kind == "REDUCTION":
        return name, given[1][1:-1], [("TENSOR", "x"), ("AXES", "axes"), ("COUNT", "axis_count"), ("FLAG", "keep_dims")]
    if kind == "THREE":
        return name, given[5][1:-1], [("TENSOR", given[i]) for i in (1, 2, 3)]
    base, _, numbers = kind.partition("_")
    count = int(numbers or 0)
    listed = [("TENSOR", x) for x in TENSORS[base]] + [("NUMBER", given[1 + i]) for i in range(count)]
    return name, given[2 + count][1:-1], listed


def parts(text):
    """The list as ("text", lines) and ("rows", [(name, text, parameters)]), rows that follow on each other together."""
    found, at = [], 0
    pattern = re.compile(r"^TSRI_(\w+)\(", re.M)
    for match in iter(lambda: pattern.search(text, at), None):
        between = text[at:match.start()]
        end = end_of_call(text, match.end())
        own = row(match.group(1), arguments(text[match.end():end - 1]))
        if not between.strip() and "\n\n" not in between and found and found[-1][0] == "rows":
            found[-1][1].append(own)
        else:
            found.append(("text", between.strip("\n")))
            found.append(("rows", [own]))
        at = end
    return found


def lists():
    """parts() of the operators that ops.h declares, and of those that tensor.h does."""
    with open(LIST, encoding="utf-8") as file:
        text = file.read()
    text = text[text.index("// clang-format off\n") + len("// clang-format off\n"):text.index("// clang-format on\n")]
    here, there = text.split(AT_END, 1)
    return parts(here), parts(there[there.index("\n"):])
