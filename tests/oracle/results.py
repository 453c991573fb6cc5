"""One page per measurement in docs/results, each rewritten by the script that measures it; docs/results.md lists them."""
import pathlib
import textwrap

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs/results"


def table(header, rows):
    lines = ["| " + " | ".join(map(str, header)) + " |", "|" + " --- |" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def write_page(name, title, body):
    FOLDER.mkdir(exist_ok=True)
    text = "\n".join(line if line.startswith("|") else textwrap.fill(line, 120) for line in body.strip().splitlines())
    (FOLDER / f"{name}.md").write_text(f"# {title}\n\n{text}\n")
