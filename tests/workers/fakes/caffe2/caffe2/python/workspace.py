"""What the adapter uses of Caffe2's workspace, with the operators of a small net."""
import numpy as np

spaces, nets = {"default": {}}, {}
current = "default"


def filled(shape, values):
    return np.array(values, np.float32).reshape(shape)


OPERATORS = {
    "FC": lambda x, w, b: x.reshape(len(x), -1) @ w.T + b,
    "Relu": lambda x: np.maximum(x, 0),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "GivenTensorFill": filled,
}


def SwitchWorkspace(name, create=False):
    global current
    if name not in spaces and not create:
        raise RuntimeError(f"no workspace {name}")
    spaces.setdefault(name, {})
    current = name


def FeedBlob(name, value):
    assert isinstance(value, np.ndarray)
    spaces[current][name] = value.copy()


def FetchBlob(name):
    return spaces[current][name]


def run(net):
    blobs = spaces[current]
    for operation in net.op:
        arguments = {argument.name: list(argument.ints) or list(argument.floats) for argument in operation.arg}
        blobs[operation.output[0]] = OPERATORS[operation.type](*[blobs[name] for name in operation.input], **arguments)
    return True


def RunNetOnce(net):
    return run(net)


def CreateNet(net):
    missing = [name for name in net.external_input if name not in spaces[current]]
    unknown = [operation.type for operation in net.op if operation.type not in OPERATORS]
    if missing or unknown:
        raise RuntimeError(f"Cannot create operator of type '{unknown[0]}'" if unknown else f"op input not found: {missing}")
    nets[current, net.name] = net
    return True


def RunNet(name):
    return run(nets[current, name])
