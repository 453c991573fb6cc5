"""What commands report. Each report has all of its JSON as `json`, whose form docs/json describes."""

import ctypes
import dataclasses
import json
import pathlib

from ._library import call, members, options_text, text_bytes


def _place(place):
    named = "".join(f" {part}" for part in (place.get("op"), place.get("node_name")) if part)
    return place.get("path", "") + named


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that is wrong with a model, or worth knowing."""

    code: str  #: stable, "shape-mismatch" ...
    severity: str  #: "error", "warning" or "info"
    message: str
    place: dict  #: path, node, node_name, op, item, item_name
    expected: str = ""
    found: str = ""
    notes: tuple = ()
    help: str = ""

    @classmethod
    def of(cls, json):
        """From its JSON."""
        parts = members(json, cls)
        return cls(**{**parts, "notes": tuple(parts.get("notes", ()))})

    def __str__(self):
        lines = [f"{self.severity}[{self.code}]: {self.message}"]
        parts = [("at", _place(self.place)), ("expected", self.expected), ("found", self.found),
                 *(("note", note) for note in self.notes), ("help", self.help)]
        lines += [f"  {label:<8} {text}" for label, text in parts if text]
        return "\n".join(lines)


class Report:
    """The report of a command about one model."""

    def __init__(self, json):
        self.json = json

    def __repr__(self):
        return f"<{type(self).__name__}: {str(self).splitlines()[0] if str(self) else 'empty'}>"


class CheckReport(Report):
    """What is wrong with a model. True when nothing is an error."""

    def __init__(self, json):
        super().__init__(json)
        self._file = json["files"][0]
        self.findings = [Finding.of(finding) for finding in self._file["findings"]]  #: most severe first

    @property
    def errors(self):
        return [finding for finding in self.findings if finding.severity == "error"]

    @property
    def warnings(self):
        return [finding for finding in self.findings if finding.severity == "warning"]

    def __bool__(self):
        return not self.errors

    def __str__(self):
        return "\n".join(map(str, self.findings)) or "no findings"


class InferReport(Report):
    """Types and shapes of all values. True when no finding is an error."""

    def __init__(self, json):
        super().__init__(json)
        self.findings = [Finding.of(finding) for finding in json["findings"]]
        #: By name: "float[N, 3, 224, 224]". Of the main graph; `json` has those of other graphs.
        self.types = {value["name"]: value["type"] for value in json["values"] if value["graph"] == "main"}

    def __bool__(self):
        return all(finding.severity != "error" for finding in self.findings)

    def __str__(self):
        return "\n".join([*map(str, self.findings), *(f"{name}: {type}" for name, type in self.types.items())])


#: Verdicts that are findings.
_WRONG = ("beyond tolerance", "not rounding", "mismatch")


class DiffReport(Report):
    """How far backends agree. True when all sides ran and no output deviates by more than rounding explains."""

    @property
    def verdict(self):
        """The worst verdict: "identical", "rounding" ..."""
        return self.json["verdict"]

    @property
    def sides(self):
        """Each side as docs/json/diff.schema.json has it."""
        return self.json["sides"]

    def __bool__(self):
        failed = any("failure" in side for side in self.sides)
        return self.json["compared"] and not self.json.get("cancelled") and not failed and self.verdict not in _WRONG

    def __str__(self):
        base = self.json["base"]
        lines = [side["summary"] for i, side in enumerate(self.sides) if i != base or "failure" in side]
        return "\n".join(line for line in lines if line)


class BenchChanges(Report):
    """What has changed from one measurement to another. True when nothing is surely slower than allowed, has failed or answers wrong."""

    def __init__(self, json, text):
        super().__init__(json)
        self._text = text

    @property
    def changes(self):
        """Each side as docs/json/bench.schema.json has it."""
        return self.json["changes"]

    def __bool__(self):
        return not any(change["too_slow"] or change["worse"] for change in self.changes)

    def __str__(self):
        return self._text


class BenchReport(Report):
    """How long models take. True when all sides ran and no output deviates by more than rounding explains."""

    @classmethod
    def read(cls, path):
        """A report that `save` or `onnxkit bench --format json` wrote."""
        return cls(json.loads(pathlib.Path(path).read_text()))

    def save(self, path):
        """Writes it as JSON, for `read`, `onnxkit bench --compare` and `--baseline`."""
        pathlib.Path(path).write_text(json.dumps(self.json))

    @property
    def sides(self):
        """Each side as docs/json/bench.schema.json has it; times are in seconds."""
        return [side for benchmark in self.json["benchmarks"] for side in benchmark["sides"]]

    @property
    def medians(self):
        """Seconds of a run by side; those that failed are left out."""
        return {side["label"]: side["wall"]["median"] for side in self.sides if "wall" in side}

    @property
    def warnings(self):
        """What disturbed the measurement."""
        return [warning for benchmark in self.json["benchmarks"] for warning in benchmark["warnings"]]

    def changes(self, before, max_slowdown=None):
        """What has changed since an earlier report; slower than `max_slowdown` (0.05) is a finding."""
        text = json.dumps(before.json)
        all_parts = json.loads(self.format("json", before=text, max_slowdown=max_slowdown))
        return BenchChanges(all_parts["comparison"], self.format("text", before=text, max_slowdown=max_slowdown))

    def format(self, form, **options):
        """As text: "text", "markdown", "csv", "html" (a page), "trace" (what Perfetto opens)."""
        report = json.dumps(self.json).encode()
        slot = ctypes.c_void_p()
        call("bench_format", report, len(report), options_text(format=form, **options), ctypes.byref(slot))
        return text_bytes(slot).decode()

    def __bool__(self):
        failed = any("failure" in part for part in [*self.json["benchmarks"], *self.sides])
        cancelled = any(benchmark["cancelled"] for benchmark in self.json["benchmarks"])
        return not failed and not cancelled and all(side.get("verdict") not in _WRONG for side in self.sides)

    def __str__(self):
        return self.format("text")
