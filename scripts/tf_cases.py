#!/usr/bin/env python3
"""Writes testdata/tensorflow: small graphs of TensorFlow, a case for each operator and attribute value, with inputs and what TensorFlow gives.

    build/venv/bin/python scripts/tf_cases.py [NAME...]

Needs TensorFlow. Seeded: the same version writes the same graphs.
"""
import os
import shutil
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

import tf_network_cases  # noqa: E402
import tf_value_cases  # noqa: E402
from case_values import B, D, F, I, L, rng, values_of  # noqa: E402

FOLDER = Path(__file__).resolve().parent.parent / "testdata/tensorflow"
raw = tf.raw_ops
CASES = {}


def case(name, function, *inputs, **how):
    """Inputs are (shape, type) or (shape, type, lowest, highest); None in a shape is an open size, of which the case has 2."""
    CASES[name.strip("_")] = function, inputs, how


def weight(*shape):
    return tf.constant(rng().normal(0, 0.5, shape), tf.float32)


IMAGE = ([1, 7, 6, 3], F)
OPEN_IMAGE = ([None, 7, 6, 3], F)
VECTOR = ([2, 5], F)
OPEN_VECTOR = ([None, 5], F)
POSITIVE = ([2, 5], F, 0.1, 3)
UNIT = ([2, 5], F, -0.9, 0.9)
INTEGERS = ([2, 5], I, -9, 10)
COUNTS = ([2, 5], I, 1, 4)
FLAGS = ([2, 5], B)

for op in (raw.Abs, raw.Neg, raw.Exp, raw.Expm1, raw.Sin, raw.Cos, raw.Tan, raw.Atan, raw.Sinh, raw.Cosh, raw.Asinh, raw.Erf, raw.Erfc, raw.Floor,
           raw.Ceil, raw.Round, raw.Rint, raw.Sign, raw.Square, raw.Tanh, raw.Sigmoid, raw.ZerosLike, raw.OnesLike):
    case(op.__name__.lower(), lambda x, f=op: f(x=x), OPEN_VECTOR)
for op in (raw.Log, raw.Log1p, raw.Sqrt, raw.Rsqrt, raw.Reciprocal, raw.Inv):
    case(op.__name__.lower(), lambda x, f=op: f(x=x), POSITIVE)
for op in (raw.Asin, raw.Acos, raw.Atanh):
    case(op.__name__.lower(), lambda x, f=op: f(x=x), UNIT)
case("acosh", lambda x: raw.Acosh(x=x), ([2, 5], F, 1.1, 4))
case("expm1_small", lambda x: raw.Expm1(x=x), ([2, 5], F, -1e-4, 1e-4))
case("log1p_small", lambda x: raw.Log1p(x=x), ([2, 5], F, -1e-4, 1e-4))
case("abs_integers", lambda x: raw.Abs(x=x), INTEGERS)
case("square_integers", lambda x: raw.Square(x=x), INTEGERS)
for op in (raw.Relu, raw.Relu6, raw.Elu, raw.Selu, raw.Softplus, raw.Softsign):
    case(op.__name__.lower(), lambda x, f=op: f(features=4 * x), VECTOR)
case("leakyrelu", lambda x: raw.LeakyRelu(features=x), VECTOR)
case("leakyrelu_alpha", lambda x: raw.LeakyRelu(features=x, alpha=0.05), VECTOR)
case("softmax", tf.nn.softmax, VECTOR)
case("logsoftmax", tf.nn.log_softmax, VECTOR)
case("not_finite", lambda x, y: (raw.IsNan(x=x / y), raw.IsInf(x=x / y), raw.IsFinite(x=x / y)), ([4], F, 0, 1), ([4], F, 0, 0))
case("logicalnot", tf.logical_not, FLAGS)
case("invert", lambda x: tf.bitwise.invert(x), INTEGERS)

for op in (raw.Add, raw.AddV2, raw.Sub, raw.Mul, raw.Maximum, raw.Minimum, raw.SquaredDifference, raw.Less, raw.LessEqual, raw.Greater,
           raw.GreaterEqual, raw.Equal, raw.NotEqual, raw.FloorMod, raw.TruncateMod, raw.MulNoNan):
    case(op.__name__.lower(), lambda x, y, f=op: f(x=x, y=y), ([2, 3, 5], F), ([5], F))
for op in (raw.RealDiv, raw.Div, raw.FloorDiv, raw.DivNoNan, raw.Xdivy, raw.Xlogy):
    case(op.__name__.lower(), lambda x, y, f=op: f(x=x, y=y), VECTOR, POSITIVE)
case("pow", tf.pow, POSITIVE, VECTOR)
case("atan2", tf.atan2, VECTOR, VECTOR)
case("atan2_upright", lambda y, x: tf.atan2(y, tf.floor(x)), VECTOR, ([2, 5], F, -1.5, 1.5))
case("zero_by_zero", lambda x, y: (raw.DivNoNan(x=x, y=y), raw.MulNoNan(x=1 / y, y=y), raw.Xdivy(x=y, y=y), raw.Xlogy(x=y, y=y)), VECTOR, ([2, 5], F, 0, 0))
for op in (raw.FloorDiv, raw.TruncateDiv, raw.FloorMod, raw.TruncateMod, raw.Div):
    case(op.__name__.lower() + "_integers", lambda x, y, f=op: f(x=x, y=y), INTEGERS, COUNTS)
for op in (raw.BitwiseAnd, raw.BitwiseOr, raw.BitwiseXor):
    case(op.__name__.lower(), lambda x, y, f=op: f(x=x, y=y), INTEGERS, COUNTS)
case("leftshift", lambda x, y: raw.LeftShift(x=x, y=y), ([2, 5], np.uint8, 0, 30), ([2, 5], np.uint8, 0, 3))
case("rightshift", lambda x, y: raw.RightShift(x=x, y=y), ([2, 5], np.uint8, 0, 200), ([2, 5], np.uint8, 0, 3))
case("approximateequal", lambda x: raw.ApproximateEqual(x=x, y=x * 1.1, tolerance=0.05), VECTOR)
case("logical", lambda a, b: tf.logical_or(tf.logical_and(a, b), tf.logical_not(a)), FLAGS, FLAGS)
case("addn", lambda a, b, c: tf.add_n([a, b, c]), VECTOR, VECTOR, VECTOR)
case("selectv2", lambda c, x, y: tf.where(c, x, y), ([2, 1], B), VECTOR, ([5], F))
case("select", lambda c, x, y: raw.Select(condition=c, x=x, y=y), ([2], B), VECTOR, VECTOR)
case("clipbyvalue", lambda x: tf.clip_by_value(x, -0.5, 0.3), VECTOR)
case("clipbyvalue_op", lambda x: raw.ClipByValue(t=x, clip_value_min=-0.5, clip_value_max=0.3), VECTOR)
case("biasadd", lambda x: tf.nn.bias_add(x, weight(3)), IMAGE)
case("biasadd_channels_first", lambda x: raw.BiasAdd(value=tf.transpose(x, [0, 3, 1, 2]), bias=weight(3), data_format="NCHW"), IMAGE)
for to in (tf.int32, tf.int64, tf.float64, tf.float16, tf.bool, tf.uint8):
    case(f"cast_{to.name}", lambda x, t=to: tf.cast(x, t), ([2, 5], F, 0, 9))
