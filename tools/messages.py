#!/usr/bin/env python3
"""Lists the messages of errors and warnings in the sources, for reviewers.

usage: tools/messages.py [--sample COUNT [SEED]] [PATH ...]

Prints FILE:LINE<TAB>FUNCTION<TAB>TEXT for each message and the number of messages at the end.
TEXT holds all string literals of the message, the format first; " | " separates them. --sample
prints COUNT of the messages, drawn at random. Exits with 1 if a message breaks a rule of form:
it ends with a line end or a full stop, or has a word of RETIRED. Without PATH it reads all
directories with code except tests/.
"""
import ast
import pathlib
import random
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIRECTORIES = "accel core distributed examples photon points python render scenes shaders tools".split()
# Position of the first argument that belongs to the message; -1: the last argument.
FUNCTIONS = {
    "KD_FAIL": 1, "KD_REQUIRE": 2, "status_fail": 3, "log_message": 1,
    "problem_add": 4, "problem_add_once": 3, "ply_problem": 6, "text_fail": 4, "fail_here": -1, "fail": -1,
    "check_note": 5, "check_triangle_note": 4, "check_position_note": 4, "check_count": 2,
    "json_fail": 1, "json_unexpected": 2, "gltf_fail": 3, "gltf_warn": 3, "unexpected": 4,
    "unsound": 1, "general_note": 0, "general_error": 0, "refused": 0, "print_error": 0,
    "value_error": 0, "type_error": 0, "PyErr_SetString": 1, "fprintf": 1, "snprintf": 2,
}
# snprintf composes messages only in variables of these names.
PARTS = {"expected", "message", "trouble", "why", "wrong"}
RETIRED = re.compile(r"\b(nobody|somebody|grief|house|please|is told|wants|asks|beside|among)\b", re.I)
SCIPY = "python/kandela/kdtree.py"  # its messages are those of scipy.spatial.KDTree
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
CALL = re.compile(r"\b(" + "|".join(FUNCTIONS) + r")\(")


def arguments(text, code, start):
    """Splits the arguments of a call at the commas of its own level; `code` is `text` with literals
    and comments blanked out."""
    found, depth, begin = [], 1, start
    for i in range(start, len(code)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[i], 0)
        if depth == 0 or (depth == 1 and code[i] == ","):
            found.append(text[begin:i])
            begin = i + 1
        if depth == 0:
            break
    return found


def literals(argument):
    """Returns the string literals, joined where the compiler joins them."""
    argument = re.sub(r"/\*.*?\*/", "", argument, flags=re.S)
    argument = re.sub(r'"\s*PRI([a-zX]+)\d*\s*"', lambda m: m[1][0], argument)
    argument = re.sub(r'"\s*"', "", argument)
    return re.findall(r'"((?:\\.|[^"\\])*)"', argument)


def of_c(path):
    text = path.read_text()
    code = TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    for call in CALL.finditer(code):
        name, given = call[1], arguments(text, code, call.end())
        first = FUNCTIONS[name]
        if name == "fprintf" and given[0].strip() != "stderr":
            continue
        if name == "snprintf" and given[0].strip().split(".")[-1].split("->")[-1] not in PARTS:
            continue
        shown = [s for a in given[first:] for s in literals(a)]
        if any(re.search("[a-z]{2}", re.sub(r"%[-\d.*]*[a-z]+", "", s)) for s in shown):
            yield text.count("\n", 0, call.start()) + 1, name, " | ".join(shown)


def of_python(path):
    for node in ast.walk(ast.parse(path.read_text())):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call):
            continue
        name = ast.unparse(call.func)
        if not isinstance(node, ast.Raise) and name not in ("warnings.warn", "sys.exit", "parser.error"):
            continue
        shown = [ast.unparse(a) for a in call.args if not isinstance(a, (ast.Constant, ast.Name)) or
                 isinstance(getattr(a, "value", None), str)]
        shown = [s for s in shown if re.search("""["']""", s)]
        if shown:
            yield call.lineno, name, " | ".join(re.sub(r"""^f?(["'])(.*)\1$""", r"\2", s) for s in shown)


def of_shell(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for message in re.findall(r'echo "([^"$]*(?:\$[^"]*)?)" >&2', line):
            yield number, "echo", message


def faults(text):
    """Returns what is wrong with the form of a message, or an empty string."""
    if re.search(RETIRED, text):
        return f"has the word '{re.search(RETIRED, text)[0]}'"
    if re.search(r"(\\n|[^.]\.)$", text) and not re.match("usage:", text):
        return "ends with a line end or a full stop"
    return ""


def main(given):
    sample = int(given[1]) if given[:1] == ["--sample"] else 0
    seed = given.pop(2) if sample and given[2:] and given[2].isdigit() else "1"
    paths = given[2:] if sample else given
    found = []
    files = []
    for given_path in paths or DIRECTORIES:
        below = ROOT / given_path  # a directory that does not exist has no messages
        files += sorted(below.rglob("*")) if below.is_dir() else [below] * below.is_file()
    for path in files:
        name = str(path.relative_to(ROOT))
        if path.suffix in (".c", ".h", ".cc", ".cu", ".cuh", ".inc"):
            read = of_c
        elif path.suffix == ".py":
            read = of_python
        elif path.is_file() and not path.is_symlink() and not path.suffix and path.read_bytes()[:2] == b"#!":
            read = of_python if b"python" in path.read_bytes()[:40] else of_shell
        elif path.suffix == ".sh":
            read = of_shell
        else:
            continue
        found += [(f"{name}:{line}", function, text) for line, function, text in read(path)]
    bad = [(place, text, faults(text.removesuffix("\\n") if function == "fprintf" else text))
           for place, function, text in found]
    bad = [row for row in bad if row[2] and not row[0].startswith(SCIPY)]
    shown = sorted(random.Random(seed).sample(found, min(sample, len(found)))) if sample else found
    for row in shown:
        print("\t".join(row))
    print(f"{len(found)} messages")
    for place, text, fault in bad:
        print(f"{place}: the message {fault}: {text}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
