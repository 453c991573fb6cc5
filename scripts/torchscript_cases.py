"""Small modules for the reader of TorchScript: what only its files have, and programs that are scripted instead of traced.

    CASES["conv_relu"] = (module, inputs, is_scripted)

scripts/make_torch_cases --torchscript saves them to testdata/torchscript, and REFUSED, what cannot become ONNX, to its folder refused.
"""
import math
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

import torchscript_state_cases

CASES = {}
REFUSED = {}
ATTRIBUTES = {}  # of modules, as the run has them that a file is held against: they are set where the file is converted


def case(name, module, *inputs, scripted=False):
    assert name not in CASES, name
    CASES[name] = (module.eval(), inputs, scripted)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class Spectrogram(nn.Module):
    """Frequencies of windows, weighed by complex numbers, and the signal that they give."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))
        self.weight = nn.Parameter(torch.rand(9, dtype=torch.cfloat))

    def forward(self, x):
        spectrum = torch.stft(x, 16, 4, window=self.window, return_complex=True)
        if spectrum.is_complex():
            spectrum = spectrum * self.weight[:, None]
        return torch.istft(spectrum, 16, 4, window=self.window), spectrum.abs().log1p()


def traced(name, function, *inputs):
    case(name, Function(function), *inputs)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.norm(self.conv(x))
        y += x
        return self.relu(y)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4, bias=False)
        self.second = nn.Linear(4, 4, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class States(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cell = kind(4, 6, batch_first=True)

    def forward(self, x):
        states, last = self.cell(x)
        return states, last[0] if isinstance(last, tuple) else last


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


def traces():
    x = torch.randn(2, 3, 5, 7)
    case("blocks", nn.Sequential(Block(3), nn.Sequential(Block(3), nn.MaxPool2d(2))), x)
    case("tied", Tied(), torch.randn(3, 4))
    case("lstm", States(nn.LSTM), torch.randn(2, 5, 4))
    case("gru", States(nn.GRU), torch.randn(2, 5, 4))
    case("rnn", States(nn.RNN), torch.randn(2, 5, 4))
    case("attention", Attention(), torch.randn(2, 5, 8))
    case("encoder_layer", nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), torch.randn(2, 5, 8))
    case("encoder_layer_norm_first", nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True, norm_first=True), torch.randn(2, 5, 8))
    case("embedding", nn.Embedding(9, 4), torch.randint(0, 9, (2, 3)))
    traced("sizes", lambda x: x.reshape(x.shape[0], x.shape[1] * x.shape[2], -1), x)
    traced("size_arithmetic", lambda x: F.pad(x, (0, (4 - x.shape[3] % 4) % 4)) * x.shape[2] // 2, x)
    traced("constants", lambda x: x * torch.tensor([1.0, 2.0, 3.0])[:, None, None] + torch.arange(7), x)
    traced("chunk", lambda x: x.chunk(3, 1), x)
    traced("split_cat", lambda x: torch.cat(x.split([2, 5], -1)[::-1], -1), x)
    traced("unbind", lambda x: torch.stack(x.unbind(1), 0), x)
    traced("dict", lambda x: {"a": x + 1, "b": x * 2}, x)
    traced("same_twice", lambda x: (x, x.relu(), x.relu()), x)
    traced("write_slice", write_slice, x)
    traced("masked", lambda x, m: x.masked_fill(m, -1.0) + torch.where(m, x, x.new_zeros(())), torch.randn(3, 4), torch.rand(3, 4) > 0.5)
    traced("index", lambda x, i: x[:, i] + x[:, :1], torch.randn(3, 4), torch.tensor([0, 2, 2]))
    traced("casts", lambda x: x.to(torch.int64).float() + x.half().to(x) + x.double().type_as(x), x * 3)
    traced("einsum", lambda a, b: torch.einsum("bij,bjk->bik", a, b), torch.randn(2, 3, 4), torch.randn(2, 4, 5))


def write_slice(x):
    y = x.clone()
    y[:, 0] = 1.5
    y[:, 1:, ::2] += 2
    return y, y.sum()


class Condition(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            y, n = x + 1, 2
        else:
            y, n = x * 2, 3
        return y.relu() * n


class BranchNumbers(nn.Module):
    def forward(self, x):
        factor, is_large = 0.5, False
        if bool(x.sum() > 0):
            factor, is_large = 1.5, bool(x.max() > 2)
        if is_large:
            x = x + 1
        return x * factor


class Unrolled(nn.Module):
    rounds: int

    def __init__(self):
        super().__init__()
        self.rounds = 3
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x, y: Optional[torch.Tensor] = None) -> Tuple[torch.Tensor, torch.Tensor]:
        results: List[torch.Tensor] = []
        for i in range(self.rounds):
            x = x * (i + 1) / 2
            results.append(x)
        for layer in self.layers:
            x = torch.tanh(layer(x))
        if y is not None:
            x = x + y
        if self.training:
            x = x * 100
        return x, torch.stack(results)


def doubled(x: torch.Tensor, factors: Dict[str, float]) -> torch.Tensor:
    return x * factors["two"]


class Calls(nn.Module):
    def helper(self, x, scale: float = 2.0):
        return F.relu(x) * scale

    def forward(self, x):
        return doubled(self.helper(x) + self.helper(-x, 0.5), {"one": 1.0, "two": 2.0})


class Loop(nn.Module):
    def forward(self, x):
        while bool(x.sum() > 1):
            x = x / 2
        return x


class CountedLoop(nn.Module):
    """The number of passes, the pass and real numbers are computed; two variables go from pass to pass."""

    def forward(self, x, n):
        total, factor = torch.zeros_like(x), 1.0
        for i in range(int(n)):
            total = total + x * i * factor
            factor = factor * 0.5
        return total, factor + x


class GrowingLoop(nn.Module):
    """What is carried has another size behind each pass."""

    def forward(self, x):
        rows = x[:1]
        while rows.size(0) < int(x.abs().max()):
            rows = torch.cat([rows, rows[-1:] * 0.5], 0)
        return rows


class LeftLoop(nn.Module):
    """A branch inside, and a condition that the code computes in its first pass."""

    def forward(self, x):
        steps, goes_on = 0, True
        while goes_on:
            if bool(x.mean() > 0.5):
                x = x * 0.5
            else:
                x = x - 1
            steps += 1
            goes_on = bool(x.sum() > 0)
        return x, x + steps


class NestedLoop(nn.Module):
    def forward(self, x, n):
        for i in range(int(n)):
            for j in range(i):
                x = x + j
        return x


class ListLoop(nn.Module):
    def forward(self, x, n):
        rows: List[torch.Tensor] = []
        for i in range(int(n)):
            rows.append(x * i)
        return torch.stack(rows)


class WritingLoop(nn.Module):
    def forward(self, x, n):
        y = x.clone()
        for i in range(int(n)):
            y[0] += i
        return y


class WritingBranch(nn.Module):
    def forward(self, x):
        y = x.clone()
        if bool(x.sum() > 0):
            y.add_(1)
        return y


class State(nn.Module):
    """A buffer gets another tensor, and is read before and after."""

    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.ones(3, 4))

    def forward(self, x):
        before = self.state
        self.state = torch.tanh(self.state * 0.5 + x)
        return before + self.state


class Counter(nn.Module):
    count: torch.Tensor

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count += 1
        return x * self.count


class Containers(nn.Module):
    def forward(self, pair: Tuple[torch.Tensor, torch.Tensor], rows: List[torch.Tensor], by_name: Dict[str, torch.Tensor]):
        x, y = pair
        return {"sum": x + rows[0] * by_name["scale"], "difference": y - rows[len(rows) - 1]}


class NestedContainers(nn.Module):
    def forward(self, states: List[Tuple[torch.Tensor, torch.Tensor]], x):
        total = x
        for hidden, cell in states:
            total = total * hidden + cell
        return (total, [total + 1, x]), states[0][1]


class RecurrentCells(nn.Module):
    """What a person writes in place of LSTM: rows taken apart, a state of two tensors, a list that grows."""

    def __init__(self):
        super().__init__()
        self.of_input, self.of_state = nn.Linear(4, 12), nn.Linear(3, 12)

    def step(self, x, state: Tuple[torch.Tensor, torch.Tensor]):
        hidden, cell = state
        i, f, c, o = (self.of_input(x) + self.of_state(hidden)).chunk(4, 1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(c)
        return torch.sigmoid(o) * torch.tanh(cell), cell

    def forward(self, x, state: Tuple[torch.Tensor, torch.Tensor]):
        rows = x.unbind(0)
        outputs: List[torch.Tensor] = []
        for i in range(len(rows)):
            state = self.step(rows[i], state)
            outputs += [state[0]]
        return torch.stack(outputs), state


class ListsOfLoops(nn.Module):
    """Two tensors a pass, a list that is not empty before the loop and grows behind it, and what else may be asked of such lists."""

    def forward(self, x, n):
        rows: List[torch.Tensor] = [x]
        for i in range(int(n)):
            scaled: List[torch.Tensor] = []
            for factor in [1.0, 2.0]:
                scaled.append(x * i * factor)
            rows.append(scaled[0])
            rows += [scaled[1] - 1]
        last = rows[-1]
        rows.append(x * 0.5)
        return torch.stack(rows, 1), torch.cat(rows, 1), torch.cat(rows), torch.cat(rows, -1), last + len(rows), rows[-1]


class WritesOfLoops(nn.Module):
    """A view from outside that sees the writes, one of a loop inside of a branch, and a buffer."""

    total: torch.Tensor

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x, n):
        y = x.clone()
        first = y[0]
        for i in range(int(n)):
            y[i] = y[i] * 2 + i
            self.total += x[i]
        if bool(x.sum() > 0):
            for i in range(int(n)):
                y[:, i].mul_(3)
        else:
            y.neg_()
        return y, first, self.total * 2


class WriteAndView(nn.Module):
    def forward(self, x, n):
        y = x.clone()
        first = y[0]
        for i in range(int(n)):
            y[i] = y[i] + first
        return y


class ListRead(nn.Module):
    def forward(self, x, n):
        rows: List[torch.Tensor] = [x]
        for i in range(int(n)):
            rows.append(rows[-1] * 2)
        return torch.stack(rows)


class ListInCondition(nn.Module):
    def forward(self, x, n):
        rows: List[torch.Tensor] = [x]
        while len(rows) < int(n):
            rows.append(x * 2)
        return torch.stack(rows)


class WriteThroughDropout(nn.Module):
    def forward(self, x):
        y = x + 1
        F.dropout(y, 0.5, self.training).mul_(2)
        return y * x


class WithoutGradients(nn.Module):
    """Blocks of torch.no_grad(), of which one is in a branch on a computed condition."""

    def forward(self, x):
        with torch.no_grad():
            scale = x.abs() + 1
        y = x / scale
        if bool(x.sum() > 0):
            with torch.no_grad():
                y = y + 1
        return y * scale


class ShorterType(nn.Module):
    def forward(self, x):
        with torch.autocast("cpu"):
            y = x @ x.t()
        return y


class CopyOrView(nn.Module):
    def forward(self, x):
        flat = x.contiguous()
        flat += 1
        return flat + x


class AsksForRanks(nn.Module):
    """Layers whose own code checks what they are given, and code that goes by ranks, sizes and element types."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(3)
        self.pool = nn.AdaptiveAvgPool2d((2, 2))
        self.drop = nn.Dropout(0.25)

    def forward(self, x):
        y = self.drop(self.pool(self.norm(x)))
        if y.dim() == 4 and len(y.shape) > y.size(1):
            y = y.flatten(2)
        if x.dtype == torch.float32 and x.is_floating_point():
            y = y * x.numel()
        b, c, h, w = x.shape
        pad_h, pad_w = (4 - h % 4) % 4, (4 - w % 4) % 4
        if max(pad_h, pad_w) > 0:
            x = F.pad(x, [0, pad_w, 0, pad_h])
        y.unsqueeze_(0)
        scale = torch.tensor(h * w, dtype=x.dtype)
        return y.squeeze(0) / scale, x.reshape(b, c, -1).relu_().sum(-1)