case("double", lambda x: tf.tanh(x) * 3 + tf.reduce_mean(x), ([2, 5], D))

for padding in ("SAME", "VALID"):
    case(f"conv2d_{padding.lower()}", lambda x, p=padding: tf.nn.conv2d(x, weight(3, 2, 3, 4), [2, 1], p), OPEN_IMAGE)
    case(f"conv3d_{padding.lower()}", lambda x, p=padding: tf.nn.conv3d(x, weight(2, 3, 2, 3, 4), [1, 1, 2, 1, 1], p), ([1, 4, 5, 6, 3], F))
    case(f"maxpool_{padding.lower()}", lambda x, p=padding: tf.nn.max_pool2d(x, [3, 2], 2, p), OPEN_IMAGE)
    case(f"avgpool_{padding.lower()}", lambda x, p=padding: tf.nn.avg_pool2d(x, [3, 2], 2, p), OPEN_IMAGE)
    case(f"maxpool3d_{padding.lower()}", lambda x, p=padding: tf.nn.max_pool3d(x, 2, 2, p), ([1, 4, 5, 6, 3], F))
    case(f"avgpool3d_{padding.lower()}", lambda x, p=padding: tf.nn.avg_pool3d(x, 2, 2, p), ([1, 4, 5, 6, 3], F))
    case(f"conv2dbackpropinput_{padding.lower()}", lambda x, p=padding: tf.nn.conv2d_transpose(
        x, weight(3, 3, 4, 3), [1, 14, 12, 4] if p == "SAME" else [1, 15, 13, 4], 2, p), IMAGE)
    case(f"conv3dbackpropinputv2_{padding.lower()}", lambda x, p=padding: tf.nn.conv3d_transpose(
        x, weight(3, 3, 3, 4, 3), [1, 4, 6, 8, 4] if p == "SAME" else [1, 5, 7, 9, 4], 2, p), ([1, 2, 3, 4, 3], F))
case("conv2d_explicit", lambda x: tf.nn.conv2d(x, weight(3, 3, 3, 4), 1, [[0, 0], [1, 2], [0, 1], [0, 0]]), IMAGE)
case("conv2d_dilated", lambda x: tf.nn.conv2d(x, weight(3, 3, 3, 4), 1, "SAME", dilations=2), IMAGE)
case("conv2d_groups", lambda x: tf.nn.conv2d(x, weight(3, 3, 2, 8), 1, "SAME"), ([1, 6, 5, 4], F))
case("conv2d_open_sizes", lambda x: tf.nn.conv2d(x, weight(3, 3, 3, 4), 2, "SAME"), ([1, None, None, 3], F))
case("conv2d_bias", lambda x: tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, weight(3, 3, 3, 4), 1, "SAME"), weight(4))), OPEN_IMAGE)
case("conv2d_bias_added", lambda x: weight(1, 1, 1, 4) + tf.nn.conv2d(x, weight(3, 3, 3, 4), 1, "SAME"), OPEN_IMAGE)
case("conv2d_computed_filter", lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), OPEN_IMAGE, ([3, 3, 3, 4], F))
case("conv1d_dilated", lambda x: tf.nn.convolution(x, weight(3, 4, 5), padding="SAME", dilations=[2]), ([None, 9, 4], F))
case("space_to_batch_convolution", lambda x: tf.batch_to_space(tf.nn.conv2d(tf.space_to_batch(x, [2, 2], [[2, 3], [2, 2]]), weight(3, 3, 3, 4), 1, "VALID"), [2, 2],
                                                               [[0, 1], [0, 0]]), ([2, 7, 6, 3], F))
case("depthwise", lambda x: tf.nn.depthwise_conv2d(x, weight(3, 3, 3, 2), [1, 2, 2, 1], "SAME") + weight(6), IMAGE)
case("depthwise_dilated", lambda x: raw.DepthwiseConv2dNative(input=x, filter=weight(3, 3, 3, 1), strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 2, 1]), IMAGE)
case("conv2dbackpropinput_open_batch", lambda x: tf.nn.conv2d_transpose(x, weight(3, 3, 4, 3), tf.stack([tf.shape(x)[0], 14, 12, 4]), 2, "SAME"), OPEN_IMAGE)
case("conv2dbackpropinput_open_sizes", lambda x: tf.nn.conv2d_transpose(
    x, weight(3, 3, 4, 3), tf.stack([tf.shape(x)[0], tf.shape(x)[1] * 2, tf.shape(x)[2] * 2, 4]), 2, "SAME"), ([1, None, None, 3], F))
case("lrn", lambda x: tf.nn.local_response_normalization(x, 2, 1.5, 0.3, 0.6), IMAGE)
case("fusedbatchnormv3", lambda x: raw.FusedBatchNormV3(x=x, scale=weight(3), offset=weight(3), mean=weight(3), variance=tf.abs(weight(3)), epsilon=1e-3,
                                                        is_training=False)[0], IMAGE)
case("batch_normalization", lambda x: tf.nn.batch_normalization(x, weight(3), tf.abs(weight(3)), weight(3), weight(3), 1e-3), IMAGE)
case("l2loss", tf.nn.l2_loss, VECTOR)

