"""Small programs over ATen operators, one for each operator and argument that the reader of .pt2 treats in a way of its own.

    CASES["softmax_last"] = (function of tensors, inputs, dynamic)

`dynamic` names sizes that stay open: {input: {axis: name}}. scripts/make_torch_cases exports them to testdata/torch, and CHANGES to
testdata/torch/changes.
"""
import torch
import torch.nn.functional as F

import torch_algebra_cases
import torch_fourier_cases
import torch_library_cases
import torch_overload_cases
import torch_selection_cases
import torch_value_cases
from torch_inputs import positive, real, whole

CASES = {}
CHANGES = {}
#: Programs that have no counterpart, of the same form.
REFUSED = {}


class Cache(torch.nn.Module):
    """Keeps what it was given, and counts."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(2, 4, 3))
        self.register_buffer("count", torch.ones((), dtype=torch.int64))

    def forward(self, x, place):
        self.cache.index_copy_(1, place, x)
        self.count.add_(1)
        return self.cache.sum(1) * self.count


class ChangedInput(torch.nn.Module):
    def forward(self, x, y):
        x.add_(y)
        return x * 2


def change(name, module, *inputs):
    """Programs that change buffers or inputs: as exported, and decomposed, where the signature says so."""
    CHANGES[name] = (module, inputs)


def case(name, function, *inputs, dynamic=None):
    assert name not in CASES, name
    CASES[name] = (function, inputs, dynamic)


def binary():
    a, b = real(2, 3, 4), real(3, 1)
    case("add", lambda x, y: x + y, a, b)
    case("add_alpha", lambda x, y: torch.add(x, y, alpha=2.5), a, b)
    case("add_promotes", lambda x, y: x + y, whole(3, 4), real(4))
    case("add_scalar_promotes", lambda x: x + 1.5, whole(3, 4))
    case("add_zero_dim", lambda x, y: x + y, real(3, 4), torch.tensor(2.0, dtype=torch.float64))
    case("sub", lambda x, y: x - y, a, b)
    case("rsub", lambda x: 2 - x, a)
    case("mul", lambda x, y: x * y, a, b)
    case("div", lambda x, y: x / y, a, positive(3, 1))
    case("div_integers", lambda x, y: x / y, whole(3, 4), whole(4, low=1))
    for mode in ("floor", "trunc"):
        case(f"div_{mode}", lambda x, y, m=mode: torch.div(x, y, rounding_mode=m), real(3, 4) * 5, positive(4))
        case(f"div_{mode}_integers", lambda x, y, m=mode: torch.div(x, y, rounding_mode=m), whole(3, 4), whole(4, low=1))
    case("floor_divide", lambda x: x // 3, whole(3, 4))
    case("remainder", lambda x: x % 3, whole(3, 4))
    case("remainder_real", lambda x: torch.remainder(x, -1.5), real(3, 4) * 5)
    case("fmod", lambda x: torch.fmod(x, 1.5), real(3, 4) * 5)
    case("pow", lambda x: x**3, a)
    case("pow_tensor", lambda x, y: x**y, positive(3, 4), real(4))
    case("maximum", torch.maximum, a, b)
    case("minimum", torch.minimum, a, b)
    case("atan2", torch.atan2, real(4, 5), real(5))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        case(name, getattr(torch, name), whole(3, 4, low=0, high=3), whole(4, low=0, high=3))
    case("ge_scalar", lambda x: x >= 0.5, real(3, 4))
    for name in ("logical_and", "logical_or", "logical_xor"):
        case(name, getattr(torch, name), real(3, 4) > 0, real(4) > 0)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        case(name, getattr(torch, name), whole(3, 4), whole(4))
        case(f"{name}_boolean", getattr(torch, name), real(3, 4) > 0, real(4) > 0)


def unary():
    for name in ("abs", "neg", "sign", "exp", "sin", "cos", "tan", "atan", "sinh", "cosh", "asinh", "tanh", "erf", "sigmoid",
                 "floor", "ceil", "round", "trunc", "expm1", "exp2", "erfc", "square", "isnan", "isinf"):
        case(name, getattr(torch, name), real(3, 4))
    for name in ("sqrt", "rsqrt", "reciprocal", "log", "log1p", "log2", "log10", "acosh"):
        case(name, getattr(torch, name), positive(3, 4) + 0.6)
    for name in ("asin", "acos", "atanh"):
        case(name, getattr(torch, name), torch.rand(3, 4) - 0.5)
    case("sqrt_integer", torch.sqrt, whole(3, 4, low=0))
    case("floor_integer", torch.floor, whole(3, 4))
    case("logical_not", torch.logical_not, whole(3, 4, low=0, high=2))
    case("bitwise_not", torch.bitwise_not, whole(3, 4))
    case("clamp", lambda x: x.clamp(-0.5, 0.7), real(3, 4))
    case("clamp_min", lambda x: x.clamp(min=0.1), real(3, 4))
    case("clamp_max", lambda x: x.clamp(max=0.1), real(3, 4))
    case("clamp_tensor", lambda x, y: torch.clamp(x, max=y), real(3, 4), real(4))


def activations():
    for name in ("relu", "silu", "hardtanh", "relu6", "hardswish", "hardsigmoid", "leaky_relu", "elu", "selu", "celu", "softplus",
                 "mish", "logsigmoid", "gelu"):
        case(name, getattr(F, name), real(3, 7) * 4)
    case("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), real(3, 7) * 4)
    case("rrelu", F.rrelu, real(3, 7) * 4)
    case("rrelu_bounds", lambda x: F.rrelu(x, 0.1, 0.5), real(3, 7) * 4)
    case("glu", lambda x: F.glu(x, 1), real(3, 6))
    case("prelu", F.prelu, real(2, 3, 4), real(3))
    case("softmax", lambda x: x.softmax(-1), real(3, 4))
    case("softmax_first", lambda x: x.softmax(0), real(3, 4))
    case("softmax_type", lambda x: x.softmax(-1, dtype=torch.float64), real(3, 4))
    case("log_softmax", lambda x: x.log_softmax(1), real(3, 4))


def products():
    case("linear", F.linear, real(3, 4), real(5, 4), real(5))
    case("linear_deep", F.linear, real(2, 3, 4), real(5, 4), real(5))
    case("linear_without_bias", F.linear, real(2, 3, 4), real(5, 4))
    for name, axes, shapes in (("1", 1, ((2, 3, 4), (4, 5))), ("turned", ([1], [1]), ((3, 4), (5, 4))), ("2", 2, ((2, 3, 4), (3, 4, 5))),
                               ("apart", ([0, 2], [2, 0]), ((2, 3, 4), (4, 5, 2))), ("0", 0, ((2, 3), (4,))), ("all", 2, ((2, 3), (2, 3)))):
        case(f"tensordot_{name}", lambda x, y, d=axes: torch.tensordot(x, y, d), real(*shapes[0]), real(*shapes[1]))
    case("mm", torch.mm, real(3, 4), real(4, 5))
    case("bmm", torch.bmm, real(2, 3, 4), real(2, 4, 5))
    case("matmul_broadcast", torch.matmul, real(2, 3, 4), real(4))
    case("addmm", lambda b, x, y: torch.addmm(b, x, y, beta=0.5, alpha=2), real(5), real(3, 4), real(4, 5))
    case("baddbmm", lambda b, x, y: torch.baddbmm(b, x, y, beta=0.5), real(2, 3, 5), real(2, 3, 4), real(2, 4, 5))
    for mode in ("bilinear", "nearest"):
        for padding in ("zeros", "border", "reflection"):
            case(f"grid_sample_volume_{mode}_{padding}", lambda x, grid, mode=mode, padding=padding:
                 F.grid_sample(x, grid, mode, padding, align_corners=False), real(2, 3, 4, 5, 6), real(2, 2, 3, 4, 3) * 0.8)
    case("grid_sample_volume_aligned", lambda x, grid, image, places: (F.grid_sample(x, grid, align_corners=True), F.grid_sample(image, places, "bicubic", align_corners=False)),
         real(1, 2, 4, 5, 6), real(1, 2, 3, 4, 3) * 0.8, real(1, 2, 5, 6), real(1, 3, 4, 2) * 0.8)
    case("pad_circular", lambda x: F.pad(x, (1, 2, 3, 1), "circular"), real(2, 3, 4, 5))
    case("conv_circular", torch.nn.Conv1d(3, 4, 3, padding=1, padding_mode="circular"), real(2, 3, 6))
    case("einsum_capitals", lambda x, y: torch.einsum("bHiW,Wbj->iHj", x, y), real(2, 3, 4, 5), real(5, 2, 6))
    case("einsum", lambda x, y: torch.einsum("bij, bjk -> bik", x, y), real(2, 3, 4), real(2, 4, 5))
    heads = (real(2, 3, 5, 4), real(2, 3, 6, 4), real(2, 3, 6, 4))
    case("attention", F.scaled_dot_product_attention, *heads)
    case("attention_causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *heads)
    case("attention_scale", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3), *heads)
    case("attention_mask", F.scaled_dot_product_attention, *heads, real(5, 6))
    mask = torch.rand(2, 1, 5, 6) > 0.4
    mask[0, 0, 2] = False
    case("attention_boolean_mask", F.scaled_dot_product_attention, *heads, mask)
    case("attention_shared_heads", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
         real(2, 6, 5, 4), real(2, 3, 6, 4), real(2, 3, 6, 4))


def convolutions():
    case("conv1d", lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1), real(2, 3, 9), real(4, 3, 3), real(4))
    case("conv2d", lambda x, w: F.conv2d(x, w, padding=(1, 2), dilation=2), real(2, 3, 9, 8), real(4, 3, 3, 3))
    case("conv2d_groups", lambda x, w, b: F.conv2d(x, w, b, groups=2), real(2, 4, 6, 6), real(6, 2, 3, 3), real(6))
    case("conv2d_without_batch", F.conv2d, real(3, 6, 6), real(4, 3, 3, 3))
    case("conv2d_same", lambda x, w: F.conv2d(x, w, padding="same"), real(2, 3, 6, 7), real(4, 3, 2, 3))
    case("conv3d", F.conv3d, real(1, 2, 4, 5, 5), real(3, 2, 2, 3, 3))
    case("conv_transpose1d", lambda x, w: F.conv_transpose1d(x, w, stride=2, output_padding=1), real(2, 3, 5), real(3, 4, 3))
    case("conv_transpose2d", lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1, groups=2), real(2, 4, 5, 5),
         real(4, 3, 3, 3), real(6))
    for dims, size in ((1, (9,)), (2, (9, 8)), (3, (5, 6, 7))):
        x = real(2, 3, *size)
        case(f"max_pool{dims}d", lambda x, d=dims: getattr(F, f"max_pool{d}d")(x, 3, stride=2, padding=1), x)
        case(f"avg_pool{dims}d", lambda x, d=dims: getattr(F, f"avg_pool{d}d")(x, 3, stride=2, padding=1), x)
        case(f"adaptive_avg_pool{dims}d_one", lambda x, d=dims: getattr(F, f"adaptive_avg_pool{d}d")(x, 1), x)
    case("max_pool2d_ceil", lambda x: F.max_pool2d(x, 3, stride=2, ceil_mode=True), real(2, 3, 8, 8))
    case("max_pool2d_dilated", lambda x: F.max_pool2d(x, 2, stride=1, dilation=2), real(2, 3, 8, 8))
    case("max_pool2d_indices", lambda x: F.max_pool2d(x, 2, return_indices=True), real(2, 3, 8, 6))
    case("max_pool2d_without_batch", lambda x: F.max_pool2d(x, 2), real(3, 8, 6))
    case("avg_pool2d_ceil", lambda x: F.avg_pool2d(x, 3, stride=2, ceil_mode=True), real(2, 3, 8, 8))
    case("avg_pool2d_without_padding", lambda x: F.avg_pool2d(x, 3, padding=1, count_include_pad=False), real(2, 3, 8, 8))
    case("adaptive_avg_pool2d_even", lambda x: F.adaptive_avg_pool2d(x, (2, 4)), real(2, 3, 6, 8))
    case("adaptive_avg_pool2d_uneven", lambda x: F.adaptive_avg_pool2d(x, (3, 5)), real(2, 3, 7, 9))
    case("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, (3, 4)), real(2, 3, 6, 8))
    case("adaptive_max_pool2d_indices", lambda x: F.adaptive_max_pool2d(x, (3, 4), return_indices=True), real(2, 3, 6, 8))
    case("adaptive_max_pool2d_uneven", lambda x: F.adaptive_max_pool2d(x, (3, 5), return_indices=True), real(2, 3, 7, 9).round())
    case("adaptive_max_pool1d_uneven", lambda x: F.adaptive_max_pool1d(x, 4, return_indices=True), real(3, 7))
    case("adaptive_max_pool2d_one", lambda x: F.adaptive_max_pool2d(x, 1, return_indices=True), real(2, 3, 5, 6), dynamic={0: {2: "h", 3: "w"}})
    case("adaptive_max_pool3d", lambda x: F.adaptive_max_pool3d(x, (2, 3, 1), return_indices=True), real(1, 2, 5, 4, 3))


def normalizations():
    x, c = real(2, 6, 4, 5), (positive(6), real(6))
    case("batch_norm", lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b), x, real(6), positive(6), *c)
    case("batch_norm_plain", lambda x, m, v: F.batch_norm(x, m, v, eps=1e-3), x, real(6), positive(6))
    case("layer_norm", lambda x, w, b: F.layer_norm(x, (4, 5), w, b), x, positive(4, 5), real(4, 5))
    case("layer_norm_plain", lambda x: F.layer_norm(x, (5,)), x)
    case("group_norm", lambda x, w, b: F.group_norm(x, 3, w, b), x, *c)
    case("group_norm_plain", lambda x: F.group_norm(x, 2), x)
    case("group_norm_native", lambda x, w, b: torch.ops.aten.native_group_norm(x, w, b, 2, 6, 20, 3, 1e-5), real(2, 6, 4, 5), *c)
    case("batch_norm_own", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), x, *c)
    case("batch_norm_native", lambda x, w, b: torch.ops.aten._native_batch_norm_legit.no_stats(x, w, b, True, 0.1, 1e-5), x, *c)
    case("instance_norm", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), x, *c)
    case("rms_norm", lambda x, w: F.rms_norm(x, (5,), w, 1e-6), x, positive(5))


def reductions():
    x = real(2, 3, 4)
    for name in ("sum", "mean", "amax", "amin", "logsumexp"):
        case(f"{name}_axis", lambda x, n=name: getattr(torch, n)(x, 1), x)
        case(f"{name}_axes_kept", lambda x, n=name: getattr(torch, n)(x, (0, -1), keepdim=True), x)
    case("sum_all", torch.sum, x)
    case("sum_integers", torch.sum, torch.randint(0, 9, (3, 4), dtype=torch.int32))
    case("sum_booleans", lambda x: (x > 0).sum(1), x)
    case("mean_type", lambda x: x.mean(1, dtype=torch.float64), x)
    case("prod", lambda x: x.prod(1), x)
    case("prod_all", torch.prod, x)
    for name in ("max", "min"):
        case(f"{name}_all", getattr(torch, name), x)
        case(f"{name}_axis", lambda x, n=name: getattr(torch, n)(x, 1), x)
        case(f"arg{name}", lambda x, n=name: getattr(torch, f"arg{n}")(x, 1), x)
        case(f"arg{name}_all", lambda x, n=name: getattr(torch, f"arg{n}")(x), x)
    for name in ("any", "all"):
        case(f"{name}_axis", lambda x, n=name: getattr(torch, n)(x > 0, 1), x)
        case(f"{name}_everything", lambda x, n=name: getattr(torch, n)(x > 0), x)
    case("var", lambda x: x.var(1), x)
    case("var_population", lambda x: x.var((0, 2), correction=0, keepdim=True), x)
    case("std", lambda x: x.std(-1), x)
    case("var_mean", lambda x: torch.var_mean(x, 1), x)
    for order in (0, 1, 2, 3, float("inf")):
        case(f"norm_{order}".replace("inf", "infinity"), lambda x, p=order: torch.linalg.vector_norm(x, p, dim=1), x)
    case("cumsum", lambda x: x.cumsum(1), x)
    case("cumsum_integers", lambda x: x.cumsum(0), torch.randint(0, 9, (3, 4), dtype=torch.int32))


def views():
    x = real(2, 3, 4)
    batch = {0: {0: "batch"}}
    case("view", lambda x: x.view(6, 4), x)
    case("view_open", lambda x: x.view(x.shape[0], 12), x, dynamic=batch)
    case("view_two_open", lambda x: x.reshape(x.shape[0], x.shape[1] * 4, -1), real(2, 3, 4, 5), dynamic={0: {0: "n", 1: "c"}})
    case("flatten", lambda x: x.flatten(1), x, dynamic=batch)
    case("flatten_middle", lambda x: x.flatten(1, 2), real(2, 3, 4, 5), dynamic=batch)
    case("unflatten", lambda x: x.unflatten(1, (2, -1)), real(2, 6, 4), dynamic=batch)
    case("permute", lambda x: x.permute(2, 0, 1), x)
    case("transpose", lambda x: x.transpose(0, -1), x)
    case("t", lambda x: x.t(), real(3, 4))
    case("unsqueeze", lambda x: x.unsqueeze(-1), x)
    case("squeeze", lambda x: x.squeeze(), real(1, 3, 1))
    case("squeeze_axis", lambda x: x.squeeze(0), real(1, 3, 1))
    case("squeeze_nothing", lambda x: x.squeeze(1), real(1, 3, 1))
    case("expand", lambda x: x.expand(5, -1, 4), real(3, 1))
    case("expand_open", lambda x, y: x.expand(y.shape[0], -1), real(1, 3), real(4, 2), dynamic={1: {0: "n"}})
    case("expand_as", lambda x, y: x.expand_as(y), real(3, 1), real(2, 3, 4))
    case("repeat", lambda x: x.repeat(2, 1, 3), real(3, 4))
    case("contiguous_clone", lambda x: x.transpose(0, 1).contiguous().clone(), x)


def strided_views():
    sizes = {0: {0: "n"}}
    case("as_strided", lambda x: x.as_strided((2, 2, 3), (4, 2, 1), 1), real(3, 4))
    case("as_strided_overlapping", lambda x: torch.relu(x).as_strided((5, 3), (2, 1)), real(12))
    case("as_strided_transposed", lambda x: x.t().as_strided((4, 3), (3, 1)), real(4, 3))
    case("as_strided_permuted", lambda x: (x.permute(2, 0, 1) * 2).as_strided((24,), (1,)), real(2, 3, 4))
    case("as_strided_open", lambda x: (x * 2).as_strided((x.shape[0], 4, 1, 1), (4, 1, 4, 4)), real(3, 4, 1, 1), dynamic=sizes)


def slices():
    x = real(5, 6, 7)
    case("slice", lambda x: x[1:4, ::2], x)
    case("narrow", lambda x: x.narrow(1, 2, 3), x)
    case("select", lambda x: x[:, -2], x)
    case("split", lambda x: x.split(2, 0), x)
    case("split_sizes", lambda x: x.split([1, 2, 3], 1), x)
    case("chunk", lambda x: x.chunk(3, 2), x)
    case("unbind", lambda x: x.unbind(1), real(2, 3))
    case("cat", lambda x, y: torch.cat([x, y], -1), real(2, 3), real(2, 4))
    case("cat_promotes", lambda x, y: torch.cat([x, y]), real(2), whole(3))
    case("stack", lambda x, y: torch.stack([x, y], 1), real(2, 3), real(2, 3))
    case("write_slice", lambda x, y: x.clone().slice_scatter(y, 1, 1, 4), real(3, 6), real(3, 3))
    case("write_select", lambda x, y: x.select_scatter(y, 1, 2), real(3, 6), real(3))

    def in_place(x):
        y = x.clone()
        y[:, 1:3] *= 2
        y[0] = 5
        y.add_(1)
        z = y.view(-1)
        z[3] = -1
        return y + z.view(3, 4)

    case("writes", in_place, real(3, 4))

    def transposed(x):
        y = x.clone()
        y.t()[1].relu_()
        y.unsqueeze(0)[0, 2].fill_(3)
        return y

    case("writes_through_views", transposed, real(3, 4))


def creation():
    sizes = {0: {0: "n"}}
    case("zeros_open", lambda x: torch.zeros(x.shape[0], 3) + x.sum(), real(4, 2), dynamic=sizes)
    case("ones_like", lambda x: torch.ones_like(x) + x, real(3, 4))
    case("random_not_needed", lambda x: (torch.rand(3), x + 1)[1], real(3))
    case("full", lambda x: torch.full((2, 3), 1.5) + x, real(3))
    case("full_like", lambda x: torch.full_like(x, 2.5) * x, real(3, 4))
    case("new_ones", lambda x: x.new_ones(3, 2) + x.sum(), real(4, 2))
    case("arange_open", lambda x: torch.arange(x.shape[0]) + x.sum(1).to(torch.int64), whole(4, 2), dynamic=sizes)
    case("arange_step", lambda x: torch.arange(9, 0, -2) + x, whole(5))
    case("arange_real", lambda x: torch.arange(0, 1, 0.25) + x, real(4))
    case("linspace", lambda x: torch.linspace(-1, 2, 7) * x, real(7))
    case("eye", lambda x: torch.eye(3, 4) * x, real(3, 4))
    case("meshgrid", lambda x, y: torch.meshgrid(x, y, indexing="ij"), real(3), real(4))
    case("meshgrid_xy", lambda x, y: torch.meshgrid(x, y, indexing="xy"), real(3), real(4))
    case("tril", lambda x: x.tril(1), real(3, 4))
    case("triu", lambda x: x.triu(-1), real(2, 3, 4))


def indexing():
    x = real(4, 5, 6)
    i, j = torch.tensor([0, 3, 1]), torch.tensor([[2], [-1]])
    case("index", lambda x, i: x[:, i], x, i)
    case("index_matrix", lambda x, j: x[:, j], x, j)
    case("index_two", lambda x, i, j: x[i, j], x, i, j)
    case("index_two_last", lambda x, i, j: x[:, i, j], x, i, j)
    case("index_apart", lambda x, i, j: x[i, :, j], x, i, j)
    case("index_mask", lambda x: x[x > 0], real(3, 4))
    case("index_put", lambda x, i, v: x.index_put((i,), v), real(4, 5), i, real(3, 5))
    case("index_put_last", lambda x, i, v: torch.ops.aten.index_put(x, [None, i], v), real(4, 5), i, real(4, 3))
    case("index_put_accumulate", lambda x, i, v: x.index_put((i,), v, accumulate=True), real(4, 5), torch.tensor([1, 1, 2]),
         real(3, 5))
    case("embedding", lambda i, w: F.embedding(i, w), whole(2, 3, low=0, high=5), real(5, 4))
    case("index_select", lambda x, i: x.index_select(1, i), x, i)
    case("gather", lambda x, i: x.gather(1, i), real(3, 4), whole(3, 2, low=0, high=4))
    case("scatter", lambda x, i, v: x.scatter(1, i, v), real(3, 4), torch.tensor([[0, 2], [1, 3], [3, 0]]), real(3, 4))
    case("scatter_value", lambda x, i: x.scatter(0, i, 1.5), real(3, 4), torch.tensor([[0, 2, 1, 1]]))
    case("scatter_add", lambda x, i, v: x.scatter_add(1, i, v), real(3, 4), torch.tensor([[0, 0], [1, 3], [3, 0]]), real(3, 2))
    case("where", lambda x, y: torch.where(x > 0, x, y), real(3, 4), real(4))
    case("where_scalar", lambda x: torch.where(x > 0, x, 2.0), real(3, 4))
    case("masked_fill", lambda x: x.masked_fill(x > 0, -1), real(3, 4))
    case("topk", lambda x: x.topk(3, dim=1, largest=False), real(3, 6))
    case("sort", lambda x: x.sort(dim=0, descending=True), real(5, 3))
    case("argsort", lambda x: x.argsort(1), real(3, 6))
    case("nonzero", lambda x: (x > 0).nonzero(), real(3, 4))


def rearrangements():
    x = real(2, 3, 5, 6)
    case("pad", lambda x: F.pad(x, (1, 2, 0, 3), value=1.5), x)
    case("pad_reflect", lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect"), x)
    case("pad_replicate", lambda x: F.pad(x, (1, 2, 2, 1), mode="replicate"), x)
    case("pad_negative", lambda x: F.pad(x, (-1, 1)), x)
    case("roll", lambda x: x.roll((1, -2), (2, 3)), x)
    case("roll_flat", lambda x: x.roll(7), x)
    case("flip", lambda x: x.flip(1, 3), x)
    case("diff", lambda x: x.diff(n=2), x)
    case("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), real(1, 8, 3, 3))
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        name = mode.replace("-", "_")
        case(f"resize_{name}_factor", lambda x, m=mode: F.interpolate(x, scale_factor=1.7, mode=m), x)
        case(f"resize_{name}_size", lambda x, m=mode: F.interpolate(x, size=(3, 11), mode=m), x)
    case("resize_aligned", lambda x: F.interpolate(x, size=(7, 4), mode="bilinear", align_corners=True), x)
    case("resize_to_one", lambda x: F.interpolate(x, size=(1, 1), mode="bilinear"), x)
    case("resize_antialias", lambda x: F.interpolate(x, size=(3, 4), mode="bilinear", antialias=True), x)
    case("resize_linear", lambda x: F.interpolate(x, size=9, mode="linear"), real(2, 3, 5))
    grid = torch.rand(2, 4, 3, 2) * 2.4 - 1.2
    for padding in ("zeros", "border", "reflection"):
        case(f"grid_sample_{padding}", lambda x, g, p=padding: F.grid_sample(x, g, padding_mode=p, align_corners=False), x, grid)
    case("grid_sample_aligned", lambda x, g: F.grid_sample(x, g, align_corners=True), x, grid)
    blocks = {"dilation": (1, 2), "padding": (1, 0), "stride": (2, 1)}
    case("unfold_image", lambda x: F.unfold(x, (3, 2), **blocks), x)
    case("unfold_image_without_batch", lambda x: F.unfold(x, 2), real(3, 4, 5))
    case("unfold_image_open", lambda x: F.unfold(x, (3, 2), padding=1), x, dynamic={0: {0: "n", 2: "h", 3: "w"}})
    case("fold_image", lambda x: F.fold(x, (5, 6), (3, 2), **blocks), real(2, 18, 12))
    case("fold_image_without_batch", lambda x: F.fold(x, (4, 5), 2), real(12, 12))
    case("weight_norm", lambda v, g: torch._weight_norm(v, g, 0), real(4, 3, 2), positive(4, 1, 1))


def compositions():
    x, y = real(3, 4), real(4)
    for name in ("logaddexp", "logaddexp2", "hypot", "heaviside", "copysign", "xlogy"):
        case(name, getattr(torch, name), x, positive(4))
    edges = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan, 1.0])
    case("logaddexp_edges", torch.logaddexp, edges, edges)
    case("hypot_edges", torch.hypot, edges, torch.zeros(6))
    case("copysign_edges", torch.copysign, torch.ones(6), edges)
    case("xlogy_edges", torch.xlogy, torch.zeros(6), edges)
    case("isclose", torch.isclose, edges, edges)
    case("isclose_nan", lambda x, y: torch.isclose(x, y, rtol=0.1, equal_nan=True), edges, edges * 1.05)
    for name in ("isfinite", "isposinf", "isneginf", "nan_to_num"):
        case(name, getattr(torch, name), edges)
    case("nan_to_num_given", lambda x: x.nan_to_num(1.0, 2.0, 3.0), edges)
    for name in ("frac", "rad2deg", "deg2rad", "sinc", "sgn"):
        case(name, getattr(torch, name), real(3, 4) * 3)
    case("logit", torch.logit, torch.rand(3, 4))
    case("logit_eps", lambda x: torch.logit(x, 0.2), torch.rand(3, 4))
    case("round_decimals", lambda x: (x.round(decimals=1), x.round(decimals=-1)), real(3, 4) * 20)
    case("threshold", lambda x: F.threshold(x, 0.3, -2), x)
    case("softshrink", F.softshrink, x)
    case("hardshrink", F.hardshrink, x)
    case("lerp", lambda x, y: torch.lerp(x, y, 0.3), x, y)
    case("addcmul", lambda x, y: torch.addcmul(x, x, y, value=0.5), x, y)
    case("addcdiv", torch.addcdiv, x, x, positive(4))
    case("safe_softmax", lambda x: torch.ops.aten._safe_softmax(x, 1), torch.tensor([[1.0, 2.0], [-torch.inf, -torch.inf]]))


def losses():
    x, y = real(3, 4), real(3, 4)
    for name in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss"):
        case(name, getattr(F, name), x, y)
    case("huber_loss_sum", lambda x, y: F.huber_loss(x, y, reduction="sum", delta=0.3), x, y)
    case("smooth_l1_loss_none", lambda x, y: F.smooth_l1_loss(x, y, reduction="none", beta=0.3), x, y)
    case("binary_cross_entropy", F.binary_cross_entropy, torch.rand(3, 4), torch.rand(3, 4), positive(4))
    case("binary_cross_entropy_sure", F.binary_cross_entropy, torch.tensor([0.0, 1.0]), torch.tensor([0.0, 0.0]))
    case("binary_cross_entropy_with_logits", lambda x, y, w: F.binary_cross_entropy_with_logits(x, y, pos_weight=w), x,
         torch.rand(3, 4), positive(4))
    case("soft_margin_loss", F.soft_margin_loss, x, y.sign())
    case("kl_div", lambda x, y: F.kl_div(x, y, reduction="sum"), x, F.relu(y))
    logits, pixels, classes = real(3, 4), real(2, 4, 3), torch.tensor([2, -100, 0])
    places, weight = whole(2, 3, low=0, high=4), positive(4)
    soft = torch.rand(3, 4)
    case("cross_entropy", F.cross_entropy, logits, classes)
    for reduction in ("none", "sum", "mean"):
        case(f"cross_entropy_weighted_{reduction}", lambda x, t, w, r=reduction: F.cross_entropy(x, t, w, reduction=r, ignore_index=1),
             pixels, places, weight)
        case(f"cross_entropy_smooth_{reduction}",
             lambda x, t, w, r=reduction: (F.cross_entropy(x, t, w, reduction=r, ignore_index=1, label_smoothing=0.2),
                                           F.cross_entropy(x, t, reduction=r, label_smoothing=0.1)), pixels, places, weight)
        case(f"cross_entropy_soft_{reduction}",
             lambda x, t, w, r=reduction: (F.cross_entropy(x, t, w, reduction=r, label_smoothing=0.2), F.cross_entropy(x, t, reduction=r)),
             logits, soft, weight)
        case(f"nll_loss_{reduction}", lambda x, t, w, r=reduction: F.nll_loss(x.log_softmax(1), t, w, reduction=r, ignore_index=2), pixels,
             places, weight)
    case("cross_entropy_without_batch", lambda x, t, s: (F.cross_entropy(x, t, reduction="none"), F.cross_entropy(x, s, reduction="none")),
         real(4), torch.tensor(2), torch.rand(4))
    case("nll_loss_plain", lambda x, t: F.nll_loss(x.log_softmax(1), t), logits, classes)
    case("nll_loss_without_batch", lambda x, t, w: F.nll_loss(x, t, w), real(4), torch.tensor(2), weight)
    counts = whole(3, 4, low=0, high=5).float()
    case("poisson_nll_loss", F.poisson_nll_loss, x, counts)
    case("poisson_nll_loss_full", lambda x, y: F.poisson_nll_loss(x, y, log_input=False, full=True, reduction="sum"), positive(3, 4), counts)
    case("kl_div_log_target", lambda x, y: F.kl_div(x, y, reduction="batchmean", log_target=True), x, y)


def distances():
    x, y = real(3, 4, 2), real(3, 4, 2)
    case("cosine_similarity", lambda x, y: (F.cosine_similarity(x, y), F.cosine_similarity(x, y, dim=-1)), x, y)
    case("cosine_similarity_broadcast", lambda x, y: F.cosine_similarity(x, y, dim=-2), x, real(1, 2))
    case("cosine_similarity_of_zeros", lambda x, y: F.cosine_similarity(x * 0, y, eps=0.5), x, y)
    for name, order in (("1", 1), ("2", 2), ("broken", 3.5), ("infinite", float("inf"))):
        case(f"pairwise_distance_{name}", lambda x, y, p=order: F.pairwise_distance(x, y, p, keepdim=p == 1), x, y)
    case("pairwise_distance_broadcast", F.pairwise_distance, x, real(2))


def diagonals():
    x = real(3, 4)
    for offset in (-1, 0, 2):
        case(f"diagonal_{offset}", lambda x, k=offset: x.diagonal(k), x)
        case(f"diag_embed_{offset}", lambda x, k=offset: torch.diag_embed(x, k), x)
    case("diagonal_axes", lambda x: x.diagonal(0, 2, 0), real(3, 2, 4))
    case("diag_embed_axes", lambda x: torch.diag_embed(x, 1, 0, 2), x)
    case("diag", lambda x, y: (x.diag(1), y.diag(-1)), x, real(3))
    case("trace", lambda x: x.trace(), x)


def stacks():
    for name in ("hstack", "vstack", "dstack", "column_stack"):
        case(name, lambda x, y, f=getattr(torch, name): f([x, y]), real(3), real(3))
        case(f"{name}_matrices", lambda x, y, f=getattr(torch, name): f([x, y]), real(3, 2), real(3, 2))
    case("broadcast_tensors", lambda x, y: torch.broadcast_tensors(x, y), real(3, 1), real(4))
    case("tile", lambda x: (x.tile(2), x.tile(2, 1, 3)), real(3, 4))
    case("movedim", lambda x: (x.movedim(0, 2), x.movedim((0, -1), (1, 0))), real(2, 3, 4))
    case("last_axes_turned", lambda x: (x.mT, x.adjoint()), real(2, 3, 4))
    case("ravel", lambda x: x.ravel(), real(2, 3))
    for rank in (1, 2, 3):
        case(f"atleast_{rank}d", lambda x, y, z, f=getattr(torch, f"atleast_{rank}d"): (f(x), f(y), f(z)), real(3, 4), real(3), torch.tensor(2.0))
    case("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), real(2, 3, 4, 6))
    case("channel_shuffle", lambda x: F.channel_shuffle(x, 2), real(2, 6, 2, 2))
    case("flip_sides", lambda x: (x.fliplr(), x.flipud()), real(2, 3))
    case("squeeze_no_axes", lambda x: torch.ops.aten.squeeze.dims(x, []), real(1, 3))
    case("flip_no_axes", lambda x: x.flip(()), real(2, 3))
    case("any_no_axes", lambda x: (torch.any(x, dim=()), torch.all(x, dim=())), real(2, 3) > 0)
    case("norm_of_number", lambda x: torch.linalg.vector_norm(x), torch.tensor(-2.5))
    case("pad_replicate_shift", lambda x: F.pad(x, (-4, 5, 2, -3), mode="replicate"), real(2, 3, 4, 4))


def more_products():
    case("addmv", lambda s, x, y: torch.addmv(s, x, y, beta=0.5, alpha=2), real(3), real(3, 4), real(4))
    case("addr", lambda s, x, y: torch.addr(s, x, y, alpha=2), real(3, 4), real(3), real(4))
    case("outer", torch.outer, real(3), real(4))
    case("addbmm", torch.addbmm, real(3, 5), real(2, 3, 4), real(2, 4, 5))
    case("vecdot", lambda x, y: torch.linalg.vecdot(x, y, dim=0), real(3, 4), real(3, 4))
    case("determinant", torch.linalg.det, real(2, 3, 3))
    case("std_mean", lambda x: torch.std_mean(x, dim=1), real(3, 4))
    case("count_nonzero", lambda x: torch.count_nonzero(x, dim=1), whole(3, 4, low=0, high=2))
    case("aminmax", lambda x: torch.aminmax(x, dim=1), real(3, 4))
    gaps = torch.tensor([[1.0, torch.nan, 3.0], [2.0, 5.0, torch.nan]])
    case("nansum", lambda x: x.nansum(1), gaps)
    case("nanmean", lambda x: x.nanmean(0), gaps)
    i = torch.tensor([2, 0, 2])
    case("index_add", lambda x, i, s: x.index_add(1, i, s, alpha=2), real(2, 4), i, real(2, 3))
    case("index_copy", lambda x, i, s: x.index_copy(0, i, s), real(4, 2), torch.tensor([2, 0]), real(2, 2))
    case("index_fill", lambda x, i: x.index_fill(1, i, -1.5), real(2, 4), i)
    case("masked_select", lambda x, m: x.masked_select(m), real(3, 4), torch.tensor([True, False, True, True]))


def views_then_writes():
    def turned(x):
        y = x * 2
        z = y.mT
        y.add_(1)
        z.mul_(3)
        return y, z

    def moved(x):
        y = x * 2
        z = y.movedim(0, 1)
        y.add_(1)
        return y, z

    def copied(x):
        y = x * 2
        z = y.t().contiguous()
        z.add_(1)
        return y, z

    def reshaped(x):
        y = x * 2
        z = y.t().reshape(-1)
        z.add_(1)
        return y, z

    def same_type(x):
        y = x * 2
        z, w = y.to(torch.float32), y.to(torch.float64)
        z.add_(1)
        w.add_(2)
        return y, z, w

    for function in (turned, moved, copied, reshaped, same_type):
        case(f"write_{function.__name__}", function, real(3, 4))


def recurrence():
    for name, options in (("lstm", {}), ("lstm_two_ways", {"bidirectional": True, "num_layers": 2}),
                          ("lstm_batch_first", {"batch_first": True}), ("lstm_without_bias", {"bias": False})):
        case(name, torch.nn.LSTM(3, 4, **options), real(5, 2, 3))
    for name, options in (("gru", {}), ("gru_two_ways", {"bidirectional": True, "num_layers": 2})):
        case(name, torch.nn.GRU(3, 4, **options), real(5, 2, 3))


    for name, options in (("rnn_tanh_two_ways", {"bidirectional": True, "num_layers": 2}),
                          ("rnn_relu_batch_first", {"nonlinearity": "relu", "batch_first": True, "bias": False})):
        case(name, torch.nn.RNN(3, 4, **options), real(5, 2, 3))
    for name, options in (("rnn", {}), ("rnn_relu_two_ways", {"nonlinearity": "relu", "bidirectional": True, "num_layers": 2}),
                          ("rnn_batch_first", {"batch_first": True, "bias": False})):
        case(name, torch.nn.RNN(3, 4, **options), real(5, 2, 3))


def bags():
    indices, table = whole(3, 4, low=0, high=6), real(6, 3)
    for mode in ("sum", "mean", "max"):
        case(f"embedding_bag_{mode}", lambda i, w, m=mode: F.embedding_bag(i, w, mode=m), indices, table)
        case(f"embedding_bag_offsets_{mode}", lambda i, o, w, m=mode: (F.embedding_bag(i, w, o, mode=m, padding_idx=-2),
                                                                       F.embedding_bag(i, w, o, mode=m, include_last_offset=True)),
             torch.tensor([3, 0, 4, 4, 4, 5, 1]), torch.tensor([0, 2, 2, 5, 7]), table)
    case("embedding_bag_weights", lambda i, w, v: F.embedding_bag(i, w, mode="sum", per_sample_weights=v), indices, table, real(3, 4))
    case("embedding_bag_open", lambda i, w: F.embedding_bag(i, w), indices, table, dynamic={0: {0: "n"}})


def conversions():
    case("to", lambda x: x.to(torch.int32), real(3, 4) * 5)
    case("to_half", lambda x: x.half() * 2, real(3, 4))
    case("to_bfloat16", lambda x: x.to(torch.bfloat16).float(), real(3, 4))
    case("type_as", lambda x, y: x.type_as(y), real(3), whole(2))
    case("scalar_tensor", lambda x: x + torch.tensor(1.5), real(3))


def control_flow():
    from torch._higher_order_ops.map import map as map_rows
    try:
        from torch._higher_order_ops.scan import scan
    except ModuleNotFoundError:  # before PyTorch 2.6
        scan = None
    from torch._higher_order_ops.while_loop import while_loop

    x = real(3, 4)
    case("cond", lambda x: torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,)), x)
    case("cond_else", lambda x: torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,)), -positive(3, 4))
    case("while_loop", lambda x: while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 1.5), (torch.tensor(0), x)), x)
    case("map", lambda x, y: map_rows(lambda a, b: a * 2 + b, x, y), x, real(4))
    case("scan", lambda x, i: scan(lambda c, a: (c + a, (c + a) * 2), i, x), x, torch.zeros(4))


class Stored(torch.nn.Module):
    """Parameters, two of them one, buffers that are saved and not, and a tensor that is neither."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.norm = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)
        self.second.weight = self.first.weight
        self.turned = torch.nn.Parameter(real(4, 3).t())
        self.register_buffer("kept", real(4))
        self.register_buffer("left_out", whole(4), persistent=False)
        self.constant = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, x):
        return self.norm(self.first(x)) * self.kept + self.second(x) * self.constant + x @ self.turned - self.left_out


