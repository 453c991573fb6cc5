"""Scripted modules whose arguments, results or attributes are no tensors, that keep state, and that are made of objects, enumerations and boxes.

    add_to(case, refused, attributes)     as torchscript_cases.py has them
"""
import enum
import warnings
from typing import Dict, List, Optional

import torch
import torch.nn.functional as F
import torchvision
from torch import nn


class Values(nn.Module):
    """Arguments and results that are no tensors."""

    def forward(self, x, n: int, sizes: List[int], mode: str, factor: float = 0.5, exact: bool = True, bias: Optional[float] = None):
        if mode == "fast":
            x = x * n
        if exact:
            x = x + factor
        if bias is not None:
            x = x - bias
        return x.reshape(sizes), n << 2, factor, exact, str(n) == "3"


class Streaming(nn.Module):
    """Keeps the end of a signal and its rate for the next call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.ones(2, 1, 4))
        self.rate, self.windows, self.convolution = 0, [torch.zeros(1)], nn.Conv1d(1, 4, 5)

    def forward(self, x, sr: int):
        if self.rate != sr:
            self.cache = torch.zeros(x.shape[0], 1, 4)
        x = torch.cat([self.cache, x], 2)
        self.cache = x[:, :, -4:]
        self.rate = sr
        self.windows = [x, x + 1]
        return self.convolution(self.windows[0]) + self.windows[-1].mean()


@torch.jit.script
class Box:
    def __init__(self, corner, sizes: List[int]):
        self.corner = corner
        self.sizes = sizes

    def area(self) -> int:
        return self.sizes[0] * self.sizes[1]


class Objects(nn.Module):
    """Objects of a class, functions that run beside, and contexts that change nothing."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, by_name: Dict[str, torch.Tensor]):
        box = Box(x, x.shape)
        box.corner = box.corner + 1
        beside = torch.jit.fork(self.linear, x)
        with torch.autocast("cpu", enabled=False):
            y = box.corner * box.area()
        with torch.autograd.profiler.record_function("names"):
            parts = [by_name[key] for key in sorted(by_name.keys())]
        order = [3, 1, 2]
        order.sort()
        if x.device == torch.device("cuda"):
            y = y + 1
        return torch.jit.wait(beside) + y, torch.cat(parts) * order[0]


class Types(nn.Module):
    def forward(self, x, lengths: Optional[torch.Tensor] = None):
        steps = torch.ceil(torch.as_tensor(x.shape[1] / 3)).long()
        part = x[:, :steps] + torch.as_tensor([0.5, 1.5], dtype=x.dtype, device=x.device)[:, None]
        return torch.as_tensor(part), lengths


class Packed(nn.Module):
    """Rows of several lengths through recurrent layers."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 3, 2, bidirectional=True, batch_first=True)
        self.gru, self.plain = nn.GRU(6, 3, bidirectional=True), nn.RNN(4, 3, nonlinearity="relu")

    def forward(self, x, lengths):
        rows = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        hidden, (last, memory) = self.lstm(rows)
        hidden, end = self.gru(hidden)
        plain, _ = self.plain(rows)
        y, counts = nn.utils.rnn.pad_packed_sequence(hidden, batch_first=True)
        return y, counts, last, memory, end, nn.utils.rnn.pad_packed_sequence(plain, total_length=x.shape[1])[0]


class Boxes(nn.Module):
    """As detectors choose boxes and look at windows of an image, which is scaled by numbers that the code computes."""

    def __init__(self):
        super().__init__()
        self.has_warned = False

    def forward(self, x, boxes, scores):
        sizes = torch.tensor(x.shape[-2:])
        scale = float((torch.min(sizes.to(torch.float32), torch.tensor(8.0)).min() / torch.max(sizes)).reciprocal().item())
        features = F.interpolate(x, scale_factor=scale, mode="bilinear", recompute_scale_factor=True)
        strong = torch.where(scores > 0.1)[0]
        boxes = boxes[strong]
        kept = torch.ops.torchvision.nms(boxes, scores[strong], 0.4)
        rois = torch.cat([torch.zeros_like(boxes[kept, :1]), boxes[kept]], 1)
        if not self.has_warned:
            warnings.warn("once")
            self.has_warned = True
        windows = [torch.ops.torchvision.roi_align(features, rois, 0.5, 2, 3, samples, samples > 0) for samples in [-1, 2]]
        rows, columns = torch.meshgrid([torch.arange(3), torch.arange(2)])[::-1]
        return strong, kept, windows[0], windows[1], rows - columns


class Order(enum.Enum):
    FIRST = "first"
    LAST = "last"


class ManyBoxes(nn.Module):
    """More than 1,000 boxes with negative coordinates: classes do not meet, as they do where there are few."""

    def forward(self, boxes, scores, classes):
        strong = scores > 0.1
        boxes = boxes[strong]
        return boxes[torchvision.ops.batched_nms(boxes, scores[strong], classes[strong], 0.5)]


class Enumerated(nn.Module):
    def __init__(self):
        super().__init__()
        self.order = Order.LAST

    def forward(self, x):
        if self.order == Order.FIRST:
            x = x + 1
        if self.order != Order.FIRST:
            x = x.flip(0)
        return x


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


class Changing(nn.Module):
    """The second call is another one than the first, though of the same operators."""

    def __init__(self):
        super().__init__()
        self.factor = 1

    def forward(self, x):
        y = x * self.factor
        self.factor = 4
        return y


class Repacked(nn.Module):
    """What lies behind the end of a row becomes 0 without a recurrent layer."""

    def forward(self, x, lengths):
        rows = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(rows, batch_first=True)


def add_to(case, refused, attributes):
    x = torch.randn(3, 4)
    case("values", Values(), x, 3, [2, 6], "fast", scripted=True)
    case("streaming", Streaming(), torch.randn(2, 1, 20), 8000, scripted=True)
    attributes["streaming"] = {"rate": 8000}
    case("objects", Objects(), x, {"a": x, "b": torch.randn(2, 4)}, scripted=True)
    case("types", Types(), torch.randn(2, 10), scripted=True)
    case("packed_sequences", Packed(), torch.randn(3, 6, 4), torch.tensor([2, 5, 4]), scripted=True)
    case("lstm_scripted", nn.LSTM(4, 3, bidirectional=True), torch.randn(5, 2, 4), scripted=True)
    corners = torch.rand(6, 2) * 5
    case("boxes", Boxes(), torch.randn(1, 2, 10, 12), torch.cat([corners, corners + 1 + torch.rand(6, 2) * 5], 1), torch.tensor([0.9, 0.05, 0.8, 0.3, 0.7, 0.6]), scripted=True)
    case("enumerated", Enumerated(), x, scripted=True)
    corners = torch.rand(1150, 2) * 100 - 60
    case("many_boxes", ManyBoxes(), torch.cat([corners, corners + 1 + torch.rand(1150, 2) * 30], 1), torch.rand(1150), torch.randint(0, 5, (1150,)), scripted=True)
    refused["counting"] = (Counting(), (x,), True)
    refused["changing"] = (Changing(), (x,), True)
    refused["repacked"] = (Repacked(), (torch.randn(3, 6, 4), torch.tensor([2, 6, 4])), True)
