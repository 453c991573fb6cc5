"""Writes broken copies of a model (scripts/faults), for scripts/noise_floor.

    planted_faults.py MODEL FOLDER COUNT [SET]      writes FOLDER/NUMBER.onnx and prints NUMBER, the kind and what was done

SET is a folder with input_0.pb ... to know the model's values by; made up by scripts/bench_networks.py where it is left out.
"""
import pathlib
import sys

import onnx
import onnxruntime

sys.dont_write_bytecode = True
from bench_networks import inputs_of
from faults import planted


def recorded(model, folder):
    defaults = {tensor.name for tensor in model.graph.initializer}
    inputs = {}
    for i, port in enumerate(port for port in model.graph.input if port.name not in defaults):
        inputs[port.name] = onnx.numpy_helper.to_array(onnx.load_tensor(folder / f"input_{i}.pb"))
    return inputs


def values_of(model, inputs):
    """What the sound model computes, by name."""
    tapped = onnx.shape_inference.infer_shapes(model)
    known = {output.name for output in tapped.graph.output}
    new = {name for node in tapped.graph.node for name in node.output} - known  # quantizers leave descriptions of values behind that nobody writes
    tapped.graph.output.extend(info for info in tapped.graph.value_info if info.name in new and info.type.HasField("tensor_type"))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(tapped.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in tapped.graph.output]
    return {**inputs, **dict(zip(names, session.run(names, inputs)))}


def main():
    path, folder, count = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    model = onnx.load(path)
    values = values_of(model, recorded(model, pathlib.Path(sys.argv[4])) if len(sys.argv) > 4 else inputs_of(model))
    for number, (kind, _, words, broken) in enumerate(planted(model, values, count, 1)):
        onnx.save(broken, folder / f"{number}.onnx")
        print(number, kind, words, sep="\t")


if __name__ == "__main__":
    main()
