"""Runs models in a process of its own, so that a runtime that crashes or hangs costs one model only."""
import json
import os
import pickle
import select
import subprocess
import sys

LIMIT_S = 60
CRASHED = "crashed"


def serve(runtime_name):
    """The worker's side: jobs (model bytes, {name: (proto class, bytes)} or None) come in pickled, answers go out as JSON lines."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a runtime prints must not get between the answers
    os.dup2(1, 2)
    from .runtimes import RUNTIMES, NotFeedable, shortened

    runtime = RUNTIMES[runtime_name]()
    while True:
        try:
            model, inputs = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        status, why = "refused", ""
        try:
            loaded = runtime.load(model)
            status = "loads"
            if inputs is not None:
                runtime.run(loaded, {name: kind.FromString(data) for name, (kind, data) in inputs.items()})
                status = "runs"
        except NotFeedable as fault:
            why = f"not fed: {fault}"
        except Exception as fault:  # runtimes raise whatever they like
            status, why = "refused", shortened(runtime.reason(str(fault))) or type(fault).__name__
        answers.write(json.dumps([status, why]) + "\n")
        answers.flush()


class Worker:
    """The measuring side. One process at a time, started again after a crash or a hang."""

    def __init__(self, runtime_name):
        self.runtime_name = runtime_name
        self.process = None
        self.crashes = 0

    def try_model(self, model, values):
        """('runs' | 'loads' | 'refused', reason); `values` is None to load only."""
        if self.process is None:
            code = f"from support.worker import serve; serve({self.runtime_name!r})"
            scripts = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
            self.process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=scripts)
        inputs = None if values is None else {name: (type(proto), proto.SerializeToString()) for name, proto in values.items()}
        job = (model.SerializeToString(), inputs)
        try:
            pickle.dump(job, self.process.stdin)
            self.process.stdin.flush()
            ready = select.select([self.process.stdout], [], [], LIMIT_S)[0]
            line = self.process.stdout.readline() if ready else b""
        except BrokenPipeError:
            ready, line = True, b""
        if line:
            return tuple(json.loads(line))
        self.close()
        self.crashes += 1
        return ("refused", CRASHED if ready else f"no answer in {LIMIT_S} s")

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
