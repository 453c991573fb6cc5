"""Seeded faults for networks, as exporters, converters and hands make them.

A kind of fault is a function of a module of this package, named in its KINDS: it takes a Net and a random generator, changes the net's model at one
place and returns the names of the values that may be called the first wrong one, and what was done in words; None where the network has no such place.
"""
import importlib
import pkgutil
import random

from .net import Net


def kinds():
    """Name to function, sorted by name."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        found.update(getattr(importlib.import_module(f"{__name__}.{module.name}"), "KINDS", {}))
    return dict(sorted(found.items()))


def planted(model, values, count, seed):
    """Yields (kind, names of the first wrong value, words, model) count times, the kinds in turn, no fault twice."""
    rng = random.Random(seed)
    functions = kinds()
    rng_turn = list(functions)
    rng.shuffle(rng_turn)
    seen, failures, turn, made = set(), {}, 0, 0
    while made < count and rng_turn:
        kind = rng_turn[turn % len(rng_turn)]
        net = Net(model, values)
        fault = functions[kind](net, rng)
        if fault is None or (kind, *fault) in seen:
            failures[kind] = failures.get(kind, 0) + 1
            if fault is None or failures[kind] > 8:
                rng_turn.remove(kind)
            continue
        seen.add((kind, *fault))
        turn, made = turn + 1, made + 1
        yield kind, fault[0], fault[1], net.model
