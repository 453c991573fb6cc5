"""Values, sessions, comparisons."""
import json
import pathlib
import signal
import tempfile
import threading
import time
import unittest

import numpy

import onnxkit
from models import ENDLESS, SCALED, TESTDATA, model

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


def identity(declared):
    """A model that gives back what it gets."""
    return model(f'<ir_version: 13, opset_import: ["": 25]> main ({declared} x) => ({declared} y) {{ y = Identity (x) }}')


class Values(unittest.TestCase):

    def same(self, declared, value):
        given = identity(declared).session().run({"x": value})["y"]
        expected = numpy.asarray(value)
        self.assertEqual((expected.dtype, expected.shape), (given.dtype, given.shape))
        self.assertEqual(expected.tobytes(), given.tobytes())

    def test_numbers(self):
        for declared, dtype in (("float", "f4"), ("double", "f8"), ("float16", "f2"), ("int64", "i8"), ("int32", "i4"),
                                ("int16", "i2"), ("int8", "i1"), ("uint64", "u8"), ("uint32", "u4"), ("uint16", "u2"),
                                ("uint8", "u1"), ("bool", "?"), ("complex64", "c8"), ("complex128", "c16")):
            with self.subTest(declared):
                self.same(f"{declared}[2, 3]", numpy.arange(6).reshape(2, 3).astype(dtype))
                self.same(f"{declared}[0, 3]", numpy.empty((0, 3), dtype))
                self.same(declared, numpy.array(1, dtype))

    def test_any_memory_layout(self):
        array = numpy.arange(24, dtype=numpy.float32).reshape(4, 6)
        for view in (array.T, array[::2, ::-1], array.astype(">f4")):
            given = identity("float[A, B]").session().run({"x": view})["y"]
            numpy.testing.assert_array_equal(view, given)
        given[0, 0] = 7  # results belong to the caller

    @unittest.skipIf(ml_dtypes is None, "the package ml_dtypes is not installed")
    def test_packed_and_narrow_numbers(self):
        for declared in ("bfloat16", "float8e4m3fn", "float8e5m2", "int4", "uint4", "int2", "uint2", "float4e2m1"):
            dtype = {"bfloat16": "bfloat16", "float8e4m3fn": "float8_e4m3fn", "float8e5m2": "float8_e5m2",
                     "float4e2m1": "float4_e2m1fn"}.get(declared, declared)
            with self.subTest(declared):
                numbers = [-1, 0, 1, 1, -2, 1, 0] if not declared.startswith("u") else [3, 0, 1, 2, 3, 1, 0]
                self.same(f"{declared}[7]", numpy.array(numbers, getattr(ml_dtypes, dtype)))

    def test_strings(self):
        given = identity("string[2, 2]").session().run({"x": [["a", "ä"], ["", "d\0e"]]})["y"]
        self.assertEqual([["a", "ä"], ["", "d\0e"]], given.tolist())

    def test_sequences_and_optionals(self):
        arrays = [numpy.float32([1, 2]), numpy.float32([3])]
        given = identity("seq(float[])").session().run({"x": arrays})["y"]
        self.assertEqual([[1, 2], [3]], [item.tolist() for item in given])
        self.assertEqual([], identity("seq(float[])").session().run({"x": []})["y"])
        self.assertIsNone(identity("optional(float[N])").session().run({"x": None})["y"])
        self.assertEqual([5], identity("optional(float[N])").session().run({"x": numpy.float32([5])})["y"].tolist())

    def test_lists_get_the_declared_type(self):
        self.assertEqual(numpy.float32, model(SCALED).session().run({"x": [1, 2]})["y"].dtype)
        self.assertEqual(numpy.float32, model(SCALED).run({"x": [1, 2]})["y"].dtype)
        self.assertEqual("identical", onnxkit.diff(model(SCALED), ["reference", "cpu"], inputs={"x": [1, 2]}).verdict)
        with self.assertRaises(onnxkit.InputError) as raised:
            model(SCALED).session().run({"x": numpy.array([1, 2])})
        self.assertEqual("input-type", raised.exception.code)
        with self.assertRaises(TypeError):
            model(SCALED).session().run({"x": numpy.array(["2020-01-01"], "datetime64[D]")})


class Sessions(unittest.TestCase):

    def test_runs_again_with_other_sizes(self):
        for backend in ("reference", "cpu", "cpu:threads=1"):
            with self.subTest(backend):
                session = model(SCALED).session(backend)
                self.assertEqual([3, 6], session.run({"x": [1, 2]})["y"].tolist())
                self.assertEqual([15], session.run({"x": [5], "factor": [3]})["y"].tolist())
                self.assertEqual(["y"], list(session.run({"x": [5]}, ["y"])))

    def test_describes_its_inputs(self):
        session = model(SCALED).session("cpu")
        self.assertEqual(onnxkit.Port("x", "tensor", "float", (None,)), session.inputs[0])
        self.assertTrue(session.inputs[1].has_default)
        self.assertEqual("y", session.outputs[0].name)

    def test_faults_are_told_and_leave_it_usable(self):
        session = model(SCALED).session("cpu")
        for inputs, code in (({}, "input-missing"), ({"z": [1]}, "unknown-input"), ({"x": [[1]]}, "input-shape")):
            with self.assertRaises(onnxkit.Error) as raised:
                session.run(inputs)
            self.assertEqual(code, raised.exception.code)
        self.assertEqual([3], session.run({"x": [1]})["y"].tolist())
        with self.assertRaises(onnxkit.UsageError):
            model(SCALED).session("no-such-backend")

    def test_several_threads_share_one(self):
        session, wrong = model(SCALED).session("cpu"), []

        def work(number):
            for _ in range(20):
                if session.run({"x": [number]})["y"].tolist() != [3 * number]:
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], wrong)

    def test_limits_and_ctrl_c(self):
        with self.assertRaises(onnxkit.LimitError):
            model(ENDLESS).session("cpu", time_ms=50).run({"x": [1]})
        session = model(ENDLESS).session("cpu")
        threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            session.run({"x": [1]})
        self.assertLess(time.monotonic() - start, 30)

    def test_made_up_inputs_fit(self):
        made = model(SCALED).generate_inputs(dims={"N": 5}, seed=3)
        self.assertEqual((5,), made["x"].shape)
        self.assertEqual(made["x"].tolist(), model(SCALED).generate_inputs(dims={"N": 5}, seed=3)["x"].tolist())
        self.assertEqual((5,), model(SCALED).run({"x": made["x"]}, backend="cpu")["y"].shape)

    def test_plans_are_told(self):
        plan = onnxkit.load(TESTDATA / "models/fc2/onnx_opset9.onnx").plan()
        self.assertEqual("cpu", plan["backend"])


