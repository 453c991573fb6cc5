"""What the nodes of recorded cases state: attributes and arguments with their values, by operator."""
import collections
import fnmatch
import json
import pathlib
import re
import struct
import zipfile

from mapped import field, follow
from sources import GIVEN, OMITTED

DATA = pathlib.Path("testdata")
OFFICIAL = DATA / "written/official_values.json"


class Cases:
    """By operator: what nodes of cases state, each as {attribute: value}."""

    def __init__(self):
        self.nodes = collections.defaultdict(list)

    def add(self, operator, stated):
        if stated not in self.nodes[operator]:
            self.nodes[operator].append(stated)

    def have(self, operator, attribute, value, default):
        return any(self.states(stated, attribute, value, default) for stated in self.nodes[operator])

    @staticmethod
    def states(stated, attribute, value, default):
        given = [text_of(stated[name]) for name in stated if fnmatch.fnmatch(name, attribute) and stated[name] is not None]
        if value in (GIVEN, OMITTED):
            return bool(given) == (value == GIVEN)
        words = given or [str(default)]
        unlike = value.removeprefix("not ")
        return any(fnmatch.fnmatch(word, unlike) == (unlike == value) for word in words)


def text_of(value):
    return str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else f"{value:g}" if isinstance(value, (int, float)) else str(value)


# ---- programs of PyTorch

def torch_nodes(part, cases):
    if isinstance(part, list):
        for item in part:
            torch_nodes(item, cases)
    elif isinstance(part, dict):
        if isinstance(part.get("target"), str) and "inputs" in part:
            stated = {}
            for argument in part["inputs"]:
                kind, value = next(iter(argument["arg"].items()))
                stated[argument["name"]] = None if kind == "as_none" else value
            name = part["target"].removeprefix("torch.ops.")
            for operator in {name, re.sub(r"_[.]", ".", name)}:  # writes become values first
                cases.add(operator, stated)
        for item in part.values():
            torch_nodes(item, cases)


def torch_cases():
    cases = Cases()
    for path in sorted(path for path in DATA.glob("torch/**/*.pt2") if path.parent.name != "refused"):
        with zipfile.ZipFile(path) as archive:
            for entry in archive.namelist():
                if "/models/" in entry and entry.endswith(".json"):
                    torch_nodes(json.loads(archive.read(entry)), cases)
    return cases


def torch_schemas():
    """By operator: {argument: (type, default)}."""
    text = pathlib.Path("converters/formats/torchscript/schemas.cpp").read_text()
    schemas = {}
    for name, arguments in re.findall(r'"(\w+\.\w+)\((.*?)\)[^"]*"', text):
        words = [re.match(r"(\w+):([^=]*)(?:=(.*))?$", word) for word in re.split(r",(?![^\[]*\])", arguments)]
        schemas["aten." + name] = {word[1]: (word[2], word[3]) for word in words if word}
    return schemas


# ---- graphs of TensorFlow: fields of protobuf messages

def fields(data):
    at, end = 0, len(data)

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < end:
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or number()
        yield key >> 3, data[at:at + size]
        at += size


def tensorflow_value(data):
    kind, value = next(iter(fields(data)), (0, b""))
    if kind == 1:
        numbers = [number for _, number in fields(value)]
        return [list(number) if isinstance(number, bytes) else number for number in numbers]
    return value.decode(errors="replace") if kind == 2 else value - (value >> 63 << 64) if kind == 3 else struct.unpack("<f", value)[0] if kind == 4 \
        else bool(value) if kind == 5 else value if kind == 6 else GIVEN


def tensorflow_nodes(graph, cases):
    for kind, part in fields(graph):
        if kind == 2:  # the functions
            for _, function in fields(part):
                for number, node in fields(function):
                    if number == 3:
                        tensorflow_node(node, cases)
        elif kind == 1:
            tensorflow_node(part, cases)


def tensorflow_node(node, cases):
    operator, stated = "", {}
    for kind, part in fields(node):
        if kind == 2:
            operator = part.decode()
        elif kind == 5:
            entry = dict(fields(part))
            stated[entry[1].decode()] = tensorflow_value(entry.get(2, b""))
    cases.add(operator, stated)