case("matmul", lambda x: tf.matmul(x, weight(5, 4)), OPEN_VECTOR)
case("matmul_bias", lambda x: tf.nn.bias_add(tf.matmul(x, weight(5, 4)), weight(4)), OPEN_VECTOR)
case("matmul_transposed", lambda x, y: tf.matmul(x, y, transpose_a=True, transpose_b=True), ([5, 3], F), ([4, 5], F))
case("tensordot", lambda x: tf.tensordot(x, weight(3, 4), 1) + weight(4), ([None, None, 6, 3], F))
case("tensordot_rows", lambda x: tf.tensordot(x, weight(3, 4), 1) + weight(4), ([None, None, 3], F))
case("batchmatmulv2", tf.matmul, ([2, 3, 5], F), ([2, 5, 4], F))
case("batchmatmulv2_adjoint", lambda x, y: tf.matmul(x, y, adjoint_a=True, adjoint_b=True), ([2, 5, 3], F), ([2, 4, 5], F))
case("einsum", lambda x, y: tf.einsum("bij,bkj->bik", x, y), ([2, 3, 5], F), ([2, 4, 5], F))
case("cross", lambda x, y: raw.Cross(a=x, b=y), ([4, 3], F), ([4, 3], F))
case("matrixdeterminant", tf.linalg.det, ([2, 3, 3], F))

for name, op in {"sum": tf.reduce_sum, "mean": tf.reduce_mean, "prod": tf.reduce_prod, "max": tf.reduce_max, "min": tf.reduce_min,
                 "euclideannorm": tf.math.reduce_euclidean_norm}.items():
    case(name, lambda x, f=op: f(x, [1, 2]), OPEN_IMAGE)
    case(name + "_keep_dims", lambda x, f=op: f(x, -1, keepdims=True), OPEN_IMAGE)
case("sum_of_all", tf.reduce_sum, VECTOR)
case("any", lambda x: tf.reduce_any(x, 1), FLAGS)
case("all", lambda x: tf.reduce_all(x, 0, keepdims=True), FLAGS)
case("argmax", lambda x: tf.argmax(x, -1, output_type=tf.int32), IMAGE)
case("argmin", lambda x: tf.argmin(x, 1), IMAGE)
case("cumsum", lambda x: tf.cumsum(x, 1), VECTOR)
case("cumsum_exclusive_reverse", lambda x: tf.cumsum(x, 1, exclusive=True, reverse=True), VECTOR)
case("topkv2", lambda x: tf.math.top_k(x, 3), VECTOR)
case("unique", lambda x: tf.unique(x), ([9], I, 0, 4))
case("uniquewithcounts", lambda x: tf.unique_with_counts(x), ([9], I, 0, 4))
case("where", lambda c: tf.where(c), FLAGS)

quant = tf.quantization
WIDE = ([3, 20], F, -8, 8)
case("fake_quant_args", lambda x: [quant.fake_quant_with_min_max_args(x), quant.fake_quant_with_min_max_args(x, -1.3, 2.9, 4), quant.fake_quant_with_min_max_args(
    x, -4.1, 3.7, 8, True), quant.fake_quant_with_min_max_args(x, 0.7, 2.9, 8), quant.fake_quant_with_min_max_args(x, -7, -2.1, 3), quant.fake_quant_with_min_max_args(x, -5, 5, 16)], WIDE)
case("fake_quant_vars", lambda x: [quant.fake_quant_with_min_max_vars(x, tf.constant(-2.2), tf.constant(5.1), bits, narrow) for bits in (8, 5) for narrow in (False, True)], WIDE)
case("fake_quant_channels", lambda x: [quant.fake_quant_with_min_max_vars_per_channel(x, tf.constant([-2.2, -4, 0]), tf.constant([5.1, 1, 3.3]), bits, narrow)
                                       for bits in (8, 5) for narrow in (False, True)], ([2, 7, 3], F, -6, 6))
image = tf.image
BOXES = ([6, 4], F, 0, 1)
SCORES = ([6], F, 0, 1)
for pads in (False, True):
    case(f"nonmaxsuppressionv4_{pads}".lower(), lambda b, s, p=pads: raw.NonMaxSuppressionV4(boxes=b, scores=s, max_output_size=4, iou_threshold=0.2, score_threshold=0.3,
                                                                                            pad_to_max_output_size=p), BOXES, SCORES)
    case(f"nonmaxsuppressionv5_{pads}".lower(), lambda b, s, p=pads: raw.NonMaxSuppressionV5(boxes=b, scores=s, max_output_size=5, iou_threshold=0.2, score_threshold=0.3,
                                                                                            soft_nms_sigma=0.0, pad_to_max_output_size=p), BOXES, SCORES)
case("cropandresize", lambda x, b, i: image.crop_and_resize(x, b, i, [5, 4]), ([2, 7, 6, 3], F), ([4, 4], F, -0.2, 1.2), ([4], I, 0, 2))
case("cropandresize_nearest", lambda x, b, i: image.crop_and_resize(x, b, i, [5, 4], "nearest", 1.5), ([2, 7, 6, 3], F), ([4, 4], F, -0.2, 1.2), ([4], I, 0, 2))
case("cropandresize_one", lambda x, b, i: image.crop_and_resize(x, b, i, [1, 3]), ([None, 7, 6, 3], F), ([4, 4], F, 0, 1), ([4], I, 0, 2))
for name in ("sum", "prod", "max", "min"):
    case("unsortedsegment" + name, lambda x, i, f=getattr(tf.math, "unsorted_segment_" + name): f(x, i, 5), ([6, 3], F), ([6], I, -1, 4))
case("unsortedsegmentsum_integers", lambda x, i: tf.math.unsorted_segment_sum(x, i, 4), ([2, 3, 2], I, -5, 5), ([2, 3], I, 0, 4))
case("unsortedsegmentmax_integers", lambda x, i: tf.math.unsorted_segment_max(x, i, 4), ([6], I, -5, 5), ([6], I, 0, 3))
case("cross_entropy", lambda x, i: [*raw.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=i), *raw.SoftmaxCrossEntropyWithLogits(
    features=x, labels=tf.one_hot(i, 5) * 0.7 + 0.06)], ([3, 5], F), ([3], I, 0, 5))
case("matrixdiag", lambda x: [tf.linalg.diag(x), tf.linalg.diag(x, padding_value=2.5), raw.MatrixDiag(diagonal=x), raw.MatrixDiagV2(
    diagonal=x, k=0, num_rows=-1, num_cols=-1, padding_value=0)], OPEN_VECTOR)
case("matrixdiagpart", lambda x: [tf.linalg.diag_part(x), raw.MatrixDiagPart(input=x), raw.MatrixDiagPartV2(input=x, k=0, padding_value=0), tf.linalg.diag_part(x[0, 0]),
                                  tf.linalg.trace(x[..., :4])], ([2, 3, 4, 5], F))
