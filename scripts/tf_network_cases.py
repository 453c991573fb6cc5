"""Cases of tf_cases.py for operators that networks of Keras and detectors have: resized and recolored pictures, counted and grouped numbers.

    add_to(case)     calls case(name, function, *inputs) for each
"""
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops

from case_values import F, I, L

raw = tf.raw_ops
IMAGE = ([2, 7, 6, 3], F)
COLORS = ([2, 4, 3, 3], F, 0, 1)
SEQUENCE = ([2, 7, 3], F)
SEGMENTS = [0, 0, 1, 1, 1, 3]


def add_resized(case):
    for name, size in (("up", [11, 9]), ("down", [3, 4])):
        case(f"resizearea_{name}", lambda x, n=size: raw.ResizeArea(images=x, size=n), IMAGE)
        case(f"resizearea_{name}_aligned", lambda x, n=size: raw.ResizeArea(images=x, size=n, align_corners=True), IMAGE)
        for how in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
            case("_".join(["resizebicubic", name, *how]), lambda x, n=size, h=how: raw.ResizeBicubic(images=x, size=n, **h), IMAGE)
    for kernel in ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"):
        for antialias in (False, True):
            case(f"scaleandtranslate_{kernel}" + ("_antialias" if antialias else ""), lambda x, k=kernel, a=antialias: raw.ScaleAndTranslate(
                images=x, size=[4, 11], scale=[0.6, 1.7], translation=[0.3, -0.4], kernel_type=k, antialias=a), IMAGE)
    case("resized_by_program", lambda x: tf.image.resize(x, [4, 9], "lanczos3", antialias=True), IMAGE)


def add_colors(case):
    case("rgbtohsv", lambda x: raw.RGBToHSV(images=x), COLORS)
    case("rgbtohsv_greys", lambda x: raw.RGBToHSV(images=tf.floor(3 * x) / 2), COLORS)
    case("hsvtorgb", lambda x: raw.HSVToRGB(images=x), COLORS)
    case("adjusthue", lambda x, d: raw.AdjustHue(images=x, delta=d), COLORS, ([], F, -1, 1))
    case("adjustsaturation", lambda x: raw.AdjustSaturation(images=x, scale=1.6), COLORS)
    case("adjustcontrastv2", lambda x: raw.AdjustContrastv2(images=x, contrast_factor=0.4), COLORS)


