"""One section per measurement in docs/results.md, each rewritten by the script that measures it."""
import pathlib
import re

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "docs/results.md"
INTRODUCTION = "# Measured results\n\nEach section is written by the script that it names; rerun it to renew the section.\n"


def table(header, rows):
    lines = ["| " + " | ".join(map(str, header)) + " |", "|" + " --- |" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def write_section(title, body):
    text = RESULTS.read_text() if RESULTS.is_file() else INTRODUCTION
    section = f"## {title}\n\n{body.strip()}\n"
    pattern = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.M | re.S)
    text = pattern.sub(lambda _: section + "\n", text) if pattern.search(text) else f"{text.rstrip()}\n\n{section}"
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text.rstrip() + "\n")