class Pair(NamedTuple):
    first: torch.Tensor
    second: Optional[torch.Tensor]


class MakesContainers(nn.Module):
    """Named tuples, items that change, and questions about lists and dictionaries."""

    def __init__(self):
        super().__init__()
        self.sizes = [1, 2]

    def swapped(self, pair: Pair) -> Pair:
        second = pair.second
        assert second is not None
        return Pair(second, pair.first)

    def forward(self, x):
        shifts = self.sizes.copy()
        shifts[0] = 3
        shifts[-1] = -int(x.dim() ** 2) // 3
        named: Dict[str, torch.Tensor] = {}
        for i, size in enumerate(x.shape[-2:]):
            named["axis{}".format(i)] = x + size
        if "axis1" in named and "axis2" not in named:
            named["axis2"] = named["axis0"] * len(named)
        pair = self.swapped(Pair(named["axis2"], torch.roll(x, shifts, [0, 1])))
        total = torch.stack(list(named.values())).sum(0) * sum([len(key) for key in named.keys()])
        weights = torch.tensor([0.5, 0.25, 0.125, 1.0]) if min(shifts) < 0 else torch.ones(4)
        return pair, total * weights


class Checks(nn.Module):
    """A check of values, which ONNX cannot raise."""

    def forward(self, x, lengths):
        if int(lengths.max()) > x.size(0):
            raise ValueError("lengths go beyond the input of size {}".format(x.size(0)))
        mask = torch.arange(x.size(0)).unsqueeze(1) < lengths
        return x * mask


class MaskedAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x, hidden: Optional[torch.Tensor] = None):
        return self.attention(x, x, x, key_padding_mask=hidden)


class EarlyReturns(nn.Module):
    """Branches on computed conditions that return, give tuples, or do not have what the other one has."""

    def pair(self, x) -> Pair:
        if not bool((x > 0).all()):
            return Pair(x, x * 2)
        return Pair(x * 3, None if x.dim() == 9 else x)

    def forward(self, x):
        first, second = self.pair(x)
        if x.sum() > 1e3:
            return first, first
        assert second is not None
        if first.max() > 100:
            raise ValueError("too much")
        else:
            scale = first * 0.5
        return scale, second


class Ranges(nn.Module):
    """Loops over a part of a range, over what a tensor is split into, and lists in reverse order."""

    def forward(self, x):
        y, parts = x[0] * 0, x.chunk(2, 1)
        rows: List[torch.Tensor] = []
        for i in range(1, x.size(0)):
            y = y + x[i] * i
        for i in range(4, 0, -2):
            rows.append(parts[1][:, 0] * i)
        for part in x.split([1, 3], 1):
            rows.insert(1, part.sum(1))
        rows.reverse()
        last = rows.pop(0)
        return y, torch.stack(rows[::-1], 1) - last.unsqueeze(1)


