"""What scripts/new_mapping begins is complete and compiles.

    tests/adding/new_mapping.py COMPILER GENERATED      GENERATED: the folder with the build's headers of schemas
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from suite import Suite

BEGUN = {
    ("pt2", "aten.nextafter.default"): ("converters/formats/pt2/read/nextafter.cpp", "scripts/torch_cases.py"),
    ("torchscript", "aten.nextafter.default"): ("converters/formats/torchscript/read/nextafter.cpp", "scripts/torchscript_cases.py"),
    ("saved_model", "MatrixSolve"): ("converters/formats/saved_model/read/matrix_solve.cpp", "scripts/tf_cases.py"),
    ("tflite", "NON_MAX"): ("converters/formats/tflite/read/non_max.cpp", "scripts/tflite_cases.py"),
    ("aten", "--write", "BitCount"): ("converters/formats/aten/write/bit_count.cpp", "testdata/written/bit_count.onnxtxt"),
    ("saved_model", "--write", "BitCount"): ("converters/formats/saved_model/write/bit_count.cpp", "testdata/written/bit_count.onnxtxt"),
    ("tflite", "--write", "BitCount"): ("converters/formats/tflite/write/bit_count.cpp", "testdata/written/bit_count.onnxtxt"),
}


def fault_of(tree, words, source, case, compiler, generated):
    before = (tree / case).read_text() if (tree / case).exists() else ""
    done = subprocess.run([sys.executable, tree / "scripts/new_mapping", *words], capture_output=True, text=True)
    if done.returncode:
        return done.stderr
    if not (tree / case).exists() or (case.endswith(".py") and len((tree / case).read_text().splitlines()) != len(before.splitlines()) + 1):
        return f"no case was added to {case}"
    built = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}", f"-I{ROOT}/libonnxkit/include",
                            "-isystem", generated, tree / source], capture_output=True, text=True)
    again = subprocess.run([sys.executable, tree / "scripts/new_mapping", *words], capture_output=True, text=True)
    return built.stderr or ("" if again.returncode == 1 and "exists" in again.stderr else "an existing file is written over")


def main():
    suite = Suite(False)
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name)
        shutil.copytree(ROOT / "scripts", tree / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        for source, case in BEGUN.values():
            (tree / source).parent.mkdir(parents=True, exist_ok=True)
            (tree / case).parent.mkdir(parents=True, exist_ok=True)
        for words, (source, case) in BEGUN.items():
            suite.check(" ".join(words), fault_of(tree, words, source, case, *sys.argv[1:]))
    return suite.close()


if __name__ == "__main__":
    sys.exit(main())
