#!/usr/bin/env python3
"""Three networks between frameworks, as docs/story.md tells it: digits from PyTorch over ONNX to TensorFlow, two layers with a dynamic batch, and
a segmentation network through the history of Upsample.

    story.py --program build/release/bin/onnxkit [--verbose] [--repeat N] [--batches 1,7,64]

--verbose prints the tables of docs/story.md. Runtimes that are not installed are counted as skipped, with the reason. The interpreter that runs this
runs the workers, too.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper

sys.dont_write_bytecode = True
from backends import DATA, DiffSuite, healthy

STORY = DATA / "story"
ONNX_BACKENDS = {"reference": "reference", "onnxruntime": "onnxruntime", "openvino": "openvino:precision=f32"}


class Story(DiffSuite):
    def __init__(self, options):
        super().__init__(options.program, options.verbose)
        self.repeat = options.repeat
        self.batches = options.batches.split(",")
        listed = self.run("backends")[1]["backends"]
        self.reasons = {backend["name"]: backend.get("reason") for backend in listed}

    def there(self, *names, cases=1):
        """Whether these backends are; else the reason is printed."""
        missing = [name for name in names if self.reasons[name]]
        for name in missing:
            self.skip(cases, f"{name}: {self.reasons[name]}")
        return not missing

    def backends(self):
        return ",".join(words for name, words in ONNX_BACKENDS.items() if self.there(name))

    def compare(self, title, *arguments):
        """The report of one diff. Its table has a row for each file and a column for each backend."""
        _, report = self.run("diff", *arguments, "--repeat", self.repeat, "--warmup", "2")
        if self.verbose:
            rows = {}
            for side in report["sides"]:
                rows.setdefault(side["label"].split(" on ")[0], {})[side["backend"]] = figures(side)
            backends = list(dict.fromkeys(name for row in rows.values() for name in row))
            print(f"\n{title}\n\n| | {' | '.join(backends)} |\n|---|{'---|' * len(backends)}")
            for file, row in rows.items():
                print(f"| {file} | {' | '.join(row.get(name, '') for name in backends)} |")
        return report


def figures(side):
    """Verdict, rms and largest error in sigma, classes and fastest run of a side with one output."""
    words = []
    for output in side["outputs"][:1]:
        words.append(output["verdict"])
        words += [f"{float(floor['rms']):.2g} / {float(floor['largest']):.2g}" for floor in output["floors"][:1]]
        words += [f"{100 * (1 - agreement(output)):.2g} % other classes"] if agreement(output) not in (1, None) else []
    times = [run["wall"] for run in side["seconds"].get("runs", [])]
    return ", ".join([*words, *([f"{1000 * min(times):.2g} ms"] if times else [])])


def agreement(output):
    """The share of pictures or pixels with the same class, or None."""
    found = (output.get("outcome") or {}).get("figures", {})
    return found.get("argmax agreement", found.get("pixel agreement"))


def unlike(side):
    """"" or what is wrong with a side that should agree in its numbers and in every class."""
    shares = [agreement(output) for output in side["outputs"]]
    return healthy(side) or ("" if all(share in (1, None) for share in shares) else f"agreement {shares}")


def weights_of(path):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}


def make_torch(weights, scratch):
    """The digit network in PyTorch, saved and exported to ONNX."""
    import torch

    class Digits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = torch.nn.Conv2d(1, 20, 5), torch.nn.Conv2d(20, 50, 5)
            self.fc1, self.fc2 = torch.nn.Linear(800, 500), torch.nn.Linear(500, 10)

        def forward(self, x):
            x = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
            x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
            return torch.log_softmax(self.fc2(torch.relu(self.fc1(x.view(-1, 800)))), 1)

    net = Digits().eval()
    net.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in weights.items()})
    example = torch.zeros(2, 1, 28, 28)
    torch.export.save(torch.export.export(net, (example,), dynamic_shapes=({0: torch.export.Dim("batch")},)), scratch / "digits.pt2")
    torch.onnx.export(net, (example,), str(scratch / "digits.onnx"), dynamo=False, opset_version=17, input_names=["input"], output_names=["output"],
                      dynamic_axes={"input": {0: "batch"}, "output": {0: "batch"}})
    return [f"torch:{scratch / 'digits.pt2'}", f"onnxruntime:{scratch / 'digits.onnx'}"]


def make_tensorflow(weights, scratch):
    """The same in TensorFlow, where channels come last, also where pictures become rows."""
    import tensorflow as tf

    rows = weights["fc1.weight"].reshape(500, 50, 4, 4).transpose(2, 3, 1, 0).reshape(800, 500)
    kernels = {name: array.transpose(2, 3, 1, 0) for name, array in weights.items() if array.ndim == 4}

    class Digits(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 28, 28, 1], tf.float32)])
        def __call__(self, x):
            for name in ("conv1", "conv2"):
                x = tf.nn.relu(tf.nn.conv2d(x, kernels[f"{name}.weight"], 1, "VALID") + weights[f"{name}.bias"])
                x = tf.nn.max_pool2d(x, 2, 2, "VALID")
            x = tf.nn.relu(tf.reshape(x, [-1, 800]) @ rows + weights["fc1.bias"])
            return tf.nn.log_softmax(x @ weights["fc2.weight"].T + weights["fc2.bias"])

    tf.saved_model.save(Digits(), str(scratch / "digits"))
    converted = tf.lite.TFLiteConverter.from_saved_model(str(scratch / "digits")).convert()
    (scratch / "digits.tflite").write_bytes(converted)
    return [f"tensorflow:{scratch / 'digits'}", f"tflite:{scratch / 'digits.tflite'}"]


def digits(story, scratch):
    """The sides of PyTorch and TensorFlow, in two lists."""
    folder = STORY / "mnist_cnn"
    model, weights = folder / "model.onnx", weights_of(folder / "model.onnx")
    torch = make_torch(weights, scratch) if story.there("torch", cases=2) else []
    tensorflow = make_tensorflow(weights, scratch) if story.there("tensorflow", "tflite", cases=2) else []
    sides = [f"tflite:{folder / 'model.tflite'}"] if story.there("tflite") else []
    sides += torch + tensorflow
    report = story.compare("Digits", model, *sides, "-b", story.backends(), "--set", folder, "--recorded")
    for side in report["sides"][1:]:
        story.check(f"digits: {side['label']}", unlike(side))
    story.check("digits: what was recorded", "" if report["sides"][-1]["label"] == "recorded" else "not compared")
    answers = numpy_helper.to_array(onnx.load_tensor(folder / "test_data_set_0/output_0.pb"))
    story.check("digits: 0 to 9", "" if answers.argmax(1).tolist() == list(range(10)) else str(answers.argmax(1)))
    return torch, tensorflow


def nodes_of(stretch):
    return [place["node"] for place in stretch["nodes"]]


def layers(story, scratch, torch, tensorflow):
    """The same weight wrong in ONNX is found at its node against each framework, and nothing is found without the fault."""
    model = STORY / "mnist_cnn/model.onnx"
    sides = torch[:1] if story.there("torch", cases=2) else []
    sides += tensorflow if story.there("tensorflow", "tflite", cases=4) else []
    broken = onnx.load(model)
    wrong = next(i for i, node in enumerate(broken.graph.node) if node.op_type == "Conv" and "conv2.weight" in node.input)
    tensor = next(tensor for tensor in broken.graph.initializer if tensor.name == "conv2.weight")
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * 1.01, tensor.name))
    onnx.save(broken, scratch / "broken.onnx")
    for side in sides:
        report = story.run("diff", model, side, "--set", STORY / "mnist_cnn", "--layers")[1]["sides"][1]
        story.check(f"layers: {side}", "" if len(report["layers"]) > 6 and "culprit" not in report else f"{len(report['layers'])} layers")
        report = story.run("diff", scratch / "broken.onnx", side, "--set", STORY / "mnist_cnn", "--layers")[1]["sides"][1]
        guilty = [nodes_of(layer["stretch"]) for layer in report["layers"] if layer["guilty"]]
        story.check(f"layers: {side} with a fault", "" if guilty and wrong in guilty[0] and len(guilty[0]) <= 3 else f"{guilty}, not {wrong}")


def two_layers(story):
    folder = STORY / "fc2"
    others = {"torch": "fc2.torchscript.pt", "tensorflow": "frozen_graph.pb", "tflite": "model.tflite"}
    sides = [f"{name}:{folder / file}" for name, file in others.items() if story.there(name, cases=len(story.batches))]
    for batch in story.batches:
        report = story.compare(f"Two layers, batch of {batch}", DATA / "models/fc2/onnx_opset17.onnx", *sides, "-b", story.backends(), "--dim", f"batch={batch}")
        for side in report["sides"][1:]:
            story.check(f"two layers, batch of {batch}: {side['label']}", unlike(side))
    if story.there("torch"):
        status, report = story.run("diff", DATA / "models/fc2/onnx_opset17.onnx", f"torch:{folder / 'fc2.state_dict.pt'}", "-b", "reference")
        text = report["sides"][1]["failure"]["error"]["message"]
        story.check("two layers: weights without a network", "" if status == 3 and "state dict" in text else f"{status}, {text}")


def converted(story, model, opset, scratch):
    to = scratch / f"{model.stem}_to_{opset}.onnx"
    done = subprocess.run([story.program, "upgrade", model, "--opset", str(opset), "--either-way", "--verify", "-o", to], capture_output=True, text=True, check=False)
    story.check(f"{model.stem} to opset {opset}", done.returncode and (done.stdout + done.stderr))
    return to


def segmentation(story, scratch):
    old, new, inputs = STORY / "unet_shapes/opset9.onnx", DATA / "models/unet_shapes/model.onnx", ["-i", STORY / "unet_shapes/picture.png"]
    for model, opsets in ((old, (7, 8, 10, 11, 13, 18, 19, 23)), (new, (9, 10, 11, 13, 18, 23))):
        models = [converted(story, model, opset, scratch) for opset in opsets]
        report = story.compare(f"Segmentation, {model.stem} through the opsets", model, *models, "-b", story.backends(), *inputs)
        for side in report["sides"][1:]:
            story.check(f"segmentation: {side['label']}", unlike(side))
    report = story.compare("Segmentation, Upsample 9 against Resize 11", new, old, "-b", story.backends(), *inputs)
    for side in report["sides"][1:]:
        if side["label"].startswith(old.name):
            output = side["outputs"][0]
            same = agreement(output)
            story.check(f"segmentation: {side['label']} samples elsewhere", "" if output["verdict"] == "not rounding" and 0.99 < same < 1 else f"{output['verdict']}, {same}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--repeat", type=int, default=3, help="measured runs of each side")
    parser.add_argument("--batches", default="1,64", help="sizes at which two layers are compared; docs/story.md has 1,7,64")
    story = Story(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        torch, tensorflow = digits(story, pathlib.Path(folder))
        layers(story, pathlib.Path(folder), torch, tensorflow)
        two_layers(story)
        segmentation(story, pathlib.Path(folder))
    return story.close()


if __name__ == "__main__":
    sys.exit(main())
