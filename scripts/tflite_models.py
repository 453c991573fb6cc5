#!/usr/bin/env python3
"""Writes Keras models with random weights as TFLite files, float and int8, for scripts/convert_tflite. Needs TensorFlow and Keras.

    build/venv/bin/python scripts/tflite_models.py FOLDER [NAME...]

int8 is full integer quantization, inputs and outputs too, calibrated with random data. A file that is there is kept.
"""
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from keras_networks import NAMES, model_of  # noqa: E402

def convert(model, is_int8):
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if is_int8:
        rng = np.random.default_rng(20)
        shape = (1, *model.inputs[0].shape[1:])
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([rng.standard_normal(shape, np.float32)] for _ in range(4))
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    return converter.convert()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or NAMES:
        model = None
        for suffix in ("", "_int8"):
            path = folder / f"{name}{suffix}.tflite"
            if path.exists():
                continue
            model = model or model_of(name)
            try:
                content = convert(model, suffix != "")
            except Exception as error:  # the converter raises anything
                print(f"{path.name}: {str(error).splitlines()[0]}", flush=True)
                continue
            path.write_bytes(content)
            print(f"{path.name}: {len(content) / 1e6:.1f} MB", flush=True)


main()
