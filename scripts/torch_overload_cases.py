"""A program for each overload of ATen that the reader of .pt2 maps and that no program of torch_cases.py has: calls of torch.ops.aten.

    add_to(case)     calls case(name, function, *inputs, dynamic=...) for each
"""
import math

import torch

from torch_inputs import real, whole

aten = torch.ops.aten


def flags(*shape):
    return torch.rand(*shape) > 0.5


def elementwise(one):
    x, y, i, j = real(2, 3, 4), real(2, 3, 4), whole(2, 3), whole(2, 3, low=1)
    b, c = flags(2, 3), flags(2, 3)
    one("aten.__and__.Tensor", aten.__and__.Tensor, i, j)
    one("aten.__or__.Tensor", aten.__or__.Tensor, i, j)
    for name in ("add", "sub", "subtract", "mul", "multiply", "div", "divide", "rsub"):
        scalar = getattr(getattr(aten, name), "Scalar")
        one(f"aten.{name}.Scalar", lambda x, scalar=scalar: scalar(x, 2.5), x)
    for name in ("subtract", "multiply", "divide", "rsub"):
        one(f"aten.{name}.Tensor", getattr(aten, name).Tensor, x, y)
    one("aten.true_divide.Tensor", aten.true_divide.Tensor, i, j)
    for mode in ("floor", "trunc"):
        one(f"aten.div.Scalar_mode {mode}", lambda x, mode=mode: aten.div.Scalar_mode(x, 0.7, rounding_mode=mode), x)
    one("aten.divide.Scalar_mode", lambda i: aten.divide.Scalar_mode(i, 4, rounding_mode="floor"), i)
    one("aten.divide.Tensor_mode", lambda i, j: aten.divide.Tensor_mode(i, j, rounding_mode="trunc"), i, j)
    one("aten.floor_divide.Scalar", lambda i: aten.floor_divide.Scalar(i, 4), i)
    one("aten.fmod.Tensor", aten.fmod.Tensor, i, j)
    one("aten.remainder.Tensor", aten.remainder.Tensor, i, j)
    for name in ("eq", "ne", "le"):
        one(f"aten.{name}.Scalar", lambda i, f=getattr(aten, name).Scalar: f(i, 2), i)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        one(f"aten.{name}.Scalar", lambda i, f=getattr(aten, name).Scalar: f(i, 6), i)
    one("aten.max.other", aten.max.other, x, y)
    one("aten.min.other", aten.min.other, x, y)
    one("aten.pow.Scalar", lambda x: aten.pow.Scalar(1.5, x), x)
    one("aten.copysign.Scalar", lambda x: aten.copysign.Scalar(x, -2.0), x)
    one("aten.lerp.Tensor", aten.lerp.Tensor, x, y, torch.rand(2, 3, 4))
    one("aten.xlogy.Scalar_Other", lambda x: aten.xlogy.Scalar_Other(x, 2.0), x)
    one("aten.xlogy.Scalar_Self", lambda x: aten.xlogy.Scalar_Self(2.0, x), torch.rand(3) + 0.5)
    one("aten.special_xlogy.default", aten.special_xlogy.default, x, torch.rand(2, 3, 4) + 0.5)
    one("aten.special_logit.default", lambda x: aten.special_logit.default(x, 0.1), torch.rand(2, 5))
    one("aten.special_sinc.default", aten.special_sinc.default, x)
    one("aten.clamp_max.default", lambda x: aten.clamp_max.default(x, 0.3), x)
    one("aten.clamp_min.default", lambda x: aten.clamp_min.default(x, 0.3), x)
    one("aten.clamp_max.Tensor", aten.clamp_max.Tensor, x, y)
    one("aten.clamp_min.Tensor", aten.clamp_min.Tensor, x, y)
    for name in ("alias", "alias_copy", "conj_physical", "detach", "positive", "real", "resolve_conj", "resolve_neg"):
        one(f"aten.{name}.default", lambda x, f=getattr(aten, name).default: f(x) * 2, x)
    one("aten.where.Scalar", lambda b: aten.where.Scalar(b, 2.0, -1.0), b)
    one("aten.where.ScalarSelf", lambda b, x: aten.where.ScalarSelf(b, 2.0, x), b, real(2, 3))
    one("aten.masked_fill.Tensor", lambda x, b: aten.masked_fill.Tensor(x, b, torch.tensor(-1.0)), real(2, 3), c)
    one("aten.copy.default", lambda x, i: aten.copy.default(x, i), real(2, 3), i)
    one("aten.fill.Scalar", lambda x: aten.fill.Scalar(x, 3.5), x)
    one("aten.fill.Tensor", aten.fill.Tensor, x, torch.tensor(2.25))
    one("aten.zero.default", aten.zero.default, x)


