#!/usr/bin/env python3
"""Checks the reports of bench that report_samples makes: text, Markdown and CSV against testdata/report/bench, JSON against its schema, pages and traces.

    bench_page.py --program build/release/bin/report_samples [--rebase]

A page must be sound, hold the same data as the JSON and show what the tables in text have; what is read back from JSON gives the same JSON; a trace is one of complete events, those of
a thread behind each other or one within another, as Perfetto asks. Where node is installed the script of the page runs on stand-ins for the document.
"""
import argparse
import difflib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import jsonschema

import soundness

ROOT = pathlib.Path(__file__).resolve().parents[2]
# As much of a document as the script needs; nothing is drawn, since nothing has a width.
STAND_IN = """
const made = [];
class Element {
  constructor(tag) { Object.assign(this, {tag, children: [], attributes: {}, style: {}, dataset: {}, text: ""}); made.push(this); }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  addEventListener() {}
  get childElementCount() { return this.children.filter(child => child instanceof Element).length; }
  get firstChild() { return this.children[0]; }
  get textContent() { return this.text + this.children.map(child => child instanceof Element ? child.textContent : child).join(""); }
}
const report = new Element("main"), held = new Element("script");
held.text = DATA;
globalThis.document = {documentElement: {}, createElement: tag => new Element(tag), createElementNS: (_, tag) => new Element(tag), getElementById: id => id === "data" ? held : report, querySelectorAll: () => []};
globalThis.ResizeObserver = class { observe() {} };
globalThis.addEventListener = () => {};
"""
ASK = """
const holds = (outer, inner) => outer.children.some(child => child === inner || (child instanceof Element && holds(child, inner)));
made.filter(element => element.fill).forEach(element => element.fill());
console.log(JSON.stringify({text: report.textContent, thinned: thinned(d3.range(400 * 21).map(i => i % 21)), figures: made.filter(element => element.tag === "figure").length,
  heads: made.filter(element => element.tag === "h2").map(element => element.textContent),
  tables: made.filter(element => element.tag === "table").map(table => made.filter(element => element.tag === "tr" && holds(table, element)).map(row => row.children.map(cell => cell.textContent)))}));
"""


def faults_of_page(text, report, markdown):
    held, page, faults = soundness.opened(text)
    yield from faults
    if held is not None and held != report:
        yield "data and JSON differ"
    if held is not None:
        yield from faults_of_script(page, held, markdown)
    if held is not None and len(held["benchmarks"]) == 3:
        yield from faults_of_cuts(page, held)


def tables_in(markdown):
    """Of the tables of a report in Markdown the rows, titles first."""
    tables, before = [], ""
    for line in markdown.splitlines():
        if line.startswith("|") and not line.startswith("|---"):
            if not before.startswith("|"):
                tables.append([])
            tables[-1].append([cell.strip() for cell in line.strip("|").split(" | ")])
        before = line
    return tables


def plain(cell):
    """What a cell of the page says, as text has it."""
    for sign, by in (("µs", "us"), ("×", "x"), ("–", "-"), ("−", "-"), (" %", "%"), ("± ", "±")):
        cell = cell.replace(sign, by)
    cell = cell.lstrip("✓✕? ")
    return "0 us" if cell == "0" else cell


def faults_of_tables(markdown, shown):
    """Every table of times, operators and steps is on the page, with the same figures."""
    for key in ("median", "share", "could be"):
        ours = [table for table in tables_in(markdown) if key in table[0]]
        theirs = [table for table in shown if key in table[0]]
        if len(ours) != len(theirs):
            yield f"{len(theirs)} tables with the column {key!r} instead of {len(ours)}"
            continue
        for (titles, *rows), (names, *cells) in zip(ours, theirs):
            names = ["backend" if name == "side" else name for name in names]
            columns = [title for title in titles if title != "step"]
            if missing := set(columns) - set(names):
                yield f"the page has no column {sorted(missing)}"
                continue
            for row, found in zip(rows, cells):
                said, seen = dict(zip(titles, row)), dict(zip(names, map(plain, found)))
                if len(found) == len(names) and any(said[title] != seen[title] for title in columns):
                    yield f"a row of the page is {[seen[title] for title in columns]} instead of {[said[title] for title in columns]}"
            if len(cells) < len(rows):
                yield f"{len(cells)} rows with {key!r} instead of {len(rows)}"