case("matrixsetdiag", lambda x, d: [tf.linalg.set_diag(x, d), raw.MatrixSetDiag(input=x, diagonal=d), raw.MatrixSetDiagV2(input=x, diagonal=d, k=0)], ([2, 4, 5], F), ([2, 4], F))
PLANES = ([2, 4, 6], F)


def parts(*values):
    return [part for z in values for part in (tf.math.real(z), tf.math.imag(z))]


case("complex", lambda x, y: parts(tf.complex(x, y), tf.math.conj(tf.complex(x, y))) + [tf.abs(tf.complex(x, y)), tf.math.angle(tf.complex(x, y))], VECTOR, VECTOR)
case("complex_of_reals", lambda x: [raw.Real(input=tf.cast(x, tf.complex64)), raw.Imag(input=tf.cast(x, tf.complex64)), tf.cast(tf.complex(x, x), tf.float32)], VECTOR)
case("complex_arithmetic", lambda x, y: parts(*(f(tf.complex(x, y), tf.complex(y, y)) for f in (tf.add, tf.subtract, tf.multiply, tf.divide)), -tf.complex(x, y), tf.square(
    tf.complex(x, y)), tf.exp(tf.complex(x, y)), tf.complex(x, y) * (2 - 1j), tf.cast(x, tf.complex64) + tf.complex(y, x)), VECTOR, VECTOR)
case("complex_equal", lambda x, y: [tf.equal(tf.complex(x, y), tf.complex(x, x)), tf.not_equal(tf.complex(x, y), tf.complex(x, x))], ([2, 5], F, 0, 1), ([2, 5], F, 0, 1))
case("complex_products", lambda x, y: parts(tf.matmul(tf.complex(x, x), tf.complex(y, -y)), tf.matmul(tf.complex(x, -x), tf.complex(x, x), adjoint_a=True), raw.MatMul(
    a=tf.complex(x, 2 * x)[0], b=tf.complex(y, y)[0]), raw.MatMul(a=tf.complex(x, 2 * x)[0], b=tf.complex(y, y)[0], transpose_a=True, transpose_b=True)), ([2, 4, 4], F), ([2, 4, 4], F))
case("complex_moved", lambda x, y: parts(*(f(tf.complex(x, y)) for f in (
    lambda z: tf.reshape(z, [5, 2]), lambda z: tf.transpose(z), lambda z: z[:, 1:3], lambda z: tf.concat([z, tf.cast(x, tf.complex64)], 0), lambda z: tf.stack([z, 2 * z], 1),
    lambda z: tf.pad(z, [[0, 1], [2, 0]]), lambda z: tf.tile(z, [2, 1]), lambda z: tf.reverse(z, [1]), lambda z: tf.gather(z, [2, 0], axis=1), lambda z: tf.reduce_sum(z, 1),
    lambda z: tf.reduce_mean(z, 0), lambda z: tf.roll(z, 2, 1), lambda z: tf.where(x > 0, z, tf.zeros_like(z)), lambda z: tf.add_n([z, z]), lambda z: tf.broadcast_to(z, [2, 2, 5])))), VECTOR, VECTOR)
case("complex_unstacked", lambda x, y: parts(*tf.unstack(tf.complex(x, y)), *tf.split(tf.complex(x, y), [2, 3], 1)), VECTOR, VECTOR)
case("complex_constant", lambda x: tf.abs(tf.cast(x, tf.complex64) * tf.constant([1 + 2j, 3j, 1, 2, -1j], tf.complex64)), VECTOR)
case("complex_double", lambda x: tf.abs(tf.cast(tf.complex(x, x), tf.complex128)), VECTOR)
signal = tf.signal
for name, f in {"fft": signal.fft, "ifft": signal.ifft, "fft2d": signal.fft2d, "ifft2d": signal.ifft2d, "fft3d": signal.fft3d, "ifft3d": signal.ifft3d}.items():
    case(name, lambda x, f=f: parts(f(tf.complex(x, 2 - x))), PLANES)
for name, f in {"rfft": signal.rfft, "rfft2d": signal.rfft2d, "rfft3d": signal.rfft3d}.items():
    case(name, lambda x, f=f: parts(f(x)), PLANES)
for name, f in {"irfft": signal.irfft, "irfft2d": signal.irfft2d, "irfft3d": signal.irfft3d}.items():
    case(name, lambda x, f=f: f(tf.complex(x, 2 - x)), PLANES)
case("fourier_lengths", lambda x: parts(signal.rfft(x, [4]), signal.rfft(x, [9]), signal.rfft2d(x, [3, 8])) + [signal.irfft(tf.complex(x, x), [7]), signal.irfft2d(tf.complex(x, -x), [5, 4])], PLANES)
case("stft", lambda x: tf.abs(signal.stft(x, 16, 4)), ([2, 40], F))
case("stft_open", lambda x: tf.abs(signal.stft(x, 16, 4, fft_length=20, pad_end=True)), ([None], F))
case("inverse_stft", lambda x: signal.inverse_stft(signal.stft(x, 16, 4), 16, 4, window_fn=signal.inverse_stft_window_fn(4)), ([2, 40], F))
case("mel_frequencies", lambda x: signal.mfccs_from_log_mel_spectrograms(tf.math.log(tf.tensordot(tf.abs(signal.stft(x, 16, 4)), signal.linear_to_mel_weight_matrix(
    8, 9, 8000, 80.0, 4000.0), 1) + 1e-6)), ([2, 40], F))
case("cosine_transforms", lambda x: [signal.dct(x), signal.idct(x), signal.dct(x, norm="ortho")], ([2, 8], F))

