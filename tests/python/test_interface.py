"""The table of functions against the header, and the examples of the documentation."""
import doctest
import os
import pathlib
import re
import shutil
import tempfile
import unittest
from ctypes import c_char_p, c_int, c_int32, c_size_t, c_void_p

from onnxkit import _library
from models import TESTDATA

ROOT = TESTDATA.parent
_RESULTS = {"const char*": (c_char_p, c_void_p), "int32_t": (c_int32,), "size_t": (c_size_t,), "void": (None,),
            "onnxkit_error_kind": (c_int,), "onnxkit_value_kind": (c_int,), "const void*": (c_void_p,)}


def declarations():
    """Name, result and number of arguments of each function of the header."""
    text = (ROOT / "bindings/c/include/onnxkit/c_api.h").read_text()
    for result, name, arguments in re.findall(r"ONNXKIT_C_API ([\w *]+?)\s*\bonnxkit_(\w+)\(([^)]*)\);", text):
        yield name, result.strip(), 0 if arguments.strip() == "void" else arguments.count(",") + 1


class Interface(unittest.TestCase):

    def test_functions_are_those_of_the_header(self):
        declared = {name: (result, count) for name, result, count in declarations()}
        self.assertEqual(set(declared), set(_library._FUNCTIONS))
        for name, (result, count) in declared.items():
            with self.subTest(name):
                has, arguments = _library._FUNCTIONS[name]
                self.assertEqual(count, len(arguments))
                if result in _RESULTS:
                    self.assertIn(has, _RESULTS[result])
                elif result != "const int64_t*":
                    self.assertIs(c_void_p, has)  # a handle


class Documentation(unittest.TestCase):

    def test_examples_give_what_the_page_shows(self):
        here = pathlib.Path.cwd()
        with tempfile.TemporaryDirectory() as name:
            shutil.copy(TESTDATA / "models/digits_broken.onnxtxt", name)
            shutil.copy(TESTDATA / "models/fc2/onnx_opset9.onnx", pathlib.Path(name, "model.onnx"))
            os.chdir(name)
            try:
                result = doctest.testfile(str(ROOT / "docs/python.md"), module_relative=False)
            finally:
                os.chdir(here)
        self.assertGreater(result.attempted, 10)
        self.assertEqual(0, result.failed)
