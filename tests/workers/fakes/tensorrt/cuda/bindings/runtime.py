"""What the adapter uses of cuda-python; device memory is host memory. What is still allocated at the end is printed."""
import atexit
import ctypes
import enum

cudaError_t = enum.IntEnum("cudaError_t", {"cudaSuccess": 0, "cudaErrorInvalidValue": 1})
cudaMemcpyKind = enum.Enum("cudaMemcpyKind", "cudaMemcpyHostToDevice cudaMemcpyDeviceToHost")
OK = cudaError_t.cudaSuccess
blocks, streams = {}, set()


def cudaGetDeviceCount():
    return OK, 1


def cudaMalloc(size):
    block = ctypes.create_string_buffer(size)
    blocks[ctypes.addressof(block)] = block
    return OK, ctypes.addressof(block)


def cudaFree(address):
    return (OK if blocks.pop(address, None) else cudaError_t.cudaErrorInvalidValue,)


def cudaMemGetInfo():
    total = 1 << 30
    return OK, total - sum(map(len, blocks.values())), total


def cudaMemcpy(target, source, size, kind):
    device = target if kind is cudaMemcpyKind.cudaMemcpyHostToDevice else source
    if device not in blocks or len(blocks[device]) < size:
        return (cudaError_t.cudaErrorInvalidValue,)
    ctypes.memmove(target, source, size)
    return (OK,)


def cudaStreamCreate():
    streams.add(len(streams) + 1)
    return OK, len(streams)


def cudaStreamSynchronize(stream):
    return (OK if stream in streams else cudaError_t.cudaErrorInvalidValue,)


def cudaStreamDestroy(stream):
    return (OK,)


atexit.register(lambda: blocks and print(f"leaked: {len(blocks)} blocks of device memory"))