class NumbersOfSizes(nn.Module):
    """Numbers of an open size beside a tensor without axes, and their fractions, which are double."""

    def forward(self, x):
        n = x.size(0)
        mean = x.sum() / n
        kept = int(n * 0.7) + int(math.ceil(math.sqrt(n))) + abs(20 - n)
        growth = math.log(math.exp(n * 0.01) + 1)
        return mean * growth, torch.stack([mean, mean * n]), torch.zeros(kept, 1), torch.arange(n * 0.5)


class EncoderWithMasks(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1)

    def forward(self, x):
        causal = torch.triu(torch.full([x.size(1), x.size(1)], float("-inf")), diagonal=1)
        return [self.layers(x, mask=causal)]


class CellsInOpenLoop(nn.Module):
    """PyTorch's own cells, whose code asks for ranks, in a loop over an open length."""

    def __init__(self):
        super().__init__()
        self.cell, self.norm, self.gru = nn.LSTMCell(4, 3), nn.BatchNorm1d(3), nn.GRUCell(3, 3)
        self.plain, self.rectified = nn.RNNCell(3, 3, bias=False), nn.RNNCell(3, 3, nonlinearity="relu")

    def forward(self, x):
        hidden = torch.zeros(x.size(1), 3, dtype=x.dtype, device=x.device)
        memory, last = torch.zeros_like(hidden), hidden
        for step in range(x.size(0)):
            hidden, memory = self.cell(x[step], (hidden, memory))
            last = self.gru(self.norm(hidden), last)
            if last.dim() == 2 and last.shape[1] == 3:
                last = self.rectified(last, self.plain(last, memory)) * 0.5
        return last, memory


