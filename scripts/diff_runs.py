"""`onnxkit diff` run over many models by scripts/diff_models and scripts/noise_floor, its reports kept as JSON so that a part can be renewed."""
import dataclasses
import fnmatch
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ("name", "type", "set", "verdict", "profile", "why", "floors", "flips")


def with_packages():
    """Starts the script again by the interpreter that has PyYAML and numpy."""
    if "ONNXKIT_SCRIPT_PYTHON" not in os.environ:
        found = subprocess.run([ROOT / "scripts/python_env", "oracle"], check=True, capture_output=True, text=True).stdout.strip()
        os.execve(found, [found, *sys.argv], {**os.environ, "ONNXKIT_SCRIPT_PYTHON": found})


@dataclasses.dataclass
class Runner:
    program: pathlib.Path
    python: str
    folder: pathlib.Path  # of reports

    def report(self, name, arguments, renew):
        """The report of one comparison, without what the tables do not need; a run that gives none is an error of the script."""
        path = self.folder / f"{name}.json"
        if path.exists() and not renew:
            return json.loads(path.read_text())
        command = [self.program, "diff", *arguments, "--format", "json", "--python", self.python]
        done = subprocess.run(command, capture_output=True, text=True)
        try:
            report = reduced(json.loads(done.stdout))
        except json.JSONDecodeError:
            sys.exit(f"{name}: status {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
        self.keep(name, report)
        return report

    def keep(self, name, report):
        path = self.folder / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=1) + "\n")


def real(value):
    """JSON has no infinities and no NaN: they are words there."""
    return 0.0 if value is None else float(value)


def reduced(report):
    for side in report["sides"]:
        side["outputs"] = [{**{key: output[key] for key in KEPT if key in output},
                            "max_absolute": output.get("metrics", {}).get("max_absolute"),
                            "range_relative": output.get("metrics", {}).get("range_relative")} for output in side["outputs"]]
        side.pop("layers", None)
    return report


def sets_of(folder):
    return [word for path in sorted(folder.glob("test_data_set_*")) for word in ("--set", str(path))]


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def judged_floor(output):
    """The measure that the verdict rests on: of the profile that explains, else of the finest that was tried."""
    floors = output["floors"]
    return next((floor for floor in floors if floor["profile"] == output["profile"]), floors[0] if floors else None)


def number(value):
    return "-" if value is None else "0" if value == 0 else f"{value:.2g}" if value < 10 else f"{value:.0f}" if value < 1e5 else f"{value:.0e}"