class Nested(torch.nn.Module):
    def forward(self, pair, by_name):
        x, y = pair
        return {"sum": x + by_name["z"][:, None, torch.tensor([1, 0, 1])], "rows": (y[torch.tensor([1, 0])], y * x.shape[0])}


# For archives of PyTorch before 2.8: module, arguments, sizes that are open.
OLDER = {
    "stored": (Stored(), (real(2, 3),), ({0: "rows"},)),
    "nested": (Nested(), ((real(3, 3, 3), real(2, 4)), {"z": real(3, 4)}), None),
}

change("cache", Cache(), real(2, 1, 3), torch.tensor([2]))
change("input", ChangedInput(), real(3), real(3))
change("batch_norm", torch.nn.BatchNorm2d(3), real(2, 3, 4, 4))

for family in (control_flow, binary, unary, activations, products, convolutions, normalizations, reductions, views, strided_views, slices, creation,
               indexing, rearrangements, compositions, losses, distances, diagonals, stacks, more_products, views_then_writes, recurrence,
               bags, conversions):
    family()

torch_overload_cases.add_to(case)
torch_fourier_cases.add_to(case, REFUSED)
torch_value_cases.add_to(case)
torch_algebra_cases.add_to(case, REFUSED)
torch_selection_cases.add_to(case)
REFUSED["antialias_aligned"] = (lambda x: (F.interpolate(x, (3, 5), mode="bilinear", align_corners=True, antialias=True),
                                           F.interpolate(x, (3, 5), mode="bicubic", align_corners=True, antialias=True)), (real(1, 2, 7, 9),), None)
torch_library_cases.add_to(case, REFUSED)