class RankInLoop(nn.Module):
    def forward(self, x, n):
        for _ in range(int(n)):
            if x.dim() < 4:
                x = x.unsqueeze(0)
        return x


def refused():
    x = torch.randn(3, 4)
    REFUSED["operators"] = (Function(lambda x: (torch.linalg.svd(x)[1], x.softmax(0).bernoulli())), (x,), False)
    REFUSED["list_read_in_loop"] = (ListRead(), (x, torch.tensor(3)), True)
    REFUSED["list_in_condition"] = (ListInCondition(), (x, torch.tensor(3)), True)
    REFUSED["write_and_view_in_loop"] = (WriteAndView(), (x, torch.tensor(3)), True)
    REFUSED["copy_or_view"] = (CopyOrView(), (x,), True)
    REFUSED["rank_in_loop"] = (RankInLoop(), (x, torch.tensor(3)), True)
    REFUSED["shorter_type"] = (ShorterType(), (x,), True)


def scripts():
    x = torch.randn(3, 4)
    case("condition_met", Condition(), x.abs(), scripted=True)
    case("condition_not_met", Condition(), -x.abs(), scripted=True)
    case("branch_numbers", BranchNumbers(), x.abs() * 3, scripted=True)
    case("unrolled", Unrolled(), x, scripted=True)
    case("calls", Calls(), x, scripted=True)
    case("loop", Loop(), x.abs(), scripted=True)
    case("counted_loop", CountedLoop(), x, torch.tensor(4), scripted=True)
    case("no_pass", CountedLoop(), x, torch.tensor(0), scripted=True)
    case("growing_loop", GrowingLoop(), x * 4, scripted=True)
    case("left_loop", LeftLoop(), x.abs() + 1, scripted=True)
    case("without_gradients", WithoutGradients(), x.abs(), scripted=True)
    case("nested_loop", NestedLoop(), x, torch.tensor(4), scripted=True)
    case("buffer_written", Counter(), x, scripted=True)
    case("buffer_replaced", State(), x, scripted=True)
    case("list_in_loop", ListLoop(), x, torch.tensor(3), scripted=True)
    case("lists_of_loops", ListsOfLoops(), x, torch.tensor(3), scripted=True)
    case("write_in_loop", WritingLoop(), x, torch.tensor(3), scripted=True)
    case("write_in_branch", WritingBranch(), x.abs(), scripted=True)
    case("write_in_other_branch", WritingBranch(), -x.abs(), scripted=True)
    case("writes_of_loops", WritesOfLoops(), x.abs(), torch.tensor(3), scripted=True)
    case("writes_of_branch", WritesOfLoops(), -x.abs(), torch.tensor(2), scripted=True)
    case("containers_traced", Containers(), (x, x + 1), [x - 1, x * 2], {"scale": x * 3, "unused": x})
    case("containers_scripted", Containers(), (x, x + 1), [x - 1, x * 2], {"scale": x * 3}, scripted=True)
    case("nested_containers", NestedContainers(), [(x, x + 1), (x * 2, x - 1)], x, scripted=True)
    case("recurrent_cells", RecurrentCells(), torch.randn(5, 2, 4), (torch.randn(2, 3), torch.randn(2, 3)), scripted=True)
    case("writes_through_dropout", WriteThroughDropout(), x, scripted=True)
    case("asks_for_ranks", AsksForRanks(), torch.randn(2, 3, 5, 7), scripted=True)
    case("makes_containers", MakesContainers(), x, scripted=True)
    case("checks", Checks(), x, torch.tensor([1, 3, 2, 0]), scripted=True)
    case("cells_in_open_loop", CellsInOpenLoop(), torch.randn(5, 2, 4), scripted=True)
    case("early_returns", EarlyReturns(), x, scripted=True)
    case("early_returns_not", EarlyReturns(), x.abs(), scripted=True)
    case("ranges", Ranges(), x, scripted=True)
    case("numbers_of_sizes", NumbersOfSizes(), torch.randn(90, 2), scripted=True)
    case("encoder_with_masks", EncoderWithMasks(), torch.randn(2, 5, 8), scripted=True)
    case("masked_attention", MaskedAttention(), torch.randn(2, 5, 8), torch.tensor([[False] * 4 + [True], [False] * 5]), scripted=True)