case("shape", lambda x: tf.shape(x) + 1, OPEN_VECTOR)
case("shape_int64", lambda x: tf.shape(x, tf.int64), OPEN_VECTOR)
case("shapen", lambda x, y: raw.ShapeN(input=[x, y]), OPEN_VECTOR, VECTOR)
case("size", lambda x: tf.size(x), OPEN_VECTOR)
case("rank", lambda x: tf.rank(x) + tf.shape(x)[0], OPEN_VECTOR)
case("reshape", lambda x: tf.reshape(x, [-1, 6, 21]), OPEN_IMAGE)
case("reshape_computed", lambda x: tf.reshape(x, tf.stack([tf.shape(x)[0] * 7, 18])), OPEN_IMAGE)
case("expanddims", lambda x: tf.expand_dims(x, -2), VECTOR)
case("squeeze", lambda x: tf.squeeze(x, [1, 3]), ([2, 1, 5, 1], F))
case("squeeze_all", lambda x: tf.squeeze(x), ([2, 1, 5, 1], F))
case("transpose", lambda x: tf.transpose(x, [2, 0, 3, 1]), IMAGE)
case("fill", lambda x: tf.fill(tf.shape(x), 2.5) + x, OPEN_VECTOR)
case("constant_of_one_value", lambda x: x + tf.zeros([2, 5]), VECTOR)
case("range", lambda n: tf.range(1, n, 2), ([], I, 9, 10))
case("linspace", lambda a, b: raw.LinSpace(start=a, stop=b, num=5), ([], F), ([], F))
case("linspace_one", lambda a, b: raw.LinSpace(start=a, stop=b, num=1), ([], F), ([], F))
case("broadcastto", lambda x: tf.broadcast_to(x, [4, 2, 5]), VECTOR)
case("broadcastargs", lambda x: tf.broadcast_to(1.0, raw.BroadcastArgs(s0=tf.shape(x), s1=tf.constant([4, 1, 5]))), OPEN_VECTOR)
case("tile", lambda x: tf.tile(x, [2, 3]), VECTOR)
case("onehot", lambda i: tf.one_hot(i, 6, 2.0, -1.0, axis=1), ([2, 3], I, 0, 6))
case("onehot_outside", lambda i: tf.one_hot(i, 4), ([2, 5], I, -3, 7))
case("matrixbandpart_lower", lambda x: tf.linalg.band_part(x, -1, 0), ([2, 4, 5], F))
case("matrixbandpart", lambda x: tf.linalg.band_part(x, 1, 2), ([2, 4, 5], F))

case("stridedslice", lambda x: x[:, 1:6:2, -3:, ::-1], IMAGE)
case("stridedslice_shrink", lambda x: x[:, 2, ..., -1], IMAGE)
case("stridedslice_new_axis", lambda x: x[:, tf.newaxis, 1:], VECTOR)
case("stridedslice_computed", lambda x, n: x[n:, :n], ([4, 5], F), ([], I, 2, 3))
case("stridedslice_computed_place", lambda x, n: x[n], ([4, 5], F), ([], I, 2, 3))
case("slice", lambda x: tf.slice(x, [0, 1, 2, 0], [1, -1, 3, 2]), IMAGE)
case("slice_computed", lambda x, b: tf.slice(x, b, [2, -1]), ([4, 5], F), ([2], I, 1, 2))
case("split", lambda x: tf.split(x, 3, 2), IMAGE)
case("splitv", lambda x: tf.split(x, [1, 4, 2], 1), IMAGE)
case("splitv_open", lambda x: tf.split(x, [1, -1, 2], 1), IMAGE)
case("concatv2", lambda x, y: tf.concat([x, y, x], -1), IMAGE, ([1, 7, 6, 2], F))
case("concat", lambda x, y: raw.Concat(concat_dim=1, values=[x, y]), VECTOR, VECTOR)
case("pack", lambda x, y: tf.stack([x, y], 1), VECTOR, VECTOR)
case("unpack", lambda x: tf.unstack(x, axis=1), VECTOR)
case("gatherv2", lambda x, i: tf.gather(x, i, axis=1), IMAGE, ([2, 2], I, 0, 6))
case("gatherv2_batch_dims", lambda x, i: tf.gather(x, i, axis=1, batch_dims=1), VECTOR, ([2, 3], I, 0, 5))
case("gather", lambda x, i: raw.Gather(params=x, indices=i), VECTOR, ([2, 3], I, 0, 2))
case("gathernd", lambda x, i: tf.gather_nd(x, i), IMAGE, ([2, 2], I, 0, 1))
case("scatternd", lambda i, u: tf.scatter_nd(i, u, [4, 5]), ([3, 1], I, 0, 4), ([3, 5], F))
for name in ("Update", "Add", "Sub", "Max", "Min"):
    case(f"tensorscatter{name.lower()}", lambda x, u, f=getattr(raw, "TensorScatter" + name): f(tensor=x, indices=[[3], [1]], updates=u), ([4, 5], F), VECTOR)
case("pad", lambda x: tf.pad(x, [[0, 0], [1, 2], [3, 0], [0, 0]]), OPEN_IMAGE)
case("padv2", lambda x: tf.pad(x, [[0, 0], [1, 2], [3, 0], [0, 1]], constant_values=1.5), IMAGE)
case("mirrorpad_reflect", lambda x: tf.pad(x, [[0, 0], [1, 2], [3, 0], [0, 0]], "REFLECT"), IMAGE)
case("mirrorpad_symmetric", lambda x: tf.pad(x, [[0, 0], [1, 2], [3, 0], [0, 0]], "SYMMETRIC"), IMAGE)
case("reversev2", lambda x: tf.reverse(x, [1, -1]), IMAGE)
case("reversesequence", lambda x: tf.reverse_sequence(x, [2, 4, 1], seq_axis=1, batch_axis=0), ([3, 4, 2], F))
case("roll", lambda x: tf.roll(x, [2, -1], [1, 2]), IMAGE)

case("depthtospace", lambda x: tf.nn.depth_to_space(x, 2), ([1, 3, 2, 12], F))
case("spacetodepth", lambda x: tf.nn.space_to_depth(x, 2), ([1, 6, 4, 3], F))
case("spacetobatchnd", lambda x: tf.space_to_batch(x, [2, 3], [[1, 0], [0, 0]]), ([2, 7, 6, 3], F))
case("batchtospacend", lambda x: tf.batch_to_space(x, [2, 3], [[1, 0], [0, 2]]), ([12, 4, 2, 3], F))
for mode in ("Bilinear", "NearestNeighbor"):
    for how in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
        case("_".join(["resize" + mode.lower(), *how]), lambda x, o=getattr(raw, "Resize" + mode), h=how: o(images=x, size=[11, 4], **h), IMAGE)
BOXES = np.float32([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 2.05, 1, 3.05]])
case("nonmaxsuppressionv3", lambda s: tf.image.non_max_suppression(BOXES, s, 3, 0.5, 0.2), ([4], F, 0.1, 1))


def branches(c, x):
    return tf.cond(c, lambda: tf.nn.relu(x) + 1, lambda: x * weight(5))


def loop(x):
    return tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.tanh(y) * weight(5)), [0, x])[1]


def growing(x):
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.concat([y, y[:1]], 0)), [0, x],
                         shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 5])])[1]


def until(x):
    return tf.while_loop(lambda y: tf.reduce_sum(y) < 50, lambda y: y * 2, [tf.abs(x)])


