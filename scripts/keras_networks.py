"""Keras networks with random weights, for the scripts that write them in TensorFlow's formats. Needs TensorFlow and Keras."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras  # noqa: E402
import numpy as np  # noqa: E402
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


def conv3d():
    given = keras.Input((8, 16, 16, 2))
    x = layers.Conv3D(8, 3, padding="same", activation="relu")(given)
    x = layers.MaxPooling3D(2)(x)
    x = layers.Conv3D(16, 3, strides=2, padding="same", activation="relu")(x)
    return keras.Model(given, layers.Dense(4)(layers.GlobalAveragePooling3D()(x)))


def recurrent():
    given = keras.Input((None, 8))
    x = layers.LSTM(16, return_sequences=True)(given)
    x = layers.Bidirectional(layers.GRU(12, return_sequences=True))(x)
    return keras.Model(given, layers.Dense(5)(layers.LSTM(10)(x)))


OTHERS = {"unrolled_lstm": unrolled_lstm, "transformer": transformer, "u_net": u_net, "conv1d": conv1d}
#: That no TFLite file is made of.
FURTHER = {"conv3d": conv3d, "recurrent": recurrent}
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
    model = getattr(keras.applications, APPLICATIONS[name])(**how) if name in APPLICATIONS else (OTHERS | FURTHER)[name]()
    try:
        randomize(model, np.random.default_rng(19))
    except ValueError:
        pass  # normalizations without scale or center keep what they have
    return model
