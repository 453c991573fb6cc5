"""What the benchmark scripts share: whole processes timed by turns, the machine's name, sections of docs/benchmarks.md."""
import json
import os
import platform
import statistics
import subprocess
import sys
import time

# A peer run beyond this is done once only.
SLOW_SECONDS = 5


class Series:
    """Times in seconds and resident sizes in MB of one program on one model."""

    def __init__(self):
        self.seconds, self.megabytes, self.status = [], [], None

    def add(self, command):
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        self.seconds.append(time.perf_counter() - start)
        process.returncode = self.status = os.waitstatus_to_exitcode(status)
        self.megabytes.append(usage.ru_maxrss / 1024)

    @property
    def time(self):
        return statistics.median(self.seconds)

    @property
    def memory(self):
        return max(self.megabytes)

    def cells(self):
        if self.status != 0:
            return [f"fails after {milliseconds(self.time)}", f"{self.memory:.0f} MB"]
        return [milliseconds(self.time), f"{self.memory:.0f} MB"]


def milliseconds(seconds):
    return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds * 1000:.0f} ms"


def touch_memory(megabytes=1500):
    """A virtual machine that gave free pages back to its host waits for them at their next use, up to 3 ms for each MB: not the time of any program."""
    touch = f"import mmap; pages = mmap.mmap(-1, {megabytes} << 20); [pages.__setitem__(at, 1) for at in range(0, len(pages), 4096)]"
    subprocess.run([sys.executable, "-c", touch], check=True)  # a process of its own, or its size would count as that of those started later


def measure(ours, peer, repeats, outputs=()):
    """Both commands by turns, after one run each that warms the page cache; `outputs` are removed before each run."""
    series = Series(), Series()
    warm = Series()

    def add(runs, command):
        for path in outputs:
            path.unlink(missing_ok=True)
        if outputs:
            touch_memory()
        runs.add(command)

    add(warm, ours)
    add(warm, peer)
    peer_repeats = 1 if warm.seconds[1] > SLOW_SECONDS else repeats
    for turn in range(repeats):
        add(series[0], ours)
        if turn < peer_repeats:
            add(series[1], peer)
    return series


def beside_onnxruntime(program, file, max_time):
    """`cpu` and ONNX Runtime on one thread by `onnxkit bench`: both sides of its report, or the last line of what went wrong."""
    command = [program, "bench", file, "-b", "cpu,onnxruntime-lib", "--threads", "1", "--max-time", max_time, "--format", "json",
               "--python", sys.executable]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        sides = json.loads(run.stdout)["benchmarks"][0]["sides"]
        failed = [side["failure"]["error"]["message"] for side in sides if "failure" in side]
        return failed[0] if failed else sides
    except (ValueError, LookupError):
        return (run.stderr or run.stdout).strip().splitlines()[-1]


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "CPU")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GB, Linux {platform.release()}"


def write_section(path, heading, text):
    """Puts `text` under the second-level heading, in the place of what stood there or at the end."""
    old = path.read_text() if path.exists() else "# Benchmarks\n"
    start = old.find(heading + "\n")
    if start < 0:
        path.write_text(old.rstrip("\n") + "\n\n" + heading + "\n" + text)
        return
    end = old.find("\n## ", start + 1)
    rest = "" if end < 0 else old[end:]
    path.write_text(old[:start] + heading + "\n" + text + rest)
