"""Support profiles of checker/targets: the data and their YAML form (docs/targets.md describes it)."""
import dataclasses
import json
import re

FORMAT = 1
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.()]*|-?[0-9]+")
# Words that a YAML 1.1 reader takes for something else than a string.
RESERVED = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


@dataclasses.dataclass
class Entry:
    """What a target does with some versions of one operator. The fields are those of the YAML form."""

    since: list = dataclasses.field(default_factory=list)
    status: str = "runs"
    why: str = ""
    types: dict = dataclasses.field(default_factory=dict)
    loads: dict = dataclasses.field(default_factory=dict)
    refused: dict = dataclasses.field(default_factory=dict)
    when: list = dataclasses.field(default_factory=list)

    def body(self):
        """All but `since`, comparable: entries that differ in `since` only are written as one."""
        return self.fields()[1:] if self.since else self.fields()

    def fields(self):
        pairs = [
            ("since", self.since),
            ("status", "" if self.status == "runs" else self.status),
            ("why", self.why),
            ("types", self.types),
            ("loads", self.loads),
            ("refused", self.refused),
            ("when", self.when),
        ]
        return [(key, value) for key, value in pairs if value]


def merged(entries):
    """Entries of one operator, those that say the same of several versions joined, oldest first."""
    result = []
    for entry in sorted(entries, key=lambda e: e.since):
        twin = next((other for other in result if entry.since and other.since and other.body() == entry.body()), None)
        if twin:
            twin.since = sorted(twin.since + entry.since)
        else:
            result.append(dataclasses.replace(entry))
    return result


def flow(value):
    """YAML flow form of a value: words stay bare, everything else is quoted as JSON does."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow(v) for v in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if PLAIN.fullmatch(value) and value.lower() not in RESERVED and not value.lstrip("-").isdigit():
        return value
    return json.dumps(value, ensure_ascii=False)


def render(head, operators, written_by):
    """The YAML text: `head` is an ordered dict of the leading keys, `operators` maps domain to {name: [Entry]}."""
    lines = [f"# Support profile; docs/targets.md describes the format. {written_by}", f"format: {FORMAT}"]
    lines += [f"{key}: {flow(value)}" for key, value in head.items() if key != "limits"]
    if head.get("limits"):
        lines.append("limits:")
        lines += [f"  {key}: {flow(value)}" for key, value in head["limits"].items()]
    lines.append("operators:")
    for domain in sorted(operators):
        lines.append(f"  {domain or 'ai.onnx'}:")
        for name in sorted(operators[domain]):
            lines.append(f"    {name}:")
            for entry in merged(operators[domain][name]):
                lines.append("    - {" + ", ".join(f"{key}: {flow(value)}" for key, value in entry.fields()) + "}")
    return "\n".join(lines) + "\n"
