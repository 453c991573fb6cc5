#!/usr/bin/env python3
"""Writes Keras models with random weights as TFLite files, float and int8, for scripts/convert_tflite. Needs TensorFlow and Keras.

    build/venv/bin/python scripts/tflite_models.py FOLDER [NAME...]

int8 is full integer quantization, inputs and outputs too, calibrated with random data. A file that is there is kept.
"""
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers  # noqa: E402

APPLICATIONS = {
    "mobilenet_v1": "MobileNet", "mobilenet_v2": "MobileNetV2", "mobilenet_v3": "MobileNetV3Small", "resnet50": "ResNet50", "resnet50_v2": "ResNet50V2",
    "vgg16": "VGG16", "inception_v3": "InceptionV3", "xception": "Xception", "densenet121": "DenseNet121", "nasnet_mobile": "NASNetMobile",
    "efficientnet_b0": "EfficientNetB0", "efficientnet_v2_b0": "EfficientNetV2B0", "convnext_tiny": "ConvNeXtTiny",
}


def unrolled_lstm():
    given = keras.Input((12, 8))
    x = layers.LSTM(16, return_sequences=True, unroll=True)(given)
    x = layers.LSTM(16, unroll=True)(x)
    return keras.Model(given, layers.Dense(5)(x))


def transformer():
    given = keras.Input((16, 32))
    x = given
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(4, 8)(y, y)
        y = layers.LayerNormalization()(x)
        x = x + layers.Dense(32)(layers.Dense(64, activation="gelu")(y))
    return keras.Model(given, layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling1D()(x)))


def u_net():
    given = keras.Input((64, 64, 3))
    skips, x = [], given
    for width in (8, 16, 32):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    for width, skip in zip((32, 16, 8), reversed(skips)):
        x = layers.Conv2DTranspose(width, 2, strides=2)(x) if width > 8 else layers.UpSampling2D(interpolation="bilinear")(x)
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(layers.Concatenate()([x, skip]))
    return keras.Model(given, layers.Conv2D(2, 1, activation="sigmoid")(x))


def conv1d():
    given = keras.Input((64, 6))
    x = layers.Conv1D(16, 5, padding="same", activation="relu")(given)
    x = layers.Conv1D(16, 3, dilation_rate=2, padding="same", activation="relu")(x)
    x = layers.Conv1D(24, 3, dilation_rate=4, padding="valid", activation="tanh")(layers.MaxPooling1D()(x))
    return keras.Model(given, layers.Dense(4)(layers.GlobalAveragePooling1D()(x)))


OTHERS = {"unrolled_lstm": unrolled_lstm, "transformer": transformer, "u_net": u_net, "conv1d": conv1d}
NAMES = list(APPLICATIONS) + list(OTHERS)


def randomize(model, rng):
    """Batch normalizations as after training, so that nothing cancels or is folded to nothing."""
    for layer in model.layers:
        if isinstance(layer, layers.BatchNormalization):
            gamma, beta, mean, variance = ([rng.uniform(0.7, 1.3, w.shape), rng.normal(0, 0.1, w.shape), rng.normal(0, 0.1, w.shape),
                                            rng.uniform(0.5, 1.5, w.shape)][i] for i, w in enumerate(layer.get_weights()))
            layer.set_weights([gamma, beta, mean, variance][: len(layer.get_weights())])


def model_of(name):
    keras.utils.set_random_seed(19)
    # Logits: int8 has no step between the probabilities of 1000 classes of a network without training.
    how = {"weights": None, "classifier_activation": None}
    if name == "mobilenet_v3":
        how["input_shape"] = (224, 224, 3)  # which it leaves open by itself
    model = getattr(keras.applications, APPLICATIONS[name])(**how) if name in APPLICATIONS else OTHERS[name]()
    try:
        randomize(model, np.random.default_rng(19))
    except ValueError:
        pass  # normalizations without scale or center keep what they have
    return model


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
