#!/usr/bin/env python3
"""usage: book.py quotes [ROOT]
       book.py figures PROGRAM [--check] [CHAPTER...]

quotes   Checks that every code quote in a chapter of docs/book/ equals the file and function that it
         names. A quote is a fenced block directly below a line such as
             <!-- quote: points/tree/walk.h pointtree_closest -->
         (without the function: anywhere in the file). Its lines must occur in the file in the same
         order without gaps, except at a line "...". Common indentation is ignored. Also checks that
         every file that a chapter names in `code` exists, and every picture.
figures  Draws docs/book/figures/*.svg from the output of PROGRAM (build/bin/kandela). With --check
         nothing is written: the drawings must equal the existing files.

Exits with 1 and FILE:LINE: message if a check fails.
"""

import glob
import importlib.util
import os
import re
import sys
import tempfile

QUOTE = re.compile(r"^<!-- quote: (\S+)(?: (\w+))? -->$")
PATH = re.compile(r"`((?:[a-z_0-9]+/)+[a-z_0-9]+\.(?:h|c|cu|cuh|py|json))`")
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def bodies(text, name):
    """Return the definitions of `name`, each from its first line to the closing brace."""
    found = []
    for match in re.finditer(r"^[^\s#/*}][^\n;]*\b" + name + r"\b", text, re.MULTILINE):
        opened = text.find("{", match.end())
        semicolon = text.find(";", match.end())
        if opened < 0 or 0 <= semicolon < opened:
            continue
        end = text.find("\n}", opened)
        if end >= 0:
            found.append(text[match.start() : end + 2])
    return found


def dedented(lines):
    depth = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[depth:].rstrip() for line in lines]


def pieces(lines):
    """Split a quote at its lines of dots into runs of consecutive lines."""
    runs = [[]]
    for line in lines:
        if line.strip() in ("...", "/* ... */"):
            runs.append([])
        else:
            runs[-1].append(line)
    return [run for run in runs if any(line.strip() for line in run)]


def is_inside(lines, text):
    source = [line.rstrip() for line in text.split("\n")]
    begin = 0
    for run in pieces(lines):
        wanted = dedented(run)
        for at in range(begin, len(source) - len(wanted) + 1):
            if dedented(source[at : at + len(wanted)]) == wanted:
                begin = at + len(wanted)
                break
        else:
            return False
    return True


def check_quote(root, path, function, lines):
    """Return the error in a quote, or None."""
    if not os.path.exists(os.path.join(root, path)):
        return f"quoted file {path} does not exist"
    text = read(os.path.join(root, path))
    places = bodies(text, function) if function else [text]
    if not places:
        return f"{path} defines no {function}"
    if not any(is_inside(lines, place) for place in places):
        return f"the quote is not in {path}" + (f", function {function}" if function else "")
    return None


def check_chapter(root, chapter):
    lines = read(chapter).split("\n")
    at = 0
    while at < len(lines):
        quote = QUOTE.match(lines[at])
        if quote:
            first = at + 2
            last = next((k for k in range(first, len(lines)) if lines[k].startswith("```")), None)
            if last is None or not lines[at + 1].startswith("```"):
                yield at + 1, "a fenced block must follow the quote comment"
                return
            wrong = check_quote(root, quote.group(1), quote.group(2), lines[first:last])
            if wrong:
                yield at + 1, wrong
            at = last
        for name in PATH.findall(lines[at]):
            if not os.path.exists(os.path.join(root, name)):
                yield at + 1, f"{name} does not exist"
        for name in PICTURE.findall(lines[at]):
            if not os.path.exists(os.path.join(os.path.dirname(chapter), name)):
                yield at + 1, f"the picture {name} does not exist"
        at += 1


def quotes(root):
    chapters = sorted(glob.glob(os.path.join(root, "docs/book/*.md")))
    failures = 0
    for chapter in chapters:
        for line, what in check_chapter(root, chapter):
            failures += 1
            print(f"{os.path.relpath(chapter, root)}:{line}: {what}")
    if not failures:
        print(f"{len(chapters)} chapters: all quotes equal the code")
    return 1 if failures or not chapters else 0


def load(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(path))
    spec.loader.exec_module(module)
    return module


def figures(root, arguments):
    check = "--check" in arguments
    program, *chapters = [word for word in arguments if word != "--check"]
    folder = os.path.join(root, "docs/book/figures")
    failures = 0
    with tempfile.TemporaryDirectory() as fresh:
        for path in sorted(glob.glob(os.path.join(folder, "chapter_*.py"))):
            if chapters and os.path.basename(path)[8:-3] not in chapters:
                continue
            load(path).draw(os.path.abspath(program), fresh if check else folder)
        for path in sorted(glob.glob(os.path.join(fresh, "*.svg"))):
            name = os.path.basename(path)
            there = os.path.join(folder, name)
            if not os.path.exists(there) or read(there) != read(path):
                failures += 1
                print(f"docs/book/figures/{name}:1: the figure differs from the one drawn now")
    return 1 if failures else 0


def main(arguments):
    root = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    if 1 <= len(arguments) <= 2 and arguments[0] == "quotes":
        folder = arguments[1] if len(arguments) > 1 else root
        if os.path.isdir(os.path.join(folder, "docs", "book")):
            return quotes(folder)
        print(f"book.py: {folder} has no docs/book", file=sys.stderr)
        return 2
    if len(arguments) >= 2 and arguments[0] == "figures":
        return figures(root, arguments[1:])
    print(__doc__.strip(), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