def types(one):
    x, i = real(2, 3), whole(2, 3)
    one("aten._to_copy.default", lambda x: aten._to_copy.default(x, dtype=torch.int64), x * 4)
    one("aten.to.device", lambda x: aten.to.device(x, torch.device("cpu"), torch.float64), x)
    one("aten.to.dtype_layout", lambda x: aten.to.dtype_layout(x, dtype=torch.float64), x)
    one("aten.to.other", aten.to.other, x * 4, i)
    one("prims.convert_element_type.default", lambda x: torch.ops.prims.convert_element_type.default(x, torch.float64), x)
    one("aten.view.dtype", lambda x: aten.view.dtype(x, torch.float32) + 1, x)


def activations(one):
    x = real(2, 6)
    one("aten._log_softmax.default", lambda x: aten._log_softmax.default(x, 1, False), x)
    one("aten._softmax.default", lambda x: aten._softmax.default(x, -1, False), x)
    one("aten._prelu_kernel.default", aten._prelu_kernel.default, x, torch.rand(1, 6))
    one("aten.dropout.default", lambda x: aten.dropout.default(x, 0.5, False), x)
    one("aten.alpha_dropout.default", lambda x: aten.alpha_dropout.default(x, 0.5, False), x)
    one("aten.feature_dropout.default", lambda x: aten.feature_dropout.default(x, 0.5, False), x)
    one("aten.native_dropout.default", lambda x: aten.native_dropout.default(x, 0.5, False)[0], x)


def creation(one):
    x = real(2, 3)
    one("aten.arange.start", lambda x: aten.arange.start(2, 5) + x, x)
    one("aten.eye.default", lambda x: aten.eye.default(3) + x.sum(), x)
    one("aten.ones.default", lambda x: aten.ones.default([2, 1]) + x, x)
    one("aten.scalar_tensor.default", lambda x: aten.scalar_tensor.default(2.5) * x, x)
    one("aten.new_full.default", lambda x: aten.new_full.default(x, [3], 2.5) + x, x)
    one("aten.new_zeros.default", lambda x: aten.new_zeros.default(x, [4, 1, 1]) + x, x)
    one("aten.zeros_like.default", lambda x: aten.zeros_like.default(x, dtype=torch.int64), x)
    one("aten.empty.memory_format", lambda x: aten.fill.Scalar(aten.empty.memory_format([2, 3]), 2.0) + x, x)
    one("aten.empty_like.default", lambda x: aten.fill.Scalar(aten.empty_like.default(x), 2.0) + x, x)
    one("aten.new_empty.default", lambda x: aten.fill.Scalar(aten.new_empty.default(x, [3]), 2.0) + x, x)
    one("aten.meshgrid.default", lambda x, y: aten.meshgrid.default([x, y]), real(3), real(2))


def products(one):
    x, v, w = real(3, 4), real(4), real(4)
    one("aten.mv.default", aten.mv.default, x, v)
    one("aten.dot.default", aten.dot.default, v, w)
    one("aten.vdot.default", aten.vdot.default, v, w)
    one("aten.ger.default", aten.ger.default, v, w)
    one("aten.det.default", aten.det.default, real(4, 4))
    one("aten.linalg_diagonal.default", aten.linalg_diagonal.default, real(2, 3, 4))
    one("aten.mH.default", lambda x: aten.mH.default(x) * 2, real(2, 3, 4))
    one("aten.matrix_H.default", lambda x: aten.matrix_H.default(x) * 2, x)
    one("aten.numpy_T.default", lambda x: aten.numpy_T.default(x) * 2, x)


def convolutions(one):
    x = real(2, 4, 9)
    one("aten.conv1d.padding", lambda x, w: aten.conv1d.padding(x, w, None, [1], "same", [2], 1), x, real(6, 4, 3))
    one("aten.conv3d.padding", lambda x, w: aten.conv3d.padding(x, w, None, [1, 1, 1], "valid", [1, 1, 1], 1),
        real(1, 2, 4, 5, 6), real(3, 2, 2, 3, 3))
    one("aten.conv_transpose3d.input", lambda x, w: aten.conv_transpose3d.input(x, w, None, [2, 1, 2], [0, 1, 0], [1, 0, 1], 1),
        real(1, 2, 3, 4, 3), real(2, 3, 2, 3, 2))
    one("aten.convolution.default", lambda x, w: aten.convolution.default(x, w, None, [2], [1], [1], False, [0], 2), x, real(6, 2, 3))
    one("aten.convolution.default transposed", lambda x, w: aten.convolution.default(x, w, None, [2], [1], [1], True, [1], 2),
        x, real(4, 3, 3))


