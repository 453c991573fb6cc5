"""Operator schemas in one form, whether they come from the onnx package, from ONNX Runtime's or from a YAML schema pack.

Used by scripts/gen_op_spec and scripts/gen_contrib_pack.
"""
import dataclasses
import pathlib
import re
import struct

import yaml

SPEC = pathlib.Path(__file__).resolve().parent.parent / "libonnxkit/spec"

ELEMENT_TYPES = ("undefined float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64 complex128 "
                 "bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1 float8e8m0 uint2 int2 "
                 "float6e2m3 float6e3m2").split()
MAP_TYPES = [("int64", "string"), ("int64", "float"), ("int64", "double"),
             ("string", "int64"), ("string", "float"), ("string", "double")]
# The members of spec::TypeSet and the types each stands for.
TYPE_FORMS = {
    "tensor": r"tensor\((\w+)\)",
    "sequence": r"seq\(tensor\((\w+)\)\)",
    "optional": r"optional\(tensor\((\w+)\)\)",
    "optional_sequence": r"optional\(seq\(tensor\((\w+)\)\)\)",
    "sparse": r"sparse_tensor\((\w+)\)",
    "map": r"map\((\w+),tensor\((\w+)\)\)",
    "sequence_map": r"seq\(map\((\w+),tensor\((\w+)\)\)\)",
}
FLAGS = ("deprecated", "experimental", "has_function_body", "non_deterministic")
NO_LIMIT = 0xffff


@dataclasses.dataclass
class Parameter:
    name: str
    type: str  # name of a type constraint, or a type such as "tensor(int64)"
    arity: str = "single"
    homogeneous: bool = True
    min_arity: int = 1


@dataclasses.dataclass
class Attribute:
    name: str
    type: str
    required: bool = False
    default: object = None  # None: no default
    values: list = dataclasses.field(default_factory=list)  # allowed strings; empty: any


@dataclasses.dataclass
class Operator:
    domain: str
    name: str
    since: int
    inputs: list
    outputs: list
    attributes: list  # sorted by name
    types: list  # (name, [type strings in the order of type_key])
    deprecated: bool = False
    experimental: bool = False
    has_function_body: bool = False
    non_deterministic: bool = False
    meaning_change: str = ""
    added_by: str = ""  # the runtime, where the domain's standard does not have this version

    def sort_key(self):
        return self.domain, self.name, self.since


def normalise_type(text):
    """One spelling of a type: older schemas write map(int64, float) for map(int64,tensor(float))."""
    text = text.replace(" ", "")
    return re.sub(r"map\((\w+),(\w+)\)", r"map(\1,tensor(\2))", text)


def type_key(text):
    """(index of the TypeSet member, bit in it) of a normalised type string."""
    for index, (form, pattern) in enumerate(TYPE_FORMS.items()):
        match = re.fullmatch(pattern, text)
        if match:
            return index, MAP_TYPES.index(match.groups()) if form.endswith("map") else ELEMENT_TYPES.index(match.group(1))
    raise ValueError(f"a type that spec::TypeSet cannot hold: {text}")


def sorted_types(types):
    return sorted({normalise_type(text) for text in types}, key=type_key)


def shortest_float(value):
    """The shortest decimal that reads back as the same 32-bit float, with a point in it (YAML 1.1 wants one)."""
    single = struct.unpack("f", struct.pack("f", value))[0]
    text = next(f"{single:.{digits}g}" for digits in range(1, 18)
                if struct.unpack("f", struct.pack("f", float(f"{single:.{digits}g}")))[0] == single)
    mantissa, e, exponent = text.partition("e")
    return text if "." in mantissa else f"{mantissa}.0{e}{exponent}"


def actual_counts(parameters):
    """Least and greatest number of inputs (or outputs) that a list of formal parameters takes."""
    least = most = 0
    for parameter in parameters:
        if parameter.arity == "variadic":
            return most + parameter.min_arity, NO_LIMIT
        most += 1
        if parameter.arity == "single":
            least = most
    return least, most


