"""Programs for values of arguments that the reader of .pt2 tells apart and that no program of torch_cases.py and torch_overload_cases.py has.

    add_to(case)     calls case(name, function, *inputs, dynamic=...) for each
"""
import torch

aten = torch.ops.aten


def add_to(case):
    pass