def drawn(page, held):
    """What the page's script makes of data: (what is shown, fault), both empty without node."""
    node = shutil.which("node") or shutil.which("nodejs")
    if not node:
        return None, None
    d3 = next(script[2] for script in page.scripts if script[0] == "")
    body = STAND_IN.replace("DATA", json.dumps(json.dumps(held))) + d3 + soundness.own_script(page) + ASK
    script = f"globalThis.self = globalThis;\n(function (exports, module, require) {{\n{body}\n}}).call(globalThis);"
    run = subprocess.run([node, "-"], input=script, capture_output=True, text=True)
    if run.returncode:
        return None, "the script fails: " + " ".join(line for line in run.stderr.splitlines() if "Error" in line)[:300]
    return json.loads(run.stdout), None


def faults_of_cuts(page, held):
    """Where a table has not all sides, it says so."""
    first = held["benchmarks"][0]
    shown, fault = drawn(page, {**held, "benchmarks": [{**first, "model": f"m{i}", "sides": first["sides"][:1]} for i in range(203)]})
    if fault or shown and "and 3 others" not in shown["text"]:
        yield fault or "the page does not say that a table is cut"


def faults_of_changes(held, shown):
    """The comparison with an earlier report is on the page."""
    comparison = held.get("comparison")
    table = [rows for rows in shown["tables"] if rows[0] == ["measurement", "before", "after", "change"]]
    if len(table) != (comparison is not None) or comparison and len(table[0]) != 1 + len(comparison["changes"]):
        yield "the page does not compare with the earlier report, or without one"
    for words in comparison and comparison["only_before"] + comparison["only_after"] + comparison["disturbances"] or []:
        if words not in shown["text"]:
            yield f"the page does not say {words!r}"


def faults_of_script(page, held, markdown):
    """The script runs, and shows every side and model."""
    shown, fault = drawn(page, held)
    if fault:
        yield fault
    if not shown:
        return
    yield from faults_of_changes(held, shown)
    for cancelled, words in ((False, "failed"), (True, "not made")):
        count = sum("failure" in one and one["cancelled"] == cancelled for one in held["benchmarks"])
        if count and f"; {count} measurement{'s' if count > 1 else ''} {words}" not in shown["text"]:
            yield f"the title does not say that {count} were {words}"
    # Rounds of 21 runs, from the fastest to the slowest: what is drawn of them has to be spread as they are.
    if not 9.5 < sum(shown["thinned"]) / len(shown["thinned"]) < 10.5 or {0, 20} - set(shown["thinned"]):
        yield "samples are thinned out to some ranks of their rounds"
    for benchmark in held["benchmarks"]:
        for side in benchmark["sides"]:
            if side["label"].isalpha() and side["label"] not in shown["text"]:
                yield f"the page does not show {side['label']}"
            for step in side.get("profile", {}).get("steps", []):
                can_win = step["seconds"] > (step["floor"] or 0)
                if step["name"].isalnum() and can_win and step["name"] not in shown["text"]:
                    yield f"the page does not show the step {step['name']}"
    hostile = "</script>" in markdown or "script\\>" in markdown or "window.hit" in markdown
    yield from [] if hostile else faults_of_tables(markdown, shown["tables"])
    for line in markdown.splitlines():
        if not hostile and line.startswith("- ") and (": warming up ended" in line or "warning: " in line) and line[2:] not in shown["text"]:
            yield f"the page does not say {line[2:]!r}"
    settings = {(one["model"], one["batch"], one["threads"]) for one in held["benchmarks"]}
    if len(set(shown["heads"])) < len(settings):
        yield f"headings {shown['heads']} do not tell {len(settings)} measurements apart"
    for side in (side for benchmark in held["benchmarks"] for side in benchmark["sides"] if "profile" in side and "wall" in side):
        if (side["profile"]["seconds"] > 1.5 * side["wall"]["median"]) != ("the shares are those of profiled runs" in shown["text"]):
            yield "what a profiled run takes beside a measured one is not told, or where there is no reason to"
    if not shown["figures"] and any("wall" in side for benchmark in held["benchmarks"] for side in benchmark["sides"]):
        yield "the page has no figure"