def tensorflow_cases():
    cases = Cases()
    for path in sorted(DATA.glob("tensorflow/*.pb")):
        tensorflow_nodes(path.read_bytes(), cases)
    for path in sorted(DATA.glob("tensorflow/*/saved_model.pb")):
        for kind, meta in fields(path.read_bytes()):
            for number, graph in fields(meta) if kind == 2 else ():
                if number == 2:
                    tensorflow_nodes(graph, cases)
    return cases


# ---- files of TensorFlow Lite

def tflite_schema():
    schema = re.sub(r"//.*", "", pathlib.Path("converters/formats/tflite/tflite.fbs").read_text())
    operators = re.findall(r"\w+", re.search(r"enum BuiltinOperator : int \{(.*?)\}", schema, re.S)[1])
    tables = {name: re.findall(r"(\w+):(\[?\w+\]?)(?: = (\w+))?", body) for name, body in re.findall(r"table (\w+) \{(.*?)\}", schema, re.S)}
    unions = {int(number): name for name, number in re.findall(r"(\w+) = (\d+)", re.search(r"union BuiltinOptions \{(.*?)\}", schema, re.S)[1])}
    return operators, tables, unions


def tflite_options(data, table, rows):
    stated = {}
    for slot, (name, kind, default) in enumerate(rows):
        at = field(data, table, slot)
        if kind.startswith("[") or kind == "string":
            stated[name] = at and GIVEN
        else:
            form = {"byte": "<b", "bool": "<?", "int": "<i", "float": "<f"}[kind]
            absent = default == "true" if kind == "bool" else int(default or 0)
            stated[name] = struct.unpack_from(form, data, at)[0] if at else absent
    return stated


def elements(data, at):
    vector = follow(data, at)
    return [vector + 4 + 4 * i for i in range(struct.unpack_from("<I", data, vector)[0])]


def tflite_cases():
    cases, (operators, tables, unions) = Cases(), tflite_schema()
    for path in sorted(DATA.glob("tflite/*.tflite")):
        data = path.read_bytes()
        model, codes = follow(data, 0), []
        for at in elements(data, field(data, model, 1)):
            old, new = field(data, follow(data, at), 0), field(data, follow(data, at), 3)
            codes.append(max(struct.unpack_from("<b", data, old)[0] if old else 0, struct.unpack_from("<i", data, new)[0] if new else 0))
        for graph in elements(data, field(data, model, 2)):
            for at in elements(data, field(data, follow(data, graph), 3)):
                node = follow(data, at)
                which, kind, options = (field(data, node, slot) for slot in (0, 3, 4))
                name = unions.get(data[kind] if kind else 0)
                stated = tflite_options(data, follow(data, options), tables[name]) if options and name else {}
                cases.add(operators[codes[struct.unpack_from("<I", data, which)[0] if which else 0]], stated)
    return cases


# ---- models of ONNX, which are written

def write_official(folder):
    import onnx
    values = collections.defaultdict(list)
    for path in sorted(folder.glob("*/*/model.onnx")):
        if path.parent.parent.name == "real":
            continue
        for node in onnx.load(path).graph.node:
            stated = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            stated = {name: value.decode(errors="replace") if isinstance(value, bytes) else value if isinstance(value, (int, float)) else GIVEN for name, value in stated.items()}
            if stated not in values[node.op_type]:
                values[node.op_type].append(stated)
    OFFICIAL.write_text("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(values[name])}" for name in sorted(values)) + "\n}\n")


def written_cases():
    cases = Cases()
    for operator, nodes in json.loads(OFFICIAL.read_text()).items():
        for stated in nodes:
            cases.add(operator, stated)
    for path in sorted(DATA.glob("written/*.onnxtxt")):
        for name, attributes in re.findall(r"= ([\w.]+) (?:<(.*?)> )?\(", path.read_text(), re.S):
            cases.add(name.replace("com.microsoft.", "com.microsoft::"), {k: v.strip('"') for k, v in re.findall(r'(\w+)(?:: \w+)? = ("[^"]*"|[-\w.]+|\[)', attributes)})
    return cases
