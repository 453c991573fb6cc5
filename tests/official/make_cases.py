#!/usr/bin/env python3
"""Writes the official ONNX backend cases as KIND/NAME/model.onnx and test_data_set_N/*.pb.

    make_cases.py OUTDIR [--names testdata/official.txt]

The simple, pytorch-converted and pytorch-operator cases are files of the onnx package; the node cases come out of its
test loader; the real ones are its light models, which are run on an even ramp and have their answer recorded beside them.
A folder that this script has already written for the same onnx version is left alone. --names writes the list of cases.
"""
import argparse
import collections
import hashlib
import pathlib
import shutil
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test import loader

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
DATA = pathlib.Path(loader.DATA_DIR)
TO_PROTO = {"map_type": numpy_helper.from_dict, "sequence_type": numpy_helper.from_list, "optional_type": numpy_helper.from_optional}


def write_values(folder, role, infos, values):
    for index, (info, value) in enumerate(zip(infos, values)):
        if not isinstance(value, onnx.TensorProto):
            value = TO_PROTO.get(info.type.WhichOneof("value"), numpy_helper.from_array)(value, info.name)
        (folder / f"{role}_{index}.pb").write_bytes(value.SerializeToString())


def write_node_case(case, folder):
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for index, (inputs, outputs) in enumerate(case.data_sets):
        data_set = folder / f"test_data_set_{index}"
        data_set.mkdir()
        write_values(data_set, "input", case.model.graph.input, inputs)
        write_values(data_set, "output", case.model.graph.output, outputs)


def write_light_case(case, folder):
    source = DATA / "light" / pathlib.PurePosixPath(case.url).name
    shutil.copyfile(source, folder / "model.onnx")
    graph = onnx.load(source).graph
    data_set = folder / "test_data_set_0"
    data_set.mkdir()
    weights = {tensor.name for tensor in graph.initializer}
    infos = [info for info in graph.input if info.name not in weights]
    shapes = [[dim.dim_value or 1 for dim in info.type.tensor_type.shape.dim] for info in infos]
    ramps = [(np.arange(np.prod(shape)).reshape(shape) / np.prod(shape)).astype(np.float32) for shape in shapes]
    write_values(data_set, "input", infos, ramps)
    for index in range(len(graph.output)):
        shutil.copyfile(source.with_name(f"{source.stem}_output_{index}.pb"), data_set / f"output_{index}.pb")


def write_case(case, folder):
    if case.model_dir is not None:
        shutil.copytree(case.model_dir, folder, copy_function=shutil.copyfile)
        return
    folder.mkdir(parents=True)
    (write_node_case if case.model is not None else write_light_case)(case, folder)


def load_cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the package overflows and divides by zero on purpose
        return [case for kind in KINDS for case in loader.load_model_tests(kind=kind)]


def make_cases(out):
    """Writes all cases beside `out` and moves them into place, so that a broken run leaves nothing half made."""
    part = out.with_name(out.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    for case in load_cases():
        write_case(case, part / case.kind / case.name)
    shutil.rmtree(out, ignore_errors=True)
    part.rename(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outdir", type=pathlib.Path)
    parser.add_argument("--names", type=pathlib.Path, help="write the sorted KIND/NAME list here")
    args = parser.parse_args()

    stamp = args.outdir / "made_by"
    maker = f"onnx {onnx.__version__}, make_cases.py {hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()}\n"
    if stamp.is_file() and stamp.read_text() == maker:
        print(f"official cases of onnx {onnx.__version__}: already in {args.outdir}")
    else:
        print(f"official cases of onnx {onnx.__version__}: writing into {args.outdir}", flush=True)
        make_cases(args.outdir)
        stamp.write_text(maker)

    names = sorted(str(path.parent.relative_to(args.outdir)) for path in args.outdir.glob("*/*/model.onnx"))
    counts = collections.Counter(name.split("/")[0] for name in names)
    print(", ".join(f"{kind} {counts[kind]}" for kind in KINDS) + f": {len(names)} cases")
    if args.names:
        args.names.write_text("\n".join(names) + "\n")
    return 0 if names else 1


if __name__ == "__main__":
    sys.exit(main())
