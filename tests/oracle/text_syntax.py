#!/usr/bin/env python3
"""Holds the text syntax against the official parser and printer, on every model below the folders given.

    text_syntax.py --program build/release/bin/onnxkit build/official testdata/models

1. model.onnx -> text -> model.onnx gives an equal message.
2. The official parser takes the text, and what it makes of it is the model, but for what it knows no syntax for and may skip.
   A text that it refuses must hold an extension block or literal that has to be understood.
3. What the official printer prints and the official parser reads, ours reads as the same message.
Writes docs/results/text-syntax.md; exits with 1 when one of them fails.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx
from onnx import numpy_helper, parser, printer

from results import table, write_page

# Of any message but ModelProto: what a `#@{...}` comment holds.
SKIPPABLE = {"doc_string", "metadata_props", "denotation", "quantization_annotation", "device_configurations", "configuration"}
# Where the official syntax ends: blocks, literals and names that only our parser takes.
BEYOND = re.compile(r'(?<!#)@[{0-9?(-]|sparse_tensor\[|nan\(0x|\b[ex]"|"\.|"\s*[:=]|\.\s*"|= \?|: "')


def fields(message):
    return [(field, value) for field, value in message.ListFields()]


def without_empty_strings(message):
    for field, value in fields(message):
        if field.type == field.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                without_empty_strings(inner)
        elif field.type in (field.TYPE_STRING, field.TYPE_BYTES) and not field.is_repeated and not value:
            message.ClearField(field.name)
    return message


def essence(message, inside=""):
    """The message without what the official parser may lose: tensors by value, no names of constants, no skippable fields."""
    kind = message.DESCRIPTOR.name
    if kind == "TensorProto":
        if message.data_type != onnx.TensorProto.STRING and not message.external_data:
            data = numpy_helper.to_array(message).tobytes()
            for field in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
                message.ClearField(field)
            message.raw_data = data
        if not message.data_location:
            message.ClearField("data_location")
        if inside == "AttributeProto":
            message.ClearField("name")
    if kind == "AttributeProto" and not message.ref_attr_name:
        message.ClearField("type")
    for field, value in fields(message):
        kept_doc = field.name in ("doc_string", "metadata_props") and kind == "ModelProto" or kind == "FunctionProto" and field.name == "doc_string"
        if field.name in SKIPPABLE and not kept_doc:
            message.ClearField(field.name)
        elif field.type == field.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                essence(inner, kind)
    return message


def copy_of(model):
    copy = type(model)()
    copy.CopyFrom(model)
    return copy


def encoded(message):
    return message.SerializeToString(deterministic=True)


def parsed(text):
    try:
        return parser.parse_model(text)
    except (parser.ParseError, RuntimeError, ValueError):
        return None


class Oracle:
    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def convert(self, source, target):
        done = subprocess.run([self.program, "convert", source, target], capture_output=True, text=True)
        return done.stderr.strip() or f"exit status {done.returncode}" if done.returncode else ""

    def judge(self, number, path):
        """The counted facts of one model, and its faults."""
        facts, faults = ["models"], []
        model = onnx.load(path, load_external_data=False)
        text, back, official = (self.folder / f"{number}{suffix}" for suffix in (".onnxtxt", ".onnx", "p.onnxtxt"))
        fault = self.convert(path, text) or self.convert(text, back)
        if fault or encoded(onnx.load(back, load_external_data=False)) != encoded(model):
            return facts, [f"{path}: not the same after a round trip {fault}"]
        facts.append("equal after a round trip")

        ours = text.read_text()
        theirs = parsed(ours)
        if theirs is None:
            facts.append("beyond the official syntax")
            if not BEYOND.search(ours):
                faults.append(f"{path}: the official parser refuses what it should take")
        else:
            facts.append("taken by the official parser")
            same = encoded(without_empty_strings(essence(theirs))) == encoded(without_empty_strings(essence(copy_of(model))))
            facts.append("taken, and the same model" if same else "taken, but another model")
            if not same:
                faults.append(f"{path}: the official parser makes another model of it")

        printed = printer.to_text(model)
        theirs = parsed(printed)
        facts.append("official print cannot be parsed officially" if theirs is None else "official print parses officially")
        if theirs is not None:
            official.write_text(printed)
            fault = self.convert(official, back)
            lossless = encoded(without_empty_strings(copy_of(theirs))) == encoded(without_empty_strings(copy_of(model)))
            facts.append("official print keeps the model" if lossless else "official print loses something")
            same = not fault and encoded(without_empty_strings(onnx.load(back))) == encoded(without_empty_strings(theirs))
            facts.append("official print, ours reads the same" if same else "official print, ours differs")
            if not same:
                faults.append(f"{path}: official print reads differently {fault}")
        return facts, faults


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", required=True)
    arguments.add_argument("--no-results", action="store_true", help="do not write docs/results/text-syntax.md")
    arguments.add_argument("folders", nargs="+", type=pathlib.Path)
    options = arguments.parse_args()
    paths = sorted(path for folder in options.folders for path in folder.rglob("*.onnx"))
    counts, faults = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        oracle = Oracle(options.program, folder)
        for facts, found in pool.map(oracle.judge, range(len(paths)), paths):
            counts.update(facts)
            faults += found
    for fault in faults:
        print(fault, file=sys.stderr)
    rows = [(fact, counts[fact]) for fact in (
        "models", "equal after a round trip", "taken by the official parser", "taken, and the same model", "taken, but another model",
        "beyond the official syntax", "official print parses officially", "official print keeps the model",
        "official print, ours reads the same", "official print, ours differs", "official print cannot be parsed officially")]
    figures = table(["the text form", f"models of {', '.join(folder.name for folder in options.folders)}"], rows)
    print(figures)
    if not options.no_results:
        write_page("text-syntax", "Text syntax", f"Our text form beside onnx.parser and onnx.printer {onnx.__version__} (`tests/oracle/text_syntax.py`).\n\n{figures}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