def faults_of_trace(trace, report):
    events = trace["traceEvents"]
    steps = [event for event in events if event["ph"] == "X"]
    expected = sum(len(side["profile"]["steps"]) for one in report["benchmarks"] for side in one["sides"] if "profile" in side)
    if len(steps) != expected:
        yield f"{len(steps)} events of {expected} steps"
    if set(event["ph"] for event in events) - {"X", "M"}:
        yield "events of an unknown kind"
    tracks = {}
    for event in steps:
        if not all(isinstance(event[key], (int, float)) for key in ("ts", "dur", "pid", "tid")):
            yield "an event without time or place"
        start = round(1000 * event["ts"])  # in the whole nanoseconds that Perfetto counts
        tracks.setdefault((event["pid"], event["tid"]), []).append((start, -start - round(1000 * event["dur"])))
    for spans in tracks.values():
        ends = []  # of those that hold what comes next
        for start, end in sorted(spans):
            while ends and ends[-1] <= start:
                ends.pop()
            if ends and -end > ends[-1]:
                yield f"events of one thread overlap, and none of them holds the other, at {start} ns"
            ends.append(-end)
    for process in {event["pid"] for event in steps}:
        if not any(event["name"] == "process_name" and event["pid"] == process for event in events):
            yield "a process without a name"


def check_text(name, text, rebase):
    path = ROOT / "testdata/report/bench" / name
    if any(ord(letter) < 32 and letter != "\n" for letter in text):
        yield "the text holds control characters"
    if rebase:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return
    expected = path.read_text() if path.is_file() else ""
    if text != expected:
        yield "".join(difflib.unified_diff(expected.splitlines(True), text.splitlines(True), str(path), "found"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--rebase", action="store_true", help="write the texts that were found into testdata/report/bench")
    options = parser.parse_args()
    schema = json.loads((ROOT / "docs/json/bench.schema.json").read_text())
    holds = jsonschema.validators.validator_for(schema)(schema)
    good = bad = 0
    with tempfile.TemporaryDirectory(prefix="onnxkit-report-") as name:
        subprocess.run([options.program.resolve(), name], check=True)
        for path in sorted((pathlib.Path(name) / "bench").glob("*.json")):
            report = json.loads(path.read_text())
            faults = [f"JSON: {fault.json_path}: {fault.message[:300]}" for fault in holds.iter_errors(report)]
            if path.with_suffix(".again").read_text() != path.read_text() and path.stem not in ("disturbed", "nothing", "hostile", "failures", "compared"):
                faults.append("what is read back differs")
            if json.loads(path.with_suffix(".again").read_text())["format"] != report["format"]:
                faults.append("it cannot be read back")
            for suffix in (".txt", ".markdown", ".csv"):
                faults += [f"{suffix}: {fault}" for fault in check_text(path.stem + suffix, path.with_suffix(suffix).read_bytes().decode(errors="backslashreplace"), options.rebase)]
            faults += [f"page: {fault}" for fault in faults_of_page(path.with_suffix(".html").read_text(), report, path.with_suffix(".markdown").read_text())]
            faults += [f"trace: {fault}" for fault in faults_of_trace(json.loads(path.with_suffix(".trace").read_text()), report)]
            good, bad = (good, bad + 1) if faults else (good + 1, bad)
            for fault in faults[:5]:
                print(f"{path.stem}: {fault}")
    if not (shutil.which("node") or shutil.which("nodejs")):
        print("skipped: running the script of the page needs node")
    print(f"{good} passed, {bad} failed")
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main())
