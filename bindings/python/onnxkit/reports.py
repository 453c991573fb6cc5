"""What commands report. Each report has all of its JSON as `json`, whose form docs/json describes."""

import dataclasses

from ._library import members


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


class DiffReport(Report):
    """How far backends agree. True when all sides ran and no output deviates by more than rounding explains."""

    #: Verdicts that are findings.
    WRONG = ("beyond", "not rounding", "mismatch")

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
        return self.json["compared"] and not self.json.get("cancelled") and not failed and self.verdict not in self.WRONG

    def __str__(self):
        base = self.json["base"]
        lines = [side["summary"] for i, side in enumerate(self.sides) if i != base or "failure" in side]
        return "\n".join(line for line in lines if line)
