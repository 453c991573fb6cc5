"""The machine that runs what was compiled."""
from onnx.reference import ReferenceEvaluator


class VirtualMachine:
    def __init__(self, compiled, device):
        assert device == "cpu"
        self.model = compiled

    def __getitem__(self, name):
        from .. import Tensor
        assert name == "main"
        evaluator = ReferenceEvaluator(self.model)
        initial = {tensor.name for tensor in self.model.graph.initializer}
        names = [value.name for value in self.model.graph.input if value.name not in initial]

        def run(*tensors):
            results = [Tensor(value) for value in evaluator.run(None, {name: tensor.value for name, tensor in zip(names, tensors)})]
            return results[0] if len(results) == 1 else results

        return run
