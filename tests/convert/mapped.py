"""Each operator that a mapping of TensorFlow or TensorFlow Lite reads stands in a case of testdata.

    tests/convert/mapped.py

The operators are those of the generated tables in docs/formats. Needs no packages.
"""
import pathlib
import re
import struct
import sys

#: The same row of a mapping: a form with state, which TensorFlow writes only where a body has state of its own.
TWINS = {"Case": "StatelessCase", "If": "StatelessIf", "While": "StatelessWhile"}


def table(page):
    text = pathlib.Path(page).read_text()
    return set(re.findall(r"`(\w+)`", text.split("<!-- operators -->")[1].split("<!-- end of operators -->")[0]))


def field(data, table_at, slot):
    """Where a field of a flatbuffer table is; None where it has its default."""
    entries = table_at - struct.unpack_from("<i", data, table_at)[0]
    if 4 + 2 * slot >= struct.unpack_from("<H", data, entries)[0]:
        return None
    offset = struct.unpack_from("<H", data, entries + 4 + 2 * slot)[0]
    return table_at + offset if offset else None


def follow(data, at):
    return at + struct.unpack_from("<I", data, at)[0]


def codes_of(data):
    codes = follow(data, field(data, follow(data, 0), 1))
    for i in range(struct.unpack_from("<I", data, codes)[0]):
        code = follow(data, codes + 4 + 4 * i)
        old, new = field(data, code, 0), field(data, code, 3)
        yield max(struct.unpack_from("<b", data, old)[0] if old else 0, struct.unpack_from("<i", data, new)[0] if new else 0)


def tflite_cases():
    schema = pathlib.Path("converters/formats/tflite/tflite.fbs").read_text()
    names = re.findall(r"\w+", re.sub(r"//.*", "", re.search(r"enum BuiltinOperator : int \{(.*?)\}", schema, re.S)[1]))
    return {names[code] for path in pathlib.Path("testdata/tflite").glob("*.tflite") for code in codes_of(path.read_bytes())}


def tensorflow_cases(operators):
    """A NodeDef has the operator as field 2, text."""
    content = b"".join(path.read_bytes() for path in pathlib.Path("testdata/tensorflow").rglob("*") if path.is_file())
    return {name for name in operators if b"\x12" + bytes([len(name)]) + name.encode() in content}


def main():
    faults = 0
    for page, cases in {"tflite": lambda operators: tflite_cases(), "saved_model": tensorflow_cases}.items():
        operators = table(f"docs/formats/{page}.md")
        found = cases(operators | set(TWINS.values()))
        missing = sorted(name for name in operators if name not in found and TWINS.get(name) not in found)
        print(f"{page}: {len(operators)} operators are read, {len(operators) - len(missing)} have a case" + "".join(f"\n  without: {name}" for name in missing))
        faults += len(missing) + (not operators)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
