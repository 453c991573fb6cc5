"""Cases of tf_cases.py for values of attributes that an operator's plainest case does not have.

    add_to(case, weight)     calls case(name, function, *inputs) for each
"""
import tensorflow as tf

from case_values import B, F

raw = tf.raw_ops
IMAGE = ([1, 7, 6, 3], F)


def add_to(case, weight):
    # Pads at both ends, and a row and a column that no window begins at.
    for name, size, strides, pads in (("", [1, 14, 12, 4], 2, [1, 0, 0, 1]), ("_uneven", [1, 7, 7, 4], 1, [2, 0, 0, 1]), ("_further", [1, 21, 18, 4], 3, [0, 2, 1, 1])):
        case("conv2dbackpropinput_explicit" + name, lambda x, n=size, s=strides, p=pads: raw.Conv2DBackpropInput(
            input_sizes=n, filter=weight(3, 3, 4, 3), out_backprop=x, strides=[1, s, s, 1], padding="EXPLICIT", explicit_paddings=[0, 0, *p, 0, 0]), IMAGE)
    case("depthwise_valid", lambda x: raw.DepthwiseConv2dNative(input=x, filter=weight(3, 2, 3, 2), strides=[1, 2, 2, 1], padding="VALID"), IMAGE)
    case("depthwise_explicit", lambda x: raw.DepthwiseConv2dNative(
        input=x, filter=weight(3, 2, 3, 2), strides=[1, 1, 1, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 2, 0, 0, 1, 0, 0]), IMAGE)
    case("maxpool_explicit", lambda x: raw.MaxPool(
        input=x, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 2, 0, 0, 1, 0, 0]), IMAGE)
    case("any_keep_dims", lambda x: tf.reduce_any(x, 1, keepdims=True), ([2, 5], B))
    for version in ("", "V3"):
        how = {"Tout": tf.float32} if version else {}
        case(f"batchmatmul{version.lower()}_adjoint", lambda x, y, f=getattr(raw, "BatchMatMul" + version), h=how: f(
            x=x, y=y, adj_x=True, adj_y=True, **h), ([2, 5, 3], F), ([2, 4, 5], F))
    case("reversesequence_batch_last", lambda x: tf.reverse_sequence(x, [2, 4, 1], seq_axis=0, batch_axis=1), ([4, 3, 2], F))
    for version in ("", "V2", "V3"):
        case(f"fusedbatchnorm{version.lower()}_channels_first", lambda x, f=getattr(raw, "FusedBatchNorm" + version): f(
            x=x, scale=weight(7), offset=weight(7), mean=weight(7), variance=tf.abs(weight(7)), is_training=False, data_format="NCHW")[0], IMAGE)
