"""Each value of an attribute that a mapping tells apart stands in a case that is judged in the framework, or in without_case.txt with a reason.

    tests/convert/values.py [--list] [--official DIR]

Values are those that the sources of the mappings read (sources.py): both of a flag, the words and numbers that an attribute is compared with, and that
an attribute is given, or left out. Reading: a program of testdata/torch, testdata/tensorflow or testdata/tflite has the value. Writing: a model of
testdata/written has it, or an official case, which scripts/convert_back, convert_to_tensorflow and convert_to_tflite run; --official writes the values
of those anew, from cases that tests/official/make_cases.py made, and needs the package onnx. --list prints what is listed, too.
"""
import argparse
import fnmatch
import pathlib
import re
import sys

from case_nodes import tensorflow_cases, tflite_cases, torch_cases, torch_schemas, write_official, written_cases
from sources import OMITTED, read_values

WITHOUT = pathlib.Path(__file__).parent / "without_case.txt"


def is_possible(folder, value, cases, schemas):
    """Whether the operator has the attribute, and may have it as it is read: functions that several operators share read more."""
    operator, attribute, word = value
    if folder == "pt2/read":
        kind, default = schemas.get(operator, {}).get(attribute, ("", None))
        return kind not in ("", "T") and (word != OMITTED or default is not None or kind.endswith("?"))
    if not folder.endswith("/read"):
        return True
    names = {name for stated in cases.nodes[operator] for name in stated}
    return any(fnmatch.fnmatch(name, attribute) for name in names) and (word != "EXPLICIT" or "explicit_paddings" in names)


def values_of(folder, cases, schemas):
    """{(operator, attribute, value): default}"""
    values = {}
    for *value, default in sorted(read_values(folder), key=str):
        if is_possible(folder, value, cases, schemas):
            _, of_schema = schemas.get(value[0], {}).get(value[1], (None, None))
            values[tuple(value)] = values.get(tuple(value)) or default or (of_schema and of_schema.lower())
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--official", type=pathlib.Path, metavar="DIR")
    options = parser.parse_args()
    if options.official:
        write_official(options.official)
    written, schemas = written_cases(), torch_schemas()
    cases = {"pt2/read": torch_cases(), "saved_model/read": tensorflow_cases(), "tflite/read": tflite_cases(), "aten/write": written,
             "saved_model/write": written, "tflite/write": written}
    reasons = [line.split(": ")[0] for line in WITHOUT.read_text().splitlines() if line and not line.startswith("#")]
    used, faults = set(), 0
    for folder, of_folder in cases.items():
        values, without = values_of(folder, of_folder, schemas), 0
        for (operator, attribute, word), default in values.items():
            name = re.sub(r"^onnxkit[.]channels_last::(.*?)(\dD)?$", r"\1", operator)
            line = f"{folder} {operator} {attribute} {word}"
            listed = {reason for reason in reasons if fnmatch.fnmatchcase(line, reason)}
            used |= listed
            has = of_folder.have(name, attribute, word, default)
            without += not has
            if has and listed:
                print(f"{line}: has a case, but stands in {WITHOUT.name} as {', '.join(listed)}")
            elif not has and not listed:
                print(f"{line}: has no case")
            elif not has and options.list:
                print(line)
            faults += has == bool(listed)
        print(f"{folder}: {len(values)} values are read, {len(values) - without} have a case")
        faults += not values
    for reason in sorted(set(reasons) - used):
        print(f"{WITHOUT.name} lists what no mapping reads: {reason}")
    return 1 if faults or set(reasons) - used else 0


if __name__ == "__main__":
    sys.exit(main())
