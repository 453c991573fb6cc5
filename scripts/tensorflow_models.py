#!/usr/bin/env python3
"""Writes Keras models with random weights as SavedModels, and some as frozen graphs, for scripts/convert_tensorflow. Needs TensorFlow and
Keras.

    build/venv/bin/python scripts/tensorflow_models.py FOLDER [NAME...]

What is there is kept.
"""
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf  # noqa: E402
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2  # noqa: E402

from keras_networks import FURTHER, NAMES, model_of  # noqa: E402

FROZEN = ("mobilenet_v2", "efficientnet_b0", "transformer", "u_net", "unrolled_lstm")


def freeze(model, path):
    call = tf.function(lambda x: model(x, training=False))
    concrete = call.get_concrete_function(tf.TensorSpec(model.inputs[0].shape, tf.float32, name="x"))
    path.write_bytes(convert_variables_to_constants_v2(concrete).graph.as_graph_def().SerializeToString())


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or [*NAMES, *FURTHER]:
        saved, frozen = folder / name, folder / f"{name}.pb"
        wants_frozen = name in FROZEN and not frozen.exists()
        if saved.exists() and not wants_frozen:
            continue
        model = model_of(name)
        if not saved.exists():
            model.export(saved, verbose=False)
        if wants_frozen:
            freeze(model, frozen)
        print(name, flush=True)


main()
