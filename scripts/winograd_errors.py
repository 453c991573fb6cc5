#!/usr/bin/env python3
"""How much larger the errors of Winograd convolutions are than those of plain sums: NNPACK's, through PyTorch. Prints a table for docs/noise-floor.md.

    scripts/winograd_errors.py

The factor that reference/noise/noise.cpp takes must cover it: rms error / sigma at most 2, largest / the larger of sigma and the pooled sigma at most 12.
"""
import torch
from torch.nn.functional import conv2d

UNIT = 2.0**-24
SHAPES = [(3, 56, 16), (16, 56, 1), (64, 56, 1), (128, 28, 1), (256, 28, 1), (256, 14, 1), (512, 7, 1)]  # channels, rows and columns, batch


def plain(x, w):
    """The exact convolution, and sigma of a plain sum (docs/noise-floor.md)."""
    x, w = x.double(), w.double()
    terms = w[0].numel()
    y = conv2d(x, w, padding=1)
    squares = conv2d(x**2, torch.ones_like(w), padding=1) * (w**2).sum((1, 2, 3)).view(1, -1, 1, 1) / terms
    sigma = (UNIT**2 / 3 * (terms / 3 * y**2 + terms / 6 * squares)).sqrt()
    pooled = (sigma**2).mean().sqrt()
    return y, torch.maximum(sigma, pooled / 2), pooled


def measured(y, sigma, pooled, result):
    error = (result.double() - y).abs()
    return f"{((error / sigma) ** 2).mean().sqrt():.2f} / {(error / torch.maximum(sigma, pooled)).max():.1f}"


def main():
    torch.manual_seed(0)
    print("| channels | image | inputs | oneDNN: rms / largest | NNPACK: rms / largest |\n|---:|---:|---|---:|---:|")
    for channels, size, batch in SHAPES:
        for kind in ("normal", "behind Relu"):
            x = torch.randn(batch, channels, size, size)
            x = x.relu() if kind == "behind Relu" else x
            w = torch.randn(channels, channels, 3, 3) / (9 * channels) ** 0.5
            exact = plain(x, w)
            nnpack = torch._nnpack_spatial_convolution(x, w, None, 1, 1)
            print(f"| {channels} | {size}x{size} | {kind} | {measured(*exact, conv2d(x, w, padding=1))} | {measured(*exact, nnpack)} |")


if __name__ == "__main__":
    main()
