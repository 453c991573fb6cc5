"""Reading, writing, checking and converting models."""
import copy
import pathlib
import pickle
import tempfile
import unittest

import onnxkit
from models import SCALED, TESTDATA, model


class Reading(unittest.TestCase):

    def test_files_of_onnx_and_of_frameworks(self):
        read = onnxkit.load(TESTDATA / "models/fc2/onnx_opset9.onnx")
        self.assertEqual([], read.findings)
        program = onnxkit.load(sorted((TESTDATA / "torch").glob("*.pt2"))[0])
        self.assertTrue(program.check())

    def test_what_cannot_be_read_is_told(self):
        with self.assertRaises(onnxkit.ReadWriteError) as raised:
            onnxkit.load("/no/such.onnx")
        self.assertEqual("cannot-read", raised.exception.code)
        self.assertTrue(str(raised.exception).startswith("/no/such.onnx: error[cannot-read]"))
        self.assertIsInstance(raised.exception, OSError)
        with self.assertRaises(onnxkit.InputError):
            onnxkit.Model.from_bytes(b"\xff\xff no model")
        with self.assertRaises(onnxkit.UsageError):
            onnxkit.load(TESTDATA / "models/fc2/onnx_opset9.onnx", format="no-such")

    def test_bytes_files_and_protos_go_there_and_back(self):
        import onnx
        original = model(SCALED)
        again = onnxkit.Model.from_bytes(original.to_bytes())
        self.assertEqual(original.to_bytes(format="text"), again.to_bytes(format="text"))
        proto = original.to_proto()
        onnx.checker.check_model(proto)
        self.assertEqual(original.to_bytes(), onnxkit.load(proto).to_bytes())
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name, "m.onnx")
            self.assertEqual([], original.save(path, weights="extract", threshold=0, data_file="m.bin"))
            self.assertTrue(pathlib.Path(name, "m.bin").exists())
            self.assertTrue(onnxkit.load(path).check())
            with self.assertRaises(onnxkit.UsageError):
                original.save(pathlib.Path(name, "m.xyz"))

    def test_a_copy_is_independent(self):
        original = model(SCALED)
        before = original.to_bytes()
        self.assertNotEqual(before, copy.copy(original).convert_opset(21).to_bytes())
        self.assertEqual(before, original.to_bytes())


class Judging(unittest.TestCase):

    def test_check_lists_findings(self):
        report = onnxkit.load(TESTDATA / "models/digits_broken.onnxtxt").check()
        self.assertFalse(report)
        self.assertEqual({"unknown-attribute", "operator-too-new", "shape-mismatch", "axis-range"},
                         {finding.code for finding in report.errors})
        finding = report.findings[0]
        self.assertEqual("did you mean strides?", finding.help)
        self.assertIn("main / node 2", str(finding))
        self.assertTrue(model(SCALED).check())

    def test_check_takes_targets_and_suppressions(self):
        broken = onnxkit.load(TESTDATA / "models/digits_broken.onnxtxt")
        self.assertEqual(1, len(broken.check(suppress=["unknown-attribute", "operator-too-new", "shape-mismatch"]).errors))
        with self.assertRaises(onnxkit.UsageError) as raised:
            broken.check(targets=["no-such-runtime"])
        self.assertEqual("unknown-target", raised.exception.code)

    def test_infer_tells_types(self):
        inferred = model(SCALED).infer(dims={"N": 4})
        self.assertEqual({"h": "float[4]", "y": "float[4]"}, inferred.report.types)
        with self.assertRaises(onnxkit.InputError) as raised:
            model("main (float[2, 3] x) => (float[2, M] y) { y = MatMul (x, x) }").infer()
        self.assertEqual("shape-mismatch", raised.exception.code)

    def test_inspect_and_operators_are_dictionaries(self):
        inspected = onnxkit.load(TESTDATA / "models/fc2/onnx_opset9.onnx").inspect()
        self.assertEqual(577, sum(kind["elements"] for kind in inspected["parameters"]))
        resize, = onnxkit.operators("Resize")
        self.assertEqual([10, 11, 13, 18, 19], [version["since_version"] for version in resize["versions"]])

    def test_errors_can_be_pickled(self):
        with self.assertRaises(onnxkit.Error) as raised:
            onnxkit.operators("Resiz")
        again = pickle.loads(pickle.dumps(raised.exception))
        self.assertEqual((type(raised.exception), "unknown-operator", str(raised.exception)),
                         (type(again), again.code, str(again)))


class Converting(unittest.TestCase):

    def test_opsets_go_up_and_down_verified(self):
        newer = model(SCALED).convert_opset(21)
        self.assertEqual("equal", newer.report["files"][0]["verified"]["verdict"])
        older = newer.convert_opset({"ai.onnx": 13}, verify=False)
        self.assertIsNone(older.report["files"][0]["verified"])
        self.assertEqual([("ai.onnx", 13)], [(o["domain"], o["version"]) for o in older.inspect()["opsets"]])

    def test_a_refusal_lists_what_stands_in_the_way(self):
        broken = onnxkit.load(TESTDATA / "models/digits_broken.onnxtxt")
        with self.assertRaises(onnxkit.ConversionRefused) as raised:
            broken.convert_opset(21)
        self.assertEqual(5, len(raised.exception.report["files"][0]["refusals"]))
        with self.assertRaises(onnxkit.UsageError):
            broken.convert_opset(1000)

    def test_simplify_and_extract(self):
        small = model("main (float[2] x) => (float[2] y) { a = Identity (x) b = Neg (a) y = Relu (b) }").simplify()
        self.assertEqual(2, small.report["files"][0]["after"]["nodes"])
        part = small.extract(outputs=["b"])
        self.assertEqual(1, part.report["nodes"]["extracted"])
        with self.assertRaises(onnxkit.UsageError):
            small.extract(outputs=["no such value"])
        with self.assertRaises(onnxkit.UsageError):
            small.simplify(without=["no-such-simplification"])

    def test_fix_tells_what_it_fixed(self):
        unsorted = model("main (float[2] x) => (float[2] y) { y = Relu (b) b = Neg (x) }")
        self.assertFalse(unsorted.check())
        fixed = unsorted.fix()
        self.assertEqual(["not-sorted"], [fix["code"] for fix in fixed.report])
        self.assertTrue(fixed.check())