class Losses(nn.Module):
    def __init__(self):
        super().__init__()
        self.smooth = nn.CrossEntropyLoss(label_smoothing=0.1)
        self.weighted = nn.NLLLoss(torch.tensor([0.5, 1.0, 2.0, 1.5]), reduction="sum")

    def forward(self, x, classes):
        return self.smooth(x, classes), self.weighted(x.log_softmax(1), classes)


class BlocksAndBack(nn.Module):
    def __init__(self):
        super().__init__()
        self.apart, self.together = nn.Unfold(3, padding=1), nn.Fold((6, 8), 3, padding=1)
        self.pool = nn.AdaptiveMaxPool2d((4, 3), return_indices=True)

    def forward(self, x):
        values, places = self.pool(self.together(self.apart(x)))
        return values, places


class Distances(nn.Module):
    def forward(self, x, y):
        first, second = x.tensor_split([2], 0)
        turn = torch.linalg.inv(x.t() @ x) @ torch.rot90(y)
        return torch.cdist(x, y), torch.linalg.norm(first, 1), F.pdist(second), turn, torch.linalg.matrix_norm(y, float("inf"))


class Margins(nn.Module):
    def __init__(self):
        super().__init__()
        self.triplet, self.bilinear, self.classes = nn.TripletMarginLoss(swap=True), nn.Bilinear(4, 4, 2), nn.MultiMarginLoss(p=2)

    def forward(self, x, y, classes):
        return self.triplet(x, y, x + y), self.bilinear(x, y), self.classes(x, classes), torch.lgamma(x.abs()), classes << 2, torch.gcd(classes * 4, classes + 6)


class Combinations(nn.Module):
    def forward(self, x, theta):
        first, second, third = x.tensor_split(3)
        row = x[:, 0]
        grid = torch.affine_grid_generator(theta, [2, 1, x.shape[0], 3], True)
        return first, second, third, torch.combinations(row), torch.combinations(row, 2, True), torch.kron(x, theta[0]), grid, torch.linalg.vander(row), torch.linalg.norm(x, dim=0)


def modules_with_own_operators():
    case("combinations_scripted", Combinations(), torch.randn(5, 3), torch.randn(2, 2, 3), scripted=True)
    case("distances_scripted", Distances(), torch.randn(4, 3), torch.randn(3, 3), scripted=True)
    case("margins_scripted", Margins(), torch.randn(3, 4), torch.randn(3, 4), torch.tensor([2, 3, 0]), scripted=True)
    case("losses_scripted", Losses(), torch.randn(3, 4), torch.tensor([2, -100, 0]), scripted=True)
    case("blocks_and_back", BlocksAndBack(), torch.randn(2, 3, 6, 8), scripted=True)
    case("spectrogram", Spectrogram(), torch.randn(2, 40))
    case("spectrogram_scripted", Spectrogram(), torch.randn(2, 40), scripted=True)
    case("embedding_bag_scripted", nn.EmbeddingBag(6, 3, mode="max", padding_idx=2), torch.tensor([[0, 2, 5], [2, 2, 2]]), scripted=True)


class Regions(nn.Module):
    def forward(self, images, boxes, scores):
        best = boxes[torchvision.ops.nms(boxes, scores, 0.4)]
        placed = torch.cat([torch.zeros(best.shape[0], 1), best], 1)
        return best, torchvision.ops.roi_align(images, placed, (2, 3), 0.5, 2, True), torch.clip(scores, 0.2, 0.7).arctan_()


def libraries():
    corner = torch.rand(6, 2) * 4
    inputs = torch.randn(1, 2, 8, 8), torch.cat([corner, corner + 1 + torch.rand(6, 2) * 6], 1), torch.rand(6)
    case("regions", Regions(), *inputs)


torch.manual_seed(0)
with torch.no_grad():
    traces()
    scripts()
    refused()
    modules_with_own_operators()
    libraries()
    torchscript_state_cases.add_to(case, REFUSED, ATTRIBUTES)
