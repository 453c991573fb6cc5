"""Files of torch.export that run code when PyTorch loads them. Without PyTorch the cases are skipped."""

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile

from box import fault_of
from onnx_bytes import one_node

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOUND = os.path.join(ROOT, "testdata/workers/models/fc2/pytorch/fc2.pt2")


def interpreter():
    """One that has torch, or None."""
    for python in (os.environ.get("ONNXKIT_PYTHON"), os.path.join(ROOT, "build/venv/bin/python"), sys.executable):
        if python and os.path.exists(python) and subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
            return python
    return None


class Command:
    """Pickled, it runs a command where it is loaded."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def changed(box, name, replace):
    """The sound file with other members: a function from the name behind the first folder and the bytes to bytes, and what is added."""
    with zipfile.ZipFile(SOUND) as source, zipfile.ZipFile(box.path(name), "w") as target:
        for member in source.namelist():
            folder, _, rest = member.partition("/")
            target.writestr(f"{name.removesuffix('.pt2')}/{rest}", replace(rest, source.read(member)))
        for rest, data in getattr(replace, "added", {}).items():
            target.writestr(f"{name.removesuffix('.pt2')}/{rest}", data)
    return name


def saved_by_torch(pickled):
    """The zip file that torch.load reads."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/byteorder", "little")
        archive.writestr("archive/version", "3\n")
    return out.getvalue()


def hostile_files(box):
    ran = box.path("ran")
    pickled = pickle.dumps(Command(f"touch {ran}"), protocol=2)
    formula = f"__import__('os').system('touch {ran}')"

    def sample_inputs(rest, data):
        return saved_by_torch(pickled) if rest == "data/sample_inputs/model.pt" else data

    def constant(rest, data):
        entry = {"path_name": "opaque_obj_0", "is_param": False, "use_pickle": True, "tensor_meta": None}
        return json.dumps({"config": {"c": entry}}).encode() if rest == "data/constants/model_constants_config.json" else data

    constant.added = {"data/constants/opaque_obj_0": pickled}

    def weight(rest, data):
        if rest == "data/weights/model_weights_config.json":
            config = json.loads(data)
            next(iter(config["config"].values())).update(use_pickle=True)
            return json.dumps(config).encode()
        return saved_by_torch(pickled) if rest == "data/weights/weight_0" else data

    def expression(rest, data):
        if rest != "models/model.json":
            return data
        program = json.loads(data)
        size = {"as_expr": {"expr_str": formula, "hint": {"as_int": 4}}}
        for meta in program["graph_module"]["graph"]["tensor_values"].values():
            meta["sizes"][0] = size
        return json.dumps(program).encode()

    def compiled(rest, data):
        return data

    compiled.added = {"data/aotinductor/model/model.so": b"\x7fELF"}
    return {"inputs": sample_inputs, "constant": constant, "weight": weight, "expression": expression, "compiled": compiled}


def forget(box):
    if os.path.exists(box.path("ran")):
        os.remove(box.path("ran"))


def case_files_that_run_code(box, check):
    python = interpreter()
    if python is None:
        print("skipped: no interpreter with PyTorch")
        return
    box.put("m.onnx", one_node())
    environment = dict(os.environ, ONNXKIT_PYTHON=python)
    more = {"cpu": 60, "memory": 8 << 30}

    def load(name, *words):
        os.environ.update(environment)
        return box.run("diff", "m.onnx", f"torch:{name}", *words, address_space=0, cpu=300)

    sound = load(changed(box, "sound.pt2", lambda rest, data: data))
    check("a sound file", fault_of(sound, silent_about="--trust", **more) or ("" if "fc2" in sound.text or "input" in sound.text else sound.text))
    for what, replace in hostile_files(box).items():
        forget(box)
        name = changed(box, what + ".pt2", replace)
        result = load(name)
        check(what, fault_of(result, says="--trust loads it", **more) or ("the code ran" if os.path.exists(box.path("ran")) else ""), result.note())
    forget(box)
    result = load("inputs.pt2", "--trust")
    check("with --trust", fault_of(result, silent_about="--trust loads it", **more) or ("" if os.path.exists(box.path("ran")) else "not loaded: " + result.text))
