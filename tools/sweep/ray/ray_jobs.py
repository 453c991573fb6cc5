#!/usr/bin/env python3
"""Runs commands of onnxkit on the nodes of a Ray cluster, for `onnxkit sweep --ray` (docs/sweep.md).

Standard input is an object: address, program, version, folder, processors and gpus of each job, time_ms (0: any), jobs: [{index, words, path,
size}]. For each job that
has ended a line is printed: index, host, and status, signal, late or failure, seconds, cpu_seconds, peak_bytes, output, messages; or one
line with `error`, and nothing more.
"""
import json
import os
import sys
import warnings

# Tasks that are given to Ray before others have ended, for each processor of the cluster: nodes need not wait for the next one.
AHEAD = 2


def run_job(job, shared):
    """On a node: the end of a job."""
    import contextlib
    import fcntl
    import pathlib
    import shutil
    import signal
    import socket
    import subprocess
    import sys
    import tempfile
    import time

    def claimed(count):
        """Processors that no other job on this node has; they are given back when the files are closed."""
        files, own = [], set()
        folder = pathlib.Path(tempfile.gettempdir(), f"onnxkit-sweep-{os.getuid()}")
        folder.mkdir(mode=0o700, exist_ok=True)
        for processor in sorted(os.sched_getaffinity(0)):
            if len(own) == count:
                break
            file = open(folder / f"processor-{processor}", "w")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                continue
            files.append(file)
            own.add(processor)
        return files, own or os.sched_getaffinity(0)

    def used_by(process, seconds):
        """What the process used, once it has ended; None where it has not after so many seconds (0: any)."""
        last = time.monotonic() + seconds if seconds else None
        while last is None or time.monotonic() < last:
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
            if ended:
                process.returncode = os.waitstatus_to_exitcode(status)
                return used
            time.sleep(0.02)
        return None

    def failure(text):
        return {"index": job["index"], "host": host, "failure": text}

    host = socket.gethostname()
    beside = pathlib.Path(sys.executable).with_name("onnxkit")
    places = [shared["program"], str(beside), "onnxkit"]
    program = next((found for found in map(shutil.which, places) if found), None)
    if program is None:
        return failure(f"node {host} has no program onnxkit: install its wheel there (docs/python.md)")
    told = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.split()
    if told[-1:] != [shared["version"]]:
        return failure(f"node {host} has onnxkit {' '.join(told[-1:])}, not {shared['version']}")
    if "size" in job and (not os.path.isfile(job["path"]) or os.path.getsize(job["path"]) != job["size"]):
        return failure(f"node {host} has no such file, or another one: models must lie in a folder that all nodes share")

    files, processors = claimed(shared["processors"])
    end = {"index": job["index"], "host": host}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        start = time.monotonic()
        process = subprocess.Popen([program, *job["words"]], stdin=subprocess.DEVNULL, stdout=output, stderr=messages,
                                   cwd=shared["folder"] if os.path.isdir(shared["folder"]) else None,
                                   env={"ONNXKIT_PYTHON": sys.executable, **os.environ}, start_new_session=True,
                                   preexec_fn=lambda: os.sched_setaffinity(0, processors))

        def tell_group(number):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)

        try:
            used = used_by(process, shared["time_ms"] / 1000)
            if used is None:
                end["late"] = True
                tell_group(signal.SIGTERM)
                used = used_by(process, 2)
        finally:
            tell_group(signal.SIGKILL)
        used = used or used_by(process, 0)
        end["seconds"] = time.monotonic() - start
        end["cpu_seconds"] = used.ru_utime + used.ru_stime
        end["peak_bytes"] = used.ru_maxrss * 1024
        if process.returncode >= 0:
            end["status"] = process.returncode
        else:
            end["signal"] = signal.Signals(-process.returncode).name
        for name, file, most in (("output", output, 256 << 20), ("messages", messages, 64 << 10)):
            file.seek(max(0, file.seek(0, os.SEEK_END) - most))
            end[name] = file.read().decode(errors="replace")
    for file in files:
        file.close()
    return end


def tell(line):
    print(json.dumps(line), file=told_to, flush=True)


def run_all(ray, request):
    """Gives jobs to Ray, so many at a time that all processors have some, and tells of each that has ended."""
    shared = {name: request[name] for name in ("program", "version", "folder", "processors", "time_ms")}
    # A node that is lost takes its jobs with it, and Ray gives them to others.
    task = ray.remote(num_cpus=request["processors"], num_gpus=request["gpus"], max_retries=2)(run_job)
    running = {}
    jobs = iter(request["jobs"])
    job = next(jobs, None)
    while job is not None or running:
        room = max(1, int(ray.cluster_resources().get("CPU", 1)) // request["processors"]) * AHEAD
        while job is not None and len(running) < room:
            running[task.remote(job, shared)] = job["index"]
            job = next(jobs, None)
        for done in ray.wait(list(running), num_returns=1, timeout=1)[0]:
            index = running.pop(done)
            try:
                tell(ray.get(done))
            except ray.exceptions.RayError as fault:
                tell({"index": index, "failure": f"the job was lost: {type(fault).__name__}"})


def main():
    request = json.load(sys.stdin)
    try:
        import ray
        warnings.filterwarnings("ignore", category=FutureWarning, module="ray")
    except ImportError:
        tell({"error": f"{sys.executable} has no package ray: pip install ray"})
        return 0
    options = {} if request["address"] == "local" else {"address": request["address"]}
    if request["address"] == "local":
        options["num_cpus"] = max(request["processors"], len(os.sched_getaffinity(0)))
    try:
        ray.init(log_to_driver=False, logging_level="ERROR", **options)
    except Exception as fault:  # whatever ray raises where there is no cluster
        tell({"error": f"Ray cannot be reached at {request['address']}: {str(fault).splitlines()[0]}"})
        return 0
    try:
        run_all(ray, request)
    except KeyboardInterrupt:  # the sweep was stopped: the end of this driver ends what it runs on the cluster
        pass
    finally:
        ray.shutdown()
    return 0


if __name__ == "__main__":
    # Ray, too, prints to standard output.
    told_to = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.exit(main())