def chosen(i, x):
    return tf.switch_case(i, [lambda: x + 1, lambda: x * 2, lambda: tf.tanh(x)])


case("if", branches, ([], B), VECTOR)
case("while", loop, VECTOR)
case("while_growing", growing, VECTOR)
case("while_until", until, VECTOR)
case("case", chosen, ([], I, 1, 2), VECTOR)
case("map_fn", lambda x: tf.map_fn(lambda row: tf.tanh(row) * 2, x), ([None, 5], F))
case("scan", lambda x: tf.scan(lambda a, row: a * 0.5 + row, x, tf.zeros([5])), ([4, 5], F))
case("tensor_array", lambda x: tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(2 - i, x[i])),
                                             [0, tf.TensorArray(tf.float32, 3, element_shape=[5])])[1].stack(), ([3, 5], F))


case("batchmatmul", lambda x, y: raw.BatchMatMul(x=x, y=y), ([2, 3, 5], F), ([2, 5, 4], F))
case("batchmatmulv3", lambda x, y: raw.BatchMatMulV3(x=x, y=y, Tout=tf.float32), ([2, 3, 5], F), ([2, 5, 4], F))
case("biasaddv1", lambda x: raw.BiasAddV1(value=x, bias=weight(3)), IMAGE)
case("mod", lambda x, y: raw.Mod(x=x, y=y), INTEGERS, COUNTS)
case("rank_of_open", lambda x: raw.Rank(input=x), OPEN_VECTOR)
case("passing", lambda x: raw.CheckNumerics(tensor=raw.EnsureShape(input=raw.PreventGradient(input=raw.StopGradient(input=raw.Snapshot(input=x))), shape=[None, 5]), message="") + 1,
     OPEN_VECTOR)
case("identityn", lambda x, y: raw.IdentityN(input=[x + 1, y]), VECTOR, VECTOR)
case("debugidentity", lambda x: raw.DebugIdentity(input=x, tensor_name="x:0") + raw.DebugIdentityV2(input=x + 1, tfdbg_context_id="c", op_name="x"), VECTOR)
case("placeholderwithdefault", lambda x: x + raw.PlaceholderWithDefault(input=weight(5), shape=[5]), VECTOR)
for version in ("", "V2"):
    case(f"fusedbatchnorm{version.lower()}", lambda x, f=getattr(raw, "FusedBatchNorm" + version): f(
        x=x, scale=weight(3), offset=weight(3), mean=weight(3), variance=tf.abs(weight(3)), is_training=False)[0], IMAGE)
case("nonmaxsuppression", lambda s: raw.NonMaxSuppression(boxes=BOXES, scores=s, max_output_size=3, iou_threshold=0.5), ([4], F, 0.1, 1))
case("nonmaxsuppressionv2", lambda s: raw.NonMaxSuppressionV2(boxes=BOXES, scores=s, max_output_size=3, iou_threshold=0.5), ([4], F, 0.1, 1))


def lists(x):
    whole = raw.TensorListFromTensor(tensor=x, element_shape=[5])
    longer = raw.TensorListPushBack(input_handle=whole, tensor=x[0] * 2)
    some = raw.TensorListGather(input_handle=longer, indices=[2, 0], element_shape=[5], element_dtype=tf.float32)
    return some, raw.TensorListLength(input_handle=longer), raw.TensorListStack(input_handle=longer, element_shape=[5], element_dtype=tf.float32)


case("tensorlist", lists, VECTOR)


def pushed(x):
    def push(i, elements):
        return i + 1, raw.TensorListPushBack(input_handle=elements, tensor=x[0] * tf.cast(i, F))
    empty = raw.EmptyTensorList(element_shape=[5], max_num_elements=-1, element_dtype=tf.float32)
    return raw.TensorListStack(input_handle=tf.while_loop(lambda i, _: i < 3, push, [0, empty])[1], element_shape=[5], element_dtype=tf.float32)


case("tensorlist_pushed", pushed, VECTOR)
case("float16", lambda x: tf.nn.relu(tf.matmul(x, tf.cast(weight(5, 4), tf.float16))), ([2, 5], np.float16))
case("int64", lambda x, y: x // y + tf.reduce_max(x) % y, ([2, 5], L, -9, 10), ([2, 5], L, 1, 4))


# ---- loops and branches in the form of TensorFlow 1
v1 = tf.compat.v1


def case_v1(name, function, *inputs):
    case(name, function, *inputs, version=1)


def inner_loops(x):
    def rows(i, y):
        return i + 1, tf.while_loop(lambda j, z: j < 2, lambda j, z: (j + 1, tf.tanh(z) + x * tf.cast(i, F)), [0, y])[1]
    return tf.while_loop(lambda i, y: i < 3, rows, [0, x])[1]


def array_backwards(x):
    array = tf.TensorArray(tf.float32, 3, element_shape=[5])
    return tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(2 - i, x[i])), [0, array])[1].stack()


def array_ends_early(x):
    array = tf.TensorArray(tf.float32, tf.shape(x)[0], element_shape=[5])
    array = tf.while_loop(lambda i, s, a: tf.logical_and(i < tf.shape(x)[0], s < 2), lambda i, s, a: (i + 1, s + tf.abs(x[i, 0]), a.write(i, x[i])),
                          [0, 0.0, array])[2]
    return array.stack(), array.size()


def array_of_open_size(x):
    array = tf.TensorArray(tf.float32, tf.shape(x)[0], dynamic_size=True, element_shape=[5])
    array = tf.while_loop(lambda i, _: i < tf.shape(x)[0], lambda i, a: (i + 1, a.write(i, tf.tanh(x[i]))), [0, array])[1]
    return array.stack(), array.size()


class Cell:
    """What tf.compat.v1.nn.dynamic_rnn asks of a cell."""
    state_size, output_size = 4, 4

    def zero_state(self, batch, dtype):
        return tf.zeros([batch, 4], dtype)

    def __call__(self, x, state, scope=None):
        made = tf.tanh(tf.matmul(x, tf.constant(np.linspace(-1, 1, 12, dtype=F).reshape(3, 4))) + state)
        return made, made * 0.5


def branches_in_branches(a, b, x):
    return tf.cond(a, lambda: tf.cond(b, lambda: x + 1, lambda: x * weight(5)) * 2, lambda: tf.cond(b, lambda: tf.tanh(x), lambda: x))


def branch_in_loop(x):
    return tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: tf.tanh(y) + x, lambda: y * 2)), [0, x])[1]