class Comparing(unittest.TestCase):

    def test_backends_and_models(self):
        original = onnxkit.load(TESTDATA / "models/fc2/onnx_opset9.onnx")
        report = onnxkit.diff(original, ["reference", "cpu"], samples=2)
        self.assertTrue(report)
        self.assertIn(report.verdict, ("identical", "rounding"))
        self.assertIn("nothing to worry about", str(report))
        report = onnxkit.diff([original, original.convert_opset(21)], inputs=original.generate_inputs())
        self.assertEqual("identical", report.verdict)

    def test_a_difference_is_a_finding(self):
        first = model("main (float[3] x) => (float[3] y) { y = Sin (x) }")
        second = model("main (float[3] x) => (float[3] y) { y = Cos (x) }")
        report = onnxkit.diff([first, second])
        self.assertFalse(report)
        self.assertEqual("not rounding", report.verdict)
        report = onnxkit.diff([first, second], atol=1e-3)
        self.assertFalse(report)
        self.assertEqual("beyond tolerance", report.verdict)
        self.assertTrue(onnxkit.diff([first, second], atol=2))

    def test_wrong_use_is_told(self):
        with self.assertRaises(onnxkit.UsageError):
            onnxkit.diff([])
        with self.assertRaises(onnxkit.UsageError):
            onnxkit.diff(model(SCALED), ["cpu"])
        with self.assertRaises(onnxkit.UsageError):
            onnxkit.diff(model(SCALED), ["cpu", "reference"], tolerances={"y": {"rtoll": 1}})

class Measuring(unittest.TestCase):

    def bench(self, *models, **options):
        return onnxkit.bench(list(models) or model(SCALED), options.pop("backends", ["cpu", "reference"]), dims=options.pop("dims", {"N": 4}),
                             max_seconds=0.1, threads=1, **options)

    def test_reports(self):
        report = self.bench(inputs={"factor": [2]}, profile=True)
        self.assertTrue(report)
        self.assertEqual(["cpu", "reference"], list(report.medians))
        self.assertEqual("identical", report.sides[0]["verdict"])
        self.assertEqual({"threads": "1"}, report.sides[0]["options"])
        self.assertIn("profile", report.sides[0])
        self.assertIn("reference", str(report))
        self.assertIn("<html", report.format("html"))
        self.assertIn("traceEvents", report.format("trace"))
        self.assertIn("| cpu", report.format("markdown"))
        self.assertIn("cpu,", report.format("csv"))

    def test_changes_since_an_earlier_report(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "report.json")
            self.bench().save(path)
            earlier = onnxkit.BenchReport.read(path)

        def taking(seconds):
            """The report as if each run of the first side had taken so long: what was measured depends on the machine."""
            changed = json.loads(json.dumps(earlier.json))
            for side in changed["benchmarks"][0]["sides"]:
                side["rounds"] = [[[seconds * (1 + i / 1000)] * 2] for i in range(20)]
                seconds = 1
            changed["benchmarks"][0]["lost_processors"] = False
            return onnxkit.BenchReport(changed)

        changes = taking(1).changes(taking(1))
        self.assertTrue(changes)
        self.assertEqual(["cpu", "reference"], [change["label"] for change in changes.changes])
        changes = taking(2).changes(taking(1), max_slowdown=0.5)
        self.assertFalse(changes)
        self.assertEqual([True, False], [change["too_slow"] for change in changes.changes])
        self.assertIn("too slow", str(changes))

    def test_a_wrong_answer_is_a_finding(self):
        report = self.bench(model("main (float[3] x) => (float[3] y) { y = Sin (x) }"),
                            model("main (float[3] x) => (float[3] y) { y = Cos (x) }"), backends="cpu", dims=None)
        self.assertFalse(report)
        self.assertEqual(["model 0 on cpu", "model 1 on cpu"], list(report.medians))

    def test_wrong_use_is_told(self):
        for options in ({"backends": "no-such"}, {"backends": "cpu:threads=2"}, {"precision_goal": 2}, {"inputs": {"z": [1]}}):
            with self.subTest(options), self.assertRaises(onnxkit.Error):
                self.bench(**options)
        with self.assertRaises(onnxkit.UnsupportedError):
            self.bench().changes(self.bench(dims={"N": 5}))


class Listing(unittest.TestCase):

    def test_backends_are_listed(self):
        listed = {backend["name"]: backend for backend in onnxkit.backends(python="/no/such/python")}
        self.assertTrue(listed["cpu"]["available"])
        self.assertFalse(listed["onnxruntime"]["available"])


if __name__ == "__main__":
    unittest.main()