class StringEnums:
    """string_enums.yaml: which values a string attribute may take."""

    def __init__(self, path=SPEC / "string_enums.yaml"):
        self.entries = {}  # (domain, operator, attribute) -> [[first, last, values or "any", used]]
        for entry in yaml.safe_load(path.read_text()):
            for operator in entry["operators"]:
                match = re.fullmatch(r"(\w+)(?: (\d*)\.\.(\d*))?", operator)
                first, last = int(match.group(2) or 0), int(match.group(3) or 1 << 30)
                key = entry.get("domain", ""), match.group(1), entry["attribute"]
                self.entries.setdefault(key, []).append([first, last, entry["values"], False])

    def values(self, domain, operator, since, attribute, default):
        """Allowed values of a string attribute, [] when it is free text; an error when the file does not answer."""
        where = f"{domain or 'ai.onnx'}::{operator}-{since} attribute {attribute}"
        found = [e for e in self.entries.get((domain, operator, attribute), []) if e[0] <= since <= e[1]]
        if len(found) != 1:
            raise SystemExit(f"string_enums.yaml: {len(found)} entries for {where}, want one")
        found[0][3] = True
        values = [] if found[0][2] == "any" else found[0][2]
        for value in [] if default is None else [default] if isinstance(default, str) else default:
            if values and value not in values:
                raise SystemExit(f"string_enums.yaml: {where} has the default {value!r}, which is not among its values")
        return values

    def unused(self, domains):
        """Entries of these domains that met no attribute: leftovers or misspelt."""
        return [f"{domain or 'ai.onnx'}::{operator} attribute {attribute}"
                for (domain, operator, attribute), entries in self.entries.items()
                if domain in domains and not all(entry[3] for entry in entries)]


def add_meaning_changes(operators, path=SPEC / "meaning_changes.yaml"):
    """Notes of meaning_changes.yaml, put on the operators of the default domain that they name."""
    by_version = {f"{op.name} {op.since}": op for op in operators if not op.domain}
    for entry in yaml.safe_load(path.read_text()):
        for version in entry["operators"]:
            if version not in by_version:
                raise SystemExit(f"meaning_changes.yaml: there is no {version}")
            op = by_version[version]
            op.meaning_change += ("; " if op.meaning_change else "") + entry["change"]


def read_pack(path):
    """The operators of a YAML schema pack (see docs/schemas.md). The pack is ours, so its form is taken on trust."""
    pack = yaml.safe_load(path.read_text())
    domain = "" if pack["domain"] == "ai.onnx" else pack["domain"]

    def parameter(entry):
        arity = "optional" if entry.get("optional") else "variadic" if "variadic" in entry else "single"
        return Parameter(entry["name"], normalise_type(entry["type"]), arity, not entry.get("heterogeneous", False),
                         entry.get("variadic", 1))

    def attribute(name, entry):
        return Attribute(name, entry["type"], entry.get("required", False), entry.get("default"), entry.get("values", []))

    def operator(entry):
        parameters = {side: [parameter(p) for p in entry.get(side, [])] for side in ("inputs", "outputs")}
        types = [(name, sorted_types(types)) for name, types in entry.get("types", {}).items()]
        return Operator(domain, entry["name"], entry.get("since_version", 1), parameters["inputs"], parameters["outputs"],
                        [attribute(name, a) for name, a in sorted(entry.get("attributes", {}).items())],
                        with_inline_types(types, parameters["inputs"] + parameters["outputs"]),
                        **{flag: entry.get(flag, False) for flag in FLAGS}, meaning_change=entry.get("meaning_change", ""))

    return sorted((operator(entry) for entry in pack["operators"]), key=Operator.sort_key)


def with_inline_types(types, parameters):
    """The constraints, with one more for each type that a parameter states itself."""
    names = [name for name, _ in types]
    inline = dict.fromkeys(p.type for p in parameters if p.type not in names)
    return types + [(name, [name]) for name in inline]
