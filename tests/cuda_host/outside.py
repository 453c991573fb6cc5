#!/usr/bin/env python3
"""A kernel that writes outside of its memory, on the libraries of the host under AddressSanitizer, which has to end the process; one that does not.

    LD_PRELOAD=libasan.so tests/cuda_host/outside.py LIBRARIES [PLACE]
"""
import ctypes
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from suite import Suite

TEXT = b'extern "C" __global__ void __launch_bounds__(4) block_kernel_0(float* y) { __syncthreads(); if (threadIdx.x == 0) y[%d] = 1; }'


def run(libraries, place):
    driver, nvrtc = ctypes.CDLL(f"{libraries}/libcuda.so.1"), ctypes.CDLL(f"{libraries}/libnvrtc.so.13")
    context, program, module, function, stream, memory, size = (ctypes.c_void_p() for _ in range(7))

    def call(library, name, *arguments):
        status = getattr(library, name)(*arguments)
        if status != 0:
            raise SystemExit(f"{name}: {status}")
    call(driver, "cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call(driver, "cuCtxPushCurrent_v2", context)
    call(nvrtc, "nvrtcCreateProgram", ctypes.byref(program), TEXT % place, b"x", 0, None, None)
    call(nvrtc, "nvrtcCompileProgram", program, 0, None)
    call(nvrtc, "nvrtcGetCUBINSize", program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    call(nvrtc, "nvrtcGetCUBIN", program, code)
    call(driver, "cuModuleLoadData", ctypes.byref(module), code)
    call(driver, "cuModuleGetFunction", ctypes.byref(function), module, b"block_kernel_0")
    call(driver, "cuStreamCreate", ctypes.byref(stream), 1)
    call(driver, "cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(16))
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
    call(driver, "cuLaunchKernel", function, 1, 1, 1, 4, 1, 1, 0, stream, parameters, None)
    call(driver, "cuStreamSynchronize", stream)
    print("ran", flush=True)
    os._exit(0)


def main():
    if len(sys.argv) > 2:
        return run(sys.argv[1], int(sys.argv[2]))
    suite = Suite()
    for place, ends in ((3, False), (4, True), (-1, True)):
        done = subprocess.run([sys.executable, __file__, sys.argv[1], str(place)], capture_output=True, text=True, timeout=120)
        found = "AddressSanitizer" in done.stderr and "ran" not in done.stdout
        suite.check(f"element {place} of four", "" if found == ends and (ends or done.returncode == 0) else done.stdout + done.stderr[-500:])
    return suite.close()


if __name__ == "__main__":
    sys.exit(main())
