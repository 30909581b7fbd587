#!/usr/bin/env python3
"""usage: check_page.py index.html

Fails unless the page of a report is one file that loads nothing, each chart names its quantity and
has unique labels in numeric order, and nothing is wider than a window of 390 pixels, as measured by
chromium-headless-shell if that is installed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"
QUANTITY = re.compile(r"\[[^]]+\]|million (?!items)\w+ per second|relMSE")


def check_chart(chart):
    title = chart.find(SVG + "title").text or ""
    labels = ["".join(text.itertext()).strip() for text in chart.iter(SVG + "text") if text.get("class") == "label"]
    if title:  # the drawing of a tree in two dimensions has none
        assert QUANTITY.search(title), f"{title}: no quantity with a unit"
    assert len(labels) == len(set(labels)), f"{title}: labels are repeated: {labels}"
    assert "SAH cost" not in title or "level" in title or "C_t" in title, f"{title}: of which cost constants?"
    numbered = {}
    for label in labels:
        numbered.setdefault(re.sub(r"\d+", "#", re.sub(r" \(exponent.*", "", label)), []).append([int(n) for n in re.findall(r"\d+", label)])
    for rows in numbered.values():
        assert rows == sorted(rows) or any(len(row) > 1 for row in rows), f"{title}: not in numeric order: {labels}"
    return title + " ".join("".join(text.itertext()) for text in chart.iter(SVG + "text") if text.get("class") == "dim")


def check_width(path):
    browser = shutil.which("chromium-headless-shell")
    if not browser:
        print("chromium-headless-shell is not installed: the width of the page is not measured")
        return
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "page.html")
        with open(copy, "w", encoding="utf-8") as file:
            file.write(text + "<script>document.title=innerWidth+' '+document.documentElement.scrollWidth</script>")
        made = subprocess.run([browser, "--no-sandbox", "--window-size=390,800", f"--user-data-dir={folder}", "--dump-dom", f"file://{copy}"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=120, check=True).stdout
    window, page = map(int, re.search(r"<title>(\d+) (\d+)</title>", made).groups())
    assert page <= window == 390, f"the page is {page} pixels wide in a window of {window}"


def main():
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert not re.search(r'<script|<link|src="(?!data:)|href=|url\(|@import', text), "the page loads other files"
    assert "not checked" not in text.lower()
    titles = [check_chart(xml.etree.ElementTree.fromstring(chart)) for chart in re.findall(r"<svg.*?</svg>", text, re.S)]
    assert len(titles) == len(set(titles)), f"titles are repeated: {titles}"
    check_width(path)


main()