def normalizations(one):
    x, c = real(2, 4, 5), torch.rand(4) + 0.5
    one("aten._native_batch_norm_legit_no_training.default",
        lambda x, w, b, m, v: aten._native_batch_norm_legit_no_training.default(x, w, b, m, v, 0.1, 1e-5)[0],
        x, c, real(4), real(4), torch.rand(4) + 0.5)
    one("aten.native_layer_norm.default", lambda x, w, b: aten.native_layer_norm.default(x, [5], w, b, 1e-5)[0], x, real(5), real(5))


def pooling(one):
    one("aten._adaptive_avg_pool2d.default", lambda x: aten._adaptive_avg_pool2d.default(x, [2, 3]), real(1, 2, 4, 6))
    one("aten._adaptive_avg_pool3d.default", lambda x: aten._adaptive_avg_pool3d.default(x, [1, 2, 3]), real(1, 2, 2, 4, 6))
    one("aten.adaptive_max_pool1d.default", lambda x: aten.adaptive_max_pool1d.default(x, [3])[0], real(1, 2, 6))
    one("aten.max_pool3d_with_indices.default",
        lambda x: aten.max_pool3d_with_indices.default(x, [2, 2, 2], [1, 2, 1], [0, 1, 0])[0], real(1, 2, 3, 4, 5))


def padding(one):
    for rank, pads in ((1, [2, 1]), (2, [2, 1, 1, 2]), (3, [1, 2, 2, 1, 1, 1])):
        x = real(1, 2, *[4] * rank)
        for kind in ("reflection", "replication"):
            pad = getattr(aten, f"{kind}_pad{rank}d").default
            one(f"aten.{kind}_pad{rank}d.default", lambda x, pad=pad, pads=pads: pad(x, pads), x)
    one("aten.constant_pad_nd.default", lambda x: aten.constant_pad_nd.default(x, [1, -1, 0, 2], 1.5), real(2, 3, 4))
    one("aten.native_channel_shuffle.default", lambda x: aten.native_channel_shuffle.default(x, 3), real(1, 6, 2, 2))


def indexing(one):
    x, places = real(4, 3), torch.tensor([2, 0])
    one("aten._unsafe_index_put.default", lambda x, v: aten._unsafe_index_put.default(x, [places], v), x, real(2, 3))
    one("aten.index_fill.int_Tensor", lambda x: aten.index_fill.int_Tensor(x, 0, places, torch.tensor(2.0)), x)
    one("aten.argsort.stable", lambda x: aten.argsort.stable(x, stable=True, dim=0, descending=True), x)
    one("aten.sort.stable", lambda x: aten.sort.stable(x, stable=True, dim=1, descending=False), x)
    one("aten.argwhere.default", aten.argwhere.default, flags(3, 4))
    index = torch.tensor([[0, 1, 2], [3, 0, 1]])
    for reduce in ("add", "multiply"):
        one(f"aten.scatter.reduce {reduce}", lambda x, v, r=reduce: aten.scatter.reduce(x, 0, index, v, reduce=r), x, real(2, 3))
        one(f"aten.scatter.value_reduce {reduce}", lambda x, r=reduce: aten.scatter.value_reduce(x, 0, index, 2.5, reduce=r), x)
    for reduce in ("sum", "prod", "amax", "amin"):
        one(f"aten.scatter_reduce.two {reduce}", lambda x, v, r=reduce: aten.scatter_reduce.two(x, 0, index, v, r), x, real(2, 3))


def reductions(one):
    x = real(2, 3, 4)
    one("aten.mean.default", aten.mean.default, x)
    one("aten.count_nonzero.dim_IntList", lambda i: aten.count_nonzero.dim_IntList(i, [0, 2]), whole(2, 3, 4, low=-1, high=2))
    one("aten.norm.Scalar", lambda x: aten.norm.Scalar(x, 2), x)
    one("aten.norm.ScalarOpt_dim", lambda x: aten.norm.ScalarOpt_dim(x, 1, [1], True), x)
    for name in ("std", "var"):
        op = getattr(aten, name)
        one(f"aten.{name}.default", lambda x, op=op: op.default(x, False), x)
        both = getattr(aten, f"{name}_mean")
        one(f"aten.{name}_mean.default", lambda x, op=both: op.default(x, True), x)
        one(f"aten.{name}_mean.correction", lambda x, op=both: op.correction(x, [1], correction=0, keepdim=True), x)
    one("aten.std.correction", lambda x: aten.std.correction(x, [0, 2], correction=2), x)