def frozen_learning_phase(x):
    phase = v1.placeholder_with_default(False, [])
    return tf.cond(phase, lambda: raw.Lgamma(x=x), lambda: x * 2)


case_v1("v1_while", loop, VECTOR)
case_v1("v1_while_growing", growing, VECTOR)
case_v1("v1_while_until", until, VECTOR)
case_v1("v1_while_in_while", inner_loops, VECTOR)
case_v1("v1_while_captures", lambda x, y: tf.while_loop(lambda i, z: i < tf.shape(y)[0], lambda i, z: (i + 1, z + x * y[i]), [0, x])[1], VECTOR, ([None, 5], F))
case_v1("v1_if", branches, ([], B), VECTOR)
case_v1("v1_if_outputs", lambda c, x, y: tf.cond(c, lambda: (x + y, tf.tanh(x)), lambda: (x - y, y)), ([], B), VECTOR, VECTOR)
case_v1("v1_if_constants", lambda c, x: tf.cond(c, lambda: tf.constant(1.0), lambda: tf.constant(2.0)) * x, ([], B), VECTOR)
case_v1("v1_if_in_if", branches_in_branches, ([], B), ([], B), VECTOR)
case_v1("v1_if_in_while", branch_in_loop, VECTOR)
case_v1("v1_if_of_constant", frozen_learning_phase, VECTOR)
case_v1("v1_while_in_if", lambda c, x: tf.cond(c, lambda: loop(x), lambda: x), ([], B), VECTOR)
case_v1("v1_two_ifs", lambda c, x: tf.cond(c, lambda: x, lambda: tf.cond(c, lambda: x, lambda: -x) * 3) + tf.cond(c, lambda: x, lambda: 2 * x), ([], B), VECTOR)
case_v1("v1_case", chosen, ([], I, 1, 2), VECTOR)
case_v1("v1_map_fn", lambda x: tf.map_fn(lambda row: tf.tanh(row) * 2, x), ([None, 5], F))
case_v1("v1_scan", lambda x: tf.scan(lambda a, row: a * 0.5 + row, x, tf.zeros([5])), ([4, 5], F))
case_v1("v1_tensor_array", array_backwards, ([3, 5], F))
case_v1("v1_array_ends_early", array_ends_early, ([None, 5], F))
case_v1("v1_array_of_open_size", array_of_open_size, ([None, 5], F))
case("array_ends_early", lambda x: array_ends_early(x)[0], ([6, 5], F))
case_v1("v1_dynamic_rnn", lambda x: v1.nn.dynamic_rnn(Cell(), x, dtype=F), ([None, None, 3], F))
case_v1("v1_dynamic_rnn_lengths", lambda x, n: v1.nn.dynamic_rnn(Cell(), x, sequence_length=n, dtype=F), ([None, 6, 3], F), ([None], I, 1, 4))

tf_value_cases.add_to(case, weight)
tf_network_cases.add_to(case)
case("bounds_of_nan", lambda v: [raw.LowerBound(sorted_inputs=[[-1.0, 0.0, 0.0, 2.0]], values=tf.math.log(v)), raw.UpperBound(sorted_inputs=[[-1.0, 0.0, 0.0, 2.0]], values=tf.math.log(v)),
                                raw.Bucketize(input=tf.math.log(v), boundaries=[-1.0, 0.0, 2.0])], ([1, 6], "float32"))
case("resize_gaussian", lambda x: raw.ScaleAndTranslate(images=x, size=[4, 9], scale=[0.5, 1.9], translation=[-1.0, 1.5], kernel_type="gaussian", antialias=False), ([1, 7, 5, 2], "float32"))


class Saved(tf.Module):
    """A model with variables, calls of functions, a table of rows, and a second signature."""

    def __init__(self):
        self.kernel, self.bias = tf.Variable(weight(3, 3, 3, 4), name="kernel"), tf.Variable(weight(4), name="bias")
        self.rows = tf.Variable(weight(6, 4), name="rows")

    @tf.function(input_signature=[tf.TensorSpec([None, 7, 6, 3], F, "x0"), tf.TensorSpec([None], I, "x1")])
    def serve(self, x0, x1):
        return {"features": self.features(x0), "rows": tf.gather(self.rows, x1)}

    @tf.function
    def features(self, x):
        return tf.reduce_mean(tf.nn.relu(tf.nn.conv2d(x, self.kernel, 2, "SAME") + self.bias), [1, 2])

    @tf.function(input_signature=[tf.TensorSpec([None, 4], F, "y")])
    def second(self, y):
        return {"z": tf.matmul(y, self.rows, transpose_b=True)}


class Picked(tf.Module):
    """Elements of a variable, which nothing reads as a whole."""

    def __init__(self):
        self.rows = tf.Variable(weight(6, 4), name="rows")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], I, "x0")])
    def serve(self, x0):
        return {"picked": raw.ResourceGatherNd(resource=self.rows.handle, indices=x0, dtype=tf.float32)}


def write_picked(name, random):
    model, folder = Picked(), FOLDER / f"{name}.saved_model"
    shutil.rmtree(folder, ignore_errors=True)
    tf.saved_model.save(model, str(folder), {"serving_default": model.serve})
    (folder / "fingerprint.pb").unlink(missing_ok=True)
    given = values_of(([3, 2], I, 0, 4), random)
    np.savez_compressed(FOLDER / f"{name}.npz", input_0=given, output_0=model.serve(given)["picked"])


def write_saved(name, random):
    model, folder = Saved(), FOLDER / f"{name}.saved_model"
    shutil.rmtree(folder, ignore_errors=True)
    tf.saved_model.save(model, str(folder), {"serving_default": model.serve, "second": model.second})
    (folder / "fingerprint.pb").unlink(missing_ok=True)
    given = [values_of(([2, 7, 6, 3], F), random), values_of(([3], I, 0, 6), random)]
    got = model.serve(*given)
    np.savez_compressed(FOLDER / f"{name}.npz", input_0=given[0], input_1=given[1], output_0=got["features"], output_1=got["rows"])


