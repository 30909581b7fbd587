"""Translates a CUDA file to C++: launches become calls, dynamic shared memory becomes a pointer.

usage: kernels.py IN OUT

Line numbers are kept, and compiler messages name the CUDA file.
"""
import re
import sys


def match_back(text, end, opening, closing):
    """Returns the position of the bracket that opens the pair closing just before `end`."""
    depth = 0
    for at in range(end - 1, -1, -1):
        if text[at] == closing:
            depth += 1
        elif text[at] == opening:
            depth -= 1
            if depth == 0:
                return at
    raise ValueError("no " + opening)


def match_on(text, begin):
    """Returns the position after the parenthesis that closes the one at `begin`."""
    depth = 0
    for at in range(begin, len(text)):
        if text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
            if depth == 0:
                return at + 1
    raise ValueError("no )")


def name_begin(text, end):
    """Returns where the kernel expression before `end` begins: a name, with template or call
    arguments."""
    at = end
    while text[at - 1].isspace():
        at -= 1
    for opening, closing in ("()", "<>"):
        if text[at - 1] == closing:
            at = match_back(text, at, opening, closing)
    while text[at - 1].isalnum() or text[at - 1] in "_:":
        at -= 1
    return at


def convert(text):
    done = 0
    parts = []
    while (launch := text.find("<<<", done)) >= 0:
        begin = name_begin(text, launch)
        shape_end = text.index(">>>", launch)
        if text[shape_end + 3] != "(":
            raise ValueError("no arguments behind >>>")
        end = match_on(text, shape_end + 3)
        name = text[begin:launch].strip()
        shown = re.sub(r"[\s\"]+", " ", name)
        parts.append(text[done:begin])
        parts.append(f'emulated::launch("{shown}", emulated::shape({text[launch + 3:shape_end]}), '
                     f"[&] {{ {text[begin:launch]}{text[shape_end + 3:end]}; }})")
        done = end
    parts.append(text[done:])
    return re.sub(r"extern __shared__ (?:__align__\(\d+\) )?char (\w+)\[\];",
                  r"char *\1 = emulated::dynamic_shared;", "".join(parts))


source, target = sys.argv[1:]
with open(source, encoding="utf-8") as read:
    converted = f'#line 1 "{source}"\n' + convert(read.read())
with open(target, "w", encoding="utf-8") as written:
    written.write(converted)
