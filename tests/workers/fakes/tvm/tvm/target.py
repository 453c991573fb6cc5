"""Processors that are compiled for."""
import types


class Target:
    def __init__(self, description):
        assert description == "llvm" or description["kind"] == "llvm"


codegen = types.SimpleNamespace(llvm_get_system_cpu=lambda: "this", llvm_get_system_triple=lambda: "x86_64-linux-gnu",
                                llvm_is_valid_cpu=lambda name, triple: name == "this")
