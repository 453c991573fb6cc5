"""Runs the program on hostile files, in a folder of its own and with bounds that hold for every command and input."""

import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time

MOST_CPU = 10  # seconds
MOST_MEMORY = 2 << 30  # bytes
STATUSES = (0, 1, 2, 3)

# What could steer a terminal or a log, as bytes of UTF-8: C0 but tab and line break, DEL, C1, marks of the writing direction.
STEERING = re.compile(b"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xaf]")


class Result:
    def __init__(self, status, out, err, cpu, peak, wall):
        self.status, self.out, self.err, self.cpu, self.peak, self.wall = status, out, err, cpu, peak, wall

    @property
    def text(self):
        return (self.out + self.err).decode("utf-8", "replace")

    def note(self):
        return f"{self.cpu:.1f} s, {self.peak >> 20} MiB, status {self.status}"


def limits(address_space, cpu):
    def apply():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if address_space:
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

    return apply


class Box:
    """A folder that goes away, and the program."""

    def __init__(self, program):
        self.program = os.path.abspath(program)
        self.folder = tempfile.mkdtemp(prefix="onnxkit-hostile-")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def put(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return name

    def start(self, *words, **more):
        return subprocess.Popen([self.program, *words], cwd=self.folder, stdin=subprocess.DEVNULL, **more)

    def run(self, *words, address_space=16 << 30, preexec=None, cpu=MOST_CPU + 2):
        """Output is kept in files, so that the figures are those of the program alone."""
        def prepare():
            limits(address_space, cpu)()
            if preexec:
                preexec()

        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            begin = time.monotonic()
            child = self.start(*words, stdout=out, stderr=err, preexec_fn=prepare)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            wall = time.monotonic() - begin
            out.seek(0), err.seek(0)
            return Result(child.returncode, out.read(), err.read(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10, wall)


def fault_of(result, cpu=MOST_CPU, memory=MOST_MEMORY, status=None, says=None, silent_about=None):
    """What breaks the rule of all commands: below 10 s of CPU and 2 GiB, a documented status, and a reason where it is not 0."""
    if result.status < 0:
        return f"ended by {signal.Signals(-result.status).name} ({result.note()}): {result.text[-300:]}"
    if result.status not in STATUSES:
        return f"status {result.status}: {result.text[-300:]}"
    if status is not None and result.status not in (status if isinstance(status, tuple) else (status,)):
        return f"status {result.status} instead of {status}: {result.text[-400:]}"
    if result.cpu > cpu:
        return f"{result.cpu:.1f} s of CPU, at most {cpu} s"
    if result.peak > memory:
        return f"{result.peak >> 20} MiB, at most {memory >> 20} MiB"
    if result.status != 0 and not (result.out + result.err).strip():
        return "fails without a reason"
    steering = STEERING.search(result.out + result.err)
    if steering:
        return f"prints {steering.group()!r} of {(result.out + result.err)[max(0, steering.start() - 60):][:120]!r}"
    if says is not None and says not in result.text:
        return f"does not say {says!r}: {result.text[-400:]}"
    if silent_about is not None and silent_about in result.text:
        return f"says {silent_about!r}: {result.text[-400:]}"
    return ""
