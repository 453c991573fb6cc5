"""Counts the cases of a test program and prints them in the form that scripts/test and .ci/run read."""


class Suite:
    def __init__(self, verbose=False):
        self.verbose = verbose
        self.passed = self.failed = self.skipped = 0

    def check(self, name, fault, note=""):
        """A case that passes where `fault` is empty. With `verbose` those that pass are printed, too, with their notes."""
        if fault:
            self.failed += 1
            print(f"failed: {name}: {fault}")
            return
        self.passed += 1
        if self.verbose:
            print(f"ok: {name}" + (f" ({note})" if note else ""))

    def skip(self, count, reason):
        self.skipped += count
        print(f"skipped: {reason}: {count} cases")

    def close(self):
        """Prints the closing lines; the exit status."""
        if self.skipped:
            print(f"{self.skipped} skipped")
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0