def resizing(one):
    line, plane, volume = real(1, 2, 5), real(1, 2, 4, 5), real(1, 1, 3, 4, 3)
    one("aten.upsample_linear1d.default", lambda x: aten.upsample_linear1d.default(x, [8], True), line)
    one("aten.upsample_nearest1d.default", lambda x: aten.upsample_nearest1d.default(x, [10]), line)
    one("aten.upsample_nearest1d.vec", lambda x: aten.upsample_nearest1d.vec(x, None, [2.0]), line)
    one("aten._upsample_nearest_exact1d.vec", lambda x: aten._upsample_nearest_exact1d.vec(x, [7], None), line)
    one("aten.upsample_nearest2d.default", lambda x: aten.upsample_nearest2d.default(x, [8, 10]), plane)
    one("aten._upsample_nearest_exact2d.default", lambda x: aten._upsample_nearest_exact2d.default(x, [8, 10]), plane)
    one("aten.upsample_bilinear2d.default", lambda x: aten.upsample_bilinear2d.default(x, [7, 9], False), plane)
    one("aten.upsample_bicubic2d.default", lambda x: aten.upsample_bicubic2d.default(x, [7, 9], True), plane)
    one("aten._upsample_bilinear2d_aa.default", lambda x: aten._upsample_bilinear2d_aa.default(x, [2, 3], False), plane)
    one("aten._upsample_bicubic2d_aa.default", lambda x: aten._upsample_bicubic2d_aa.default(x, [2, 3], False), plane)
    one("aten._upsample_bicubic2d_aa.vec", lambda x: aten._upsample_bicubic2d_aa.vec(x, [2, 3], False, None), plane)
    one("aten.upsample_nearest3d.default", lambda x: aten.upsample_nearest3d.default(x, [6, 4, 3]), volume)
    one("aten.upsample_nearest3d.vec", lambda x: aten.upsample_nearest3d.vec(x, None, [2.0, 1.0, 2.0]), volume)
    one("aten._upsample_nearest_exact3d.vec", lambda x: aten._upsample_nearest_exact3d.vec(x, [6, 4, 3], None), volume)
    one("aten.upsample_trilinear3d.default", lambda x: aten.upsample_trilinear3d.default(x, [6, 5, 4], False), volume)
    one("aten.upsample_trilinear3d.vec", lambda x: aten.upsample_trilinear3d.vec(x, None, False, [2.0, 1.0, 2.0]), volume)
    one("aten.grid_sampler_3d.default", lambda x, g: aten.grid_sampler_3d.default(x, g, 1, 1, True), torch.randn(1, 2, 3, 4, 5), torch.rand(1, 2, 2, 3, 3) * 2 - 1)
    one("aten.grid_sampler_2d.default", lambda x, g: aten.grid_sampler_2d.default(x, g, 0, 1, True), plane, torch.rand(1, 3, 3, 2) * 2 - 1)


