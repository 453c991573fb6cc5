"""Models that `opset_matrix --save` left in a folder, and the models that they come from."""
import functools
import pathlib

import onnx
from onnx.external_data_helper import load_external_data_for_model


class Saved:
    """MODEL@TARGET@VARIANT.onnx, where MODEL is the folder of an official case or the file of an exported model, with + for /."""

    def __init__(self, path, folders):
        self.path = path
        name, target, self.variant = path.name.removesuffix(".onnx").rsplit("@", 2)
        self.name, self.target = name.replace("+", "/"), int(target)
        own = self.name if self.name.endswith(".onnx") else self.name + "/model.onnx"
        self.folder = next((folder for folder in folders if (folder / own).is_file()), None)
        if self.folder is None:
            raise SystemExit(f"{path.name}: its model is in none of the folders")
        self.original = self.folder / own

    def __str__(self):
        return f"{self.name} ({self.variant}) -> {self.target}"

    def load(self):
        """The converted model with its external data, which lie beside the original."""
        model = onnx.load(self.path, load_external_data=False)
        load_external_data_for_model(model, str(self.original.parent))
        return model


@functools.lru_cache(maxsize=64)
def load_original(path):
    return onnx.load(path)


def saved_in(folder, folders):
    return [Saved(path, folders) for path in sorted(folder.glob("*.onnx"))]


def rejected(model):
    """Why onnx.checker with full_check rejects the model; empty when it does not."""
    try:
        onnx.checker.check_model(model, full_check=True)
        return ""
    except Exception as fault:  # the checker raises types of its own
        return " ".join(str(fault).split())[:300] or type(fault).__name__


def arguments(options):
    options.add_argument("saved", type=pathlib.Path, help="where opset_matrix --save wrote")
    options.add_argument("folders", nargs="+", type=pathlib.Path, help="where the models come from: build/official, ../shared/models")