def damaged_loops():
    """Loops and branches of TensorFlow 1 whose nodes do not belong together."""
    def read(name):
        return v1.GraphDef.FromString((FOLDER / f"{name}.pb").read_bytes())

    def node(graph, op, number=0):
        return [one for one in graph.node if one.op == op][number]
    mixed, endless, sides, deep = read("v1_while"), read("v1_while"), read("v1_if"), v1.GraphDef()
    node(mixed, "Enter", 1).attr["frame_name"].s = b"another"
    node(endless, "Enter", 1).input[0] = node(endless, "Exit").name
    node(sides, "Merge").input[0] = node(sides, "Merge").input[1]
    # The next pass of each loop is the exit of one inside it.
    deep.node.add(name="x", op="Placeholder").attr["dtype"].type = tf.float32.as_datatype_enum
    deep.node.add(name="go", op="Const").attr["value"].tensor.CopyFrom(tf.make_tensor_proto(True))
    for depth in range(200):
        deep.node.add(name=f"e{depth}", op="Enter", input=[f"s{depth - 1}:1" if depth else "x"]).attr["frame_name"].s = b"f%d" % depth
        deep.node.add(name=f"m{depth}", op="Merge", input=[f"e{depth}", f"n{depth}"])
        deep.node.add(name=f"l{depth}", op="LoopCond", input=["go"])
        deep.node.add(name=f"s{depth}", op="Switch", input=[f"m{depth}", f"l{depth}"])
        deep.node.add(name=f"n{depth}", op="NextIteration", input=[f"o{depth + 1}" if depth < 199 else f"s{depth}:1"])
        deep.node.add(name=f"o{depth}", op="Exit", input=[f"s{depth}"])
    return {"frames_mixed": mixed, "loop_needs_itself": endless, "branch_merged_with_itself": sides, "loops_too_deep": deep}


def refused():
    """Graphs that are sound for TensorFlow and have no counterpart, and damaged ones."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [2, 3], name="x")
        y = tf.identity(raw.Lgamma(x=tf.tanh(raw.Digamma(x=raw.Digamma(x=x)))) + raw.Lgamma(x=x), name="y")
        tf.strings.as_string(y, name="text")
    files = {"operators": graph.as_graph_def()} | damaged_loops()
    for name in ("calls_itself", "depends_on_itself", "called_too_often", "repeats_a_value"):
        files[name] = made = tf.compat.v1.GraphDef()
        start = made.node.add(name="x", op="Placeholder")
        start.attr["dtype"].type = tf.float32.as_datatype_enum
        node = made.node.add(name="y", op="f0" if name.startswith("call") else "AddV2", input=["x"])
        if name == "depends_on_itself":
            node.input.append("y")
            made.node.add(name="z", op="Neg", input=["y"])
        if name == "repeats_a_value":
            node.input.append("c")
            constant = made.node.add(name="c", op="Const")
            tensor = constant.attr["value"].tensor
            tensor.dtype = tf.float32.as_datatype_enum
            tensor.float_val.extend([1, 2])
            tensor.tensor_shape.dim.add(size=1 << 40)
        for depth in range(40 if name == "called_too_often" else 1):
            function = made.library.function.add()
            function.signature.name = f"f{depth}"
            function.signature.input_arg.add(name="a", type=tf.float32.as_datatype_enum)
            function.signature.output_arg.add(name="b", type=tf.float32.as_datatype_enum)
            below = "f0" if name == "calls_itself" else f"f{depth + 1}" if depth < 39 else "Neg"
            function.node_def.add(name="l", op=below, input=["a"])
            function.node_def.add(name="r", op=below, input=["a"])
            function.node_def.add(name="s", op="AddV2", input=["l:b:0", "r:b:0"])
            function.ret["b"] = "s:z:0"
        made.versions.producer = 1882
    if (FOLDER / "map_fn.pb").exists():
        files["names_of_ours"] = made = tf.compat.v1.GraphDef.FromString((FOLDER / "map_fn.pb").read_bytes())
        for node in made.node:
            for name in ("carried", "constants", "counts", "keeps_last", "starts", "limits") if node.op.endswith("While") else ():
                node.attr[name].i = 1
    for name, made in files.items():
        (FOLDER / f"refused/{name}.pb").write_bytes(made.SerializeToString(deterministic=True))


def write_case_v1(name):
    function, inputs, _ = CASES[name]
    random, graph = np.random.default_rng(5), tf.Graph()
    given = [values_of(spec, random) for spec in inputs]
    v1.disable_control_flow_v2()
    with graph.as_default():
        placeholders = [v1.placeholder(spec[1], spec[0], name=f"x{i}") for i, spec in enumerate(inputs)]
        results = [tf.identity(result, f"y{i}") for i, result in enumerate(tf.nest.flatten(function(*placeholders)))]
    v1.enable_control_flow_v2()
    with v1.Session(graph=graph) as session:
        got = session.run(results, dict(zip(placeholders, given)))
    values = {f"input_{i}": value for i, value in enumerate(given)} | {f"output_{i}": value for i, value in enumerate(got)}
    frozen = v1.graph_util.extract_sub_graph(graph.as_graph_def(), [tensor.op.name for tensor in results + placeholders])
    (FOLDER / f"{name}.pb").write_bytes(frozen.SerializeToString(deterministic=True))
    np.savez_compressed(FOLDER / f"{name}.npz", **values)


def write_case(name):
    function, inputs, how = CASES[name]
    if how.get("version") == 1:
        return write_case_v1(name)
    specs = [tf.TensorSpec(spec[0], tf.as_dtype(spec[1]), name=f"x{i}") for i, spec in enumerate(inputs)]
    concrete = tf.function(function, input_signature=specs, autograph=False).get_concrete_function()
    random = np.random.default_rng(5)
    given = [values_of(spec, random) for spec in inputs]
    results = tf.nest.flatten(concrete(*[tf.constant(value) for value in given]))
    values = {f"input_{i}": value for i, value in enumerate(given)} | {f"output_{i}": result.numpy() for i, result in enumerate(results)}
    names = [tensor.op.name for tensor in concrete.outputs]
    graph = tf.compat.v1.graph_util.extract_sub_graph(concrete.graph.as_graph_def(), names + [tensor.op.name for tensor in concrete.inputs])
    for function in graph.library.function:
        function.arg_attr.clear()
    (FOLDER / f"{name}.pb").write_bytes(graph.SerializeToString(deterministic=True))
    np.savez_compressed(FOLDER / f"{name}.npz", **values)


def main():
    (FOLDER / "refused").mkdir(parents=True, exist_ok=True)
    refused()
    for name in sys.argv[1:] or [*CASES, "variables", "picked"]:
        try:
            if name in ("variables", "picked"):
                (write_saved if name == "variables" else write_picked)(name, np.random.default_rng(5))
            else:
                write_case(name)
        except Exception as error:  # TensorFlow raises anything
            print(f"{name}: {str(error).splitlines()[0]}")


main()
