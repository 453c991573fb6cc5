"""Files that lead out of the model's folder, or that are none."""

import os
import struct

from box import fault_of
from onnx_bytes import FLOAT, graph, model, node, tensor, value_info


def external_model(location, count=6):
    weights = tensor("w", [count], external={"location": location})
    return model(graph([node("Add", ["x", "w"], ["y"])], [value_info("x", [count])], [value_info("y", [count])], [weights]))


def case_cache_links(box, check):
    secret = struct.pack("<6f", *range(6))
    box.put("keys/key", secret)
    box.put("repo/snapshots/main/model.onnx", external_model("w.bin"))
    os.symlink("../keys", box.path("repo/blobs"))
    os.symlink("../../blobs/key", box.path("repo/snapshots/main/w.bin"))
    path = "repo/snapshots/main/model.onnx"
    for words in (["check", path], ["run", path], ["convert", path, "out.onnx", "--embed"]):
        result = box.run(*words)
        check(words[0] + ", blobs is a link", fault_of(result, says="external-location", status=(1, 3)))
    check("nothing written", "out.onnx exists" if os.path.exists(box.path("out.onnx")) else "")

    box.put("cache/blobs/key", secret)
    box.put("cache/snapshots/main/model.onnx", external_model("w.bin"))
    os.symlink("../../blobs/key", box.path("cache/snapshots/main/w.bin"))
    check("a true cache", fault_of(box.run("run", "cache/snapshots/main/model.onnx"), status=0))


def case_names_of_no_file(box, check):
    os.mkfifo(box.path("models/pipe.onnx"))
    box.put("models/good.onnx", external_model("pipe.bin"))
    os.mkfifo(box.path("models/pipe.bin"))
    for words in (["check", "models"], ["check", "models/good.onnx"], ["run", "models/good.onnx"],
                  ["upgrade", "models", "--output-dir", "out", "--opset", "21"]):
        check(" ".join(words[:2]), bounded(box, words))


def bounded(box, words, seconds=20):
    """fault_of a command that may wait for a writer who never comes."""
    import signal

    result = box.run(*words, preexec=lambda: signal.alarm(seconds))
    return fault_of(result)
