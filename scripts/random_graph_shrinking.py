"""Makes a model that shows a fault smaller, for scripts/random_graphs."""
import pathlib
import tempfile

import onnx
from onnx import helper

from random_graph_builder import names_read

CAPS = (1, 2, 3, 4, 8)
MOST_TRIALS = 400


class Shrinker:
    """`judge` gives the outcome of a folder, `write` puts a model and its inputs into one."""

    def __init__(self, judge, folder, kind, write):
        self.judge, self.folder, self.kind, self.write = judge, folder, kind, write
        self.trials = 0

    def fails(self, model, sets):
        self.trials += 1
        try:
            self.write(self.folder, model, sets)
        except (TypeError, ValueError, KeyError):
            return False
        return self.judge(self.folder).kind == self.kind

    def shrunk(self, model, sets, at_most):
        """`at_most` makes the model again with sizes of at most a number."""
        for cap in CAPS:
            smaller = made_again(at_most, cap)
            if smaller and self.fails(*smaller):
                model, sets = smaller
                break
        if len(sets) > 1:
            model, sets = next(((model, [each]) for each in sets if self.fails(model, [each])), (model, sets))
        while self.trials < MOST_TRIALS:
            smaller = next((tried for tried in self.candidates(model, sets) if self.fails(*tried)), None)
            if not smaller:
                break
            model, sets = smaller
        return model, sets

    def candidates(self, model, sets):
        yield from fewer_outputs(model, sets)
        initial = {tensor.name: tensor for tensor in model.graph.initializer}
        self.write(self.folder, model, sets)
        values = [{**initial, **data, **inner_values(self.judge, self.folder / f"test_data_set_{at}", model)} for at, data in enumerate(sets)]
        for at in reversed(range(len(model.graph.node))):
            yield from cut(model, sets, values, at)
        for at in reversed(range(len(model.graph.node))):
            yield from bypassed(model, sets, values, at)


def inner_values(judge, inputs, model):
    """What the reference has for the values inside the graph, by their names."""
    with tempfile.TemporaryDirectory() as place:
        words = ["run", inputs.parent / "model.onnx", "-i", inputs, "--output-dir", place, "--no-own-workers"]
        for node in model.graph.node:
            for name in node.output:
                words += ["--tap", name] if name else []
        judge.call(*words)
        found = [onnx.load_tensor(path) for path in pathlib.Path(place).glob("output_*.pb") if is_tensor(path)]
    return {tensor.name: tensor for tensor in found if tensor.name}


def is_tensor(path):
    try:
        return onnx.load_tensor(path).data_type != 0
    except Exception:  # a sequence
        return False


def made_again(at_most, cap):
    try:
        return at_most(cap)
    except (SystemExit, ValueError, IndexError):
        return None


def copy_of(model):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def cleaned(model):
    """Without nodes, initializers and inputs that nothing reads."""
    graph = model.graph
    while True:
        read = names_read(graph.node) | {output.name for output in graph.output}
        kept = [node for node in graph.node if any(name in read for name in node.output)]
        if len(kept) == len(graph.node):
            break
        del graph.node[:]
        graph.node.extend(kept)
    for items in (graph.initializer, graph.input):
        kept = [item for item in items if item.name in read]
        del items[:]
        items.extend(kept)
    return model


def fewer_outputs(model, sets):
    count = len(model.graph.output)
    for at in range(count if count > 1 else 0):
        one = copy_of(model)
        del one.graph.output[:]
        one.graph.output.add().CopyFrom(model.graph.output[at])
        yield cleaned(one), sets
    for at in range(count if count > 2 else 0):
        fewer = copy_of(model)
        del fewer.graph.output[at]
        yield cleaned(fewer), sets


def cut(model, sets, values, at):
    """The results of a node become inputs with the numbers that they have."""
    node = model.graph.node[at]
    names = [name for name in node.output if name]
    if not all(name in each for name in names for each in values) or not node.input:
        return
    smaller = copy_of(model)
    del smaller.graph.node[at]
    for name in names:
        sizes = {tuple(each[name].dims) for each in values}
        shape = sizes.pop() if len(sizes) == 1 else [None] * len(values[0][name].dims)
        smaller.graph.input.append(helper.make_tensor_value_info(name, values[0][name].data_type, shape))
    yield cleaned(smaller), [{**data, **{name: each[name] for name in names}} for data, each in zip(sets, values)]


def bypassed(model, sets, values, at):
    """A node goes, and its readers get what it read."""
    node = model.graph.node[at]
    if len(node.output) != 1 or node.output[0] not in values[0] or any(output.name == node.output[0] for output in model.graph.output):
        return
    result = values[0][node.output[0]]
    for name in dict.fromkeys(node.input):
        source = values[0].get(name)
        if source is None or source.data_type != result.data_type or list(source.dims) != list(result.dims):
            continue
        smaller = copy_of(model)
        del smaller.graph.node[at]
        rename(smaller.graph, node.output[0], name)
        yield cleaned(smaller), sets


def rename(graph, before, after):
    for node in graph.node:
        for at, name in enumerate(node.input):
            if name == before:
                node.input[at] = after
        for attribute in node.attribute:
            if attribute.HasField("g"):
                rename(attribute.g, before, after)
    for output in graph.output:
        if output.name == before:
            output.name = after
