"""Recorded requests and answers of each adapter (testdata/workers/fixtures/NAME.json): a list of exchanges, bytes in base64, paths within
the repository. tests/workers/replay.py answers from them where the runtime is missing."""
import base64
import json
import os
import pathlib

import recorded
from host import Answer, Host, Segment, unpack

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "testdata/workers/fixtures"
VOLATILE = {"id", "seconds", "samples", "version", "devices", "data", "segments", "trace", "opsets", "warnings"}


def path_of(name):
    return FOLDER / f"{name}.json"


def exchanges(name):
    return json.loads(path_of(name).read_text())["exchanges"]


def record(name, cases, options):
    """Runs a new worker through hello, a refusal, and load, run and unload of each case."""
    done = []
    with Host(ROOT / "tools/workers" / f"{name}.py") as host:
        def ask(op, inputs=None, **fields):
            segment = Segment()
            if inputs is not None:
                fields["inputs"] = [{"name": key} | segment.pack(value) for key, value in inputs.items()]
            done.append(send(host, {"op": op, "fields": fields, "segment": base64.b64encode(segment.data).decode()}))
            return done[-1]["answer"]

        ask("hello", protocol=1)
        for case in cases:
            fields = {"path": str(case.path.relative_to(ROOT)), "format": case.format, "options": options}
            ask("load", **fields | {"options": {"no such": "1"}})
            model = ask("load", **fields)
            for _, inputs, _ in case.runs(model["inputs"]):
                ask("run", inputs=inputs, model=model["model"], outputs=None, repeat=1, warmup=0)
                break
            ask("unload", model=model["model"])
        ask("quit")
    FOLDER.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(exchange) for exchange in done)
    path_of(name).write_text(f'{{"exchanges": [\n{lines}\n]}}\n')


def send(host, exchange):
    """The exchange with the answer that came."""
    fields = dict(exchange["fields"])
    if exchange["op"] == "load":
        fields["path"] = str(ROOT / fields["path"])
    segment = Segment()
    segment.data += base64.b64decode(exchange["segment"])
    descriptor = segment.descriptor()
    try:
        answer = host.request(exchange["op"], segment=descriptor, **fields)
    except Answer as error:
        answer = error.answer
    finally:
        if descriptor is not None:
            os.close(descriptor)
    data = [base64.b64encode(part).decode() for part in answer.pop("data", [])]
    return exchange | {"answer": without_root(answer), "data": data}


def without_root(answer):
    return json.loads(json.dumps(answer).replace(f"{ROOT}/", ""))


def steady(value):
    """Without what differs from run to run, and from one version of a runtime to the next."""
    if isinstance(value, dict):
        return {key: steady(part) for key, part in value.items() if key not in VOLATILE}
    return [steady(part) for part in value] if isinstance(value, list) else value


def check(host, name):
    """(request, fault) for each exchange, repeated on a worker that was not used before."""
    for place, exchange in enumerate(exchanges(name)):
        again = send(host, exchange)
        yield f"{place} {exchange['op']}", difference(again, exchange)


def difference(got, want):
    answer, expected = got["answer"], want["answer"]
    if answer["ok"] != expected["ok"]:
        return f"{answer}"
    if want["op"] == "hello":
        lost = [key for key in expected["options"] if key not in answer["options"]]
        return f"options {', '.join(lost)} are gone" if lost else ""
    if not answer["ok"]:
        return "" if answer["error"]["kind"] == expected["error"]["kind"] else f"{answer['error']}"
    if want["op"] != "run":
        return "" if steady(answer) == steady(expected) else f"{steady(answer)} instead of {steady(expected)}"
    sides = [[(output["name"], unpack(output, [base64.b64decode(part) for part in side["data"]])) for output in side["answer"]["outputs"]]
             for side in (got, want)]
    if [name for name, _ in sides[0]] != [name for name, _ in sides[1]]:
        return f"outputs {[name for name, _ in sides[0]]}"
    faults = [recorded.difference(a, b, 1e-4, 1e-4, name) for (name, a), (_, b) in zip(*sides)]
    return next(filter(None, faults), "")