def views(one):
    x = real(2, 1, 3, 4)
    one("aten.broadcast_to.default", lambda x: aten.broadcast_to.default(x, [2, 5, 3, 4]) * 2, x)
    one("aten.expand_copy.default", lambda x: aten.expand_copy.default(x, [2, 5, 3, 4]), x)
    one("aten.permute_copy.default", lambda x: aten.permute_copy.default(x, [2, 0, 3, 1]), x)
    one("aten.transpose_copy.int", lambda x: aten.transpose_copy.int(x, 1, 3), x)
    one("aten.t_copy.default", aten.t_copy.default, real(2, 3))
    one("aten.view_copy.default", lambda x: aten.view_copy.default(x, [6, -1]), x)
    one("aten._unsafe_view.default", lambda x: aten._unsafe_view.default(x, [6, 4]), x)
    one("aten.view_as.default", lambda x, y: aten.view_as.default(x, y) + y, x, real(6, 4))
    one("aten.reshape_as.default", lambda x, y: aten.reshape_as.default(x, y) + y, x, real(6, 4))
    one("aten.squeeze_copy.default", aten.squeeze_copy.default, x)
    one("aten.squeeze_copy.dim", lambda x: aten.squeeze_copy.dim(x, 1), x)
    one("aten.squeeze_copy.dims", lambda x: aten.squeeze_copy.dims(x, [1, 2]), x)
    one("aten.unsqueeze_copy.default", lambda x: aten.unsqueeze_copy.default(x, -1), x)
    one("aten.moveaxis.int", lambda x: aten.moveaxis.int(x, 0, 2) * 2, x)
    one("aten.moveaxis.intlist", lambda x: aten.moveaxis.intlist(x, [0, 3], [1, 0]) * 2, x)
    one("aten.swapaxes.default", lambda x: aten.swapaxes.default(x, 0, 3) * 2, x)
    one("aten.swapdims.default", lambda x: aten.swapdims.default(x, 2, 3) * 2, x)
    one("aten.diagonal_copy.default", lambda x: aten.diagonal_copy.default(x, 1, 2, 3), x)
    one("aten.as_strided_copy.default", lambda x: aten.as_strided_copy.default(x, [2, 3], [1, 2], 1), real(12))
    one("aten.select_copy.int", lambda x: aten.select_copy.int(x, 2, -1), x)
    one("aten.slice_copy.Tensor", lambda x: aten.slice_copy.Tensor(x, 3, 1, 4, 2), x)
    one("aten.narrow_copy.default", lambda x: aten.narrow_copy.default(x, 3, 1, 2), x)
    one("aten.split.sizes", lambda x: aten.split.sizes(x, [1, 3], 3), x)
    one("aten.split_copy.Tensor", lambda x: aten.split_copy.Tensor(x, 3, 3), x)
    one("aten.split_with_sizes_copy.default", lambda x: aten.split_with_sizes_copy.default(x, [3, 1], 3), x)
    one("aten.unbind_copy.int", lambda x: aten.unbind_copy.int(x, 2), x)
    one("aten.unsafe_chunk.default", lambda x: aten.unsafe_chunk.default(x, 2, 3), x)
    one("aten.unsafe_split.Tensor", lambda x: aten.unsafe_split.Tensor(x, 2, 3), x)
    one("aten.unsafe_split_with_sizes.default", lambda x: aten.unsafe_split_with_sizes.default(x, [1, 3], 3), x)


def sizes(one):
    x = real(6, 3)
    open_axis = {0: {0: "n"}}
    for name, function in (("_operator.add", lambda n: n + 3), ("_operator.sub", lambda n: n - 12),
                           ("_operator.mul", lambda n: n * 2), ("_operator.floordiv", lambda n: n // 4 + 1),
                           ("_operator.mod", lambda n: n % 4 + 1), ("_operator.neg", lambda n: -n + 12),
                           ("_operator.pow", lambda n: n**2), ("torch.sym_max", lambda n: torch.sym_max(n, 7)),
                           ("torch.sym_min", lambda n: torch.sym_min(n, 4)),
                           ("math.trunc", lambda n: math.trunc(n / 4 + 1)), ("torch.sym_int", lambda n: torch.sym_int(n / 4 + 1))):
        one(name, lambda x, function=function: x * function(x.shape[0]), x, dynamic=open_axis)
    one("_operator.floordiv negative", lambda x: x * -(-x.shape[0] // 4), x, dynamic=open_axis)
    one("_operator.mod negative", lambda x: x * ((x.shape[0] - 20) % 4 + 1), x, dynamic=open_axis)
    one("math.trunc negative", lambda x: x * math.trunc((x.shape[0] - 17) / 4), x, dynamic=open_axis)
    one("torch.sym_max as size", lambda x: torch.arange(torch.sym_max(x.shape[0], 7)) * x.sum(), x, dynamic=open_axis)
    one("_operator.truediv", lambda x: x * (x.shape[0] / 4), x, dynamic=open_axis)
    one("torch.sym_float", lambda x: x * torch.sym_float(x.shape[0]), x, dynamic=open_axis)

    def read(number):
        count = number.item()
        torch._check(count >= 2)
        torch._check(count <= 9)
        return torch.arange(count)

    one("aten.item.default", read, torch.tensor(5))


GROUPS = (elementwise, types, activations, creation, products, convolutions, normalizations, pooling, padding, indexing, reductions,
          resizing, views, sizes)


def add_to(case):
    def one(op, function, *inputs, dynamic=None):
        call = (lambda *given: function(*given)) if isinstance(function, torch._ops.OpOverload) else function
        case("overload_" + op.replace(".", "_").replace(" ", "_").strip("_").lower(), call, *inputs, dynamic=dynamic)

    for group in GROUPS:
        group(one)
