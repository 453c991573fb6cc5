"""The models of random_graphs and random_sizes: which templates there are, and the model of a number."""
from random_graph_builder import Builder, Invalid
from random_graph_dags import graph
from random_graph_networks import NETWORKS
from random_graph_official import cases, official
from random_graph_operators import OPERATORS
from random_graph_patterns import PATTERNS

PATTERNS = {**PATTERNS, **OPERATORS, **NETWORKS}
TEMPLATES = {**PATTERNS, "graph": graph, "official": official}
ATTEMPTS = 50


def all_names():
    """Of templates, each as often as it is to be drawn."""
    return [*PATTERNS, *["graph", "images"] * 10, *(["official"] * 10 if cases() else [])]


def made(seed, index, names, is_smooth=False, cap=0):
    """A model with the data of its inputs, and the name of its template."""
    for attempt in range(ATTEMPTS):
        b = Builder(f"{seed}/{index}/{attempt}", cap, is_smooth)
        name = b.pick(names)
        try:
            b.output(TEMPLATES[name](b))
            return (*b.model(), name)
        except Invalid:
            continue
    raise SystemExit(f"no model {index} of seed {seed} in {ATTEMPTS} attempts")