def add_counted(case):
    for how in ({}, {"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}):
        case("_".join(["cumprod", *how]), lambda x, h=how: raw.Cumprod(x=x, axis=1, **h), SEQUENCE)
    case("bucketize", lambda x: raw.Bucketize(input=x, boundaries=[-0.5, 0, 0.25, 1]), SEQUENCE)
    case("bucketize_integers", lambda x: raw.Bucketize(input=x, boundaries=[-2, 0, 3]), ([2, 5], I, -5, 6))
    for name in ("LowerBound", "UpperBound"):
        case(name.lower(), lambda s, v, f=getattr(raw, name): f(sorted_inputs=tf.sort(tf.floor(3 * s)), values=tf.floor(3 * v)), ([2, 7], F), ([2, 4], F))
    case("lowerbound_long", lambda s, v: raw.LowerBound(sorted_inputs=tf.sort(s), values=v, out_type=tf.int64), ([2, 7], F), ([2, 4], F))
    counted = ([2, 6], I, 0, 7)
    case("bincount", lambda x: raw.Bincount(arr=x, size=5, weights=tf.zeros([0], F)), counted)
    case("bincount_weights", lambda x, w: raw.Bincount(arr=x, size=5, weights=w), counted, ([2, 6], F))
    case("densebincount", lambda x: raw.DenseBincount(input=x, size=5, weights=tf.zeros([0], I)), counted)
    case("densebincount_vector", lambda x: raw.DenseBincount(input=x, size=8, weights=tf.zeros([0], F)), ([6], L, 0, 7))
    case("densebincount_weights", lambda x, w: raw.DenseBincount(input=x, size=5, weights=w), counted, ([2, 6], F))
    case("densebincount_binary", lambda x: raw.DenseBincount(input=x, size=5, weights=tf.zeros([0], F), binary_output=True), counted)


def add_grouped(case):
    rows = ([6, 3], F)
    for name in ("Sum", "Prod", "Max", "Min", "Mean"):
        case(f"segment{name.lower()}", lambda x, f=getattr(raw, "Segment" + name): f(data=x, segment_ids=SEGMENTS), rows)
    for name in ("Sum", "Mean", "SqrtN"):
        given = {"indices": [4, 0, 2, 2, 5, 1], "segment_ids": SEGMENTS}
        case(f"sparsesegment{name.lower()}", lambda x, f=getattr(raw, "SparseSegment" + name), g=given: f(data=x, **g), rows)
        case(f"sparsesegment{name.lower()}withnumsegments", lambda x, f=getattr(raw, f"SparseSegment{name}WithNumSegments"), g=given: f(
            data=x, num_segments=6, **g), rows)
    case("unsortedsegmentsum_one_group", lambda x: raw.UnsortedSegmentSum(data=x, segment_ids=2, num_segments=4), ([3], F))


def add_windows(case):
    for padding in ("SAME", "VALID"):
        case(f"maxpoolwithargmax_{padding.lower()}", lambda x, p=padding: raw.MaxPoolWithArgmax(
            input=x, ksize=[1, 3, 2, 1], strides=[1, 2, 2, 1], padding=p), IMAGE)
        for name, strides, rates in (("", [1, 2, 1, 1], [1, 1, 1, 1]), ("_rates", [1, 1, 2, 1], [1, 2, 2, 1])):
            case(f"extractimagepatches_{padding.lower()}{name}", lambda x, p=padding, s=strides, r=rates: raw.ExtractImagePatches(
                images=x, ksizes=[1, 3, 2, 1], strides=s, rates=r, padding=p), IMAGE)
    case("maxpoolwithargmax_images", lambda x: raw.MaxPoolWithArgmax(
        input=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID", include_batch_in_index=True), IMAGE)
    case("maxpoolwithargmax_int", lambda x: raw.MaxPoolWithArgmax(
        input=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID", Targmax=tf.int32), IMAGE)


def boxes(x, y):
    """Boxes whose corners are in order."""
    return tf.concat([x, x + 0.2 + y], -1)


def add_boxes(case):
    for name, kinds, how in (("", 1, {}), ("_of_classes", 3, {}), ("_unclipped", 1, {"clip_boxes": False}), ("_padded", 1, {"pad_per_class": True})):
        corner = ([2, 8, kinds, 2], F, 0, 0.7)
        case("combinednonmaxsuppression" + name, lambda x, y, s, h=how: raw.CombinedNonMaxSuppression(
            boxes=boxes(x, y), scores=s, max_output_size_per_class=3, max_total_size=10, iou_threshold=0.3, score_threshold=0.2, **h),
            corner, ([2, 8, kinds, 2], F, 0, 0.5), ([2, 8, 3], F, 0, 1))


def add_updated(case):
    for name, start in (("", [1, 0]), ("_moved", [5, -2])):
        case("xladynamicupdateslice" + name, lambda x, u, s=start: gen_xla_ops.xla_dynamic_update_slice(input=x, update=u, indices=s), ([4, 5], F), ([2, 3], F))
    case("xladynamicupdateslice_computed", lambda x, u, s: gen_xla_ops.xla_dynamic_update_slice(input=x, update=u, indices=s), ([4, 5], F), ([2, 3], F), ([2], I, 0, 4))
    case("matrixbandpart_computed", lambda x, n, m: tf.linalg.band_part(x, n, m), ([2, 5, 6], F), ([], L, 1, 2), ([], L, -1, 0))


def add_masked(case):
    number = ([], I, 2, 3)
    case("stridedslice_computed_ellipsis", lambda x, n: x[..., :n], ([2, 5, 4], F), number)
    case("stridedslice_computed_new_axis", lambda x, n: x[:, tf.newaxis, n - 1, ..., :n], ([2, 5, 4, 3], F), number)
    case("maxpool_integers", lambda x: raw.MaxPool(input=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"), ([1, 5, 4, 2], I, -9, 9))
    case("if_result_not_read", lambda x: tf.cond(x[0, 0] > 0, lambda: (x + 1, tf.shape(x)), lambda: (2 * x, tf.shape(x) + 1))[0], ([2, 3], F))


def add_to(case):
    for add in (add_resized, add_colors, add_counted, add_grouped, add_windows, add_boxes, add_updated, add_masked):
        add(case)
