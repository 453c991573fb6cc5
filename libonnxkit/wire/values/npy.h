#pragma once

#include <memory>
#include <span>
#include <string>

#include "libonnxkit/base/system/mapped_file.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

// Arrays as numpy stores them (.npy, versions 1 to 3 of the format).
namespace onnxkit::wire {

struct NpyOptions {
  /// What the elements of a void array are: numpy has no name for the types of ml_dtypes and writes bfloat16 as V2, float8 as V1, and types
  /// below a byte as V1 with the element in the low bits. undefined: such an array fails with unsupported-npy.
  ElementType void_type = ElementType::undefined;
};

/// Numbers, booleans, complex numbers, and strings of characters (U) or bytes (S; trailing zeros belong to the padding). Either byte order,
/// rows or columns first. Little-endian numbers in row order are viewed, `owner` keeps them alive; without owner they are copied. Fails with
/// malformed-npy, or unsupported-npy for objects, records, dates, long doubles and voids of unknown type.
Result<Tensor> read_npy(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner = {},
                        const NpyOptions& options = {});
Result<Tensor> read_npy(const std::shared_ptr<const MappedFile>& file, const NpyOptions& options = {});

/// What read_npy would say of a file of `size` bytes, of which `start` holds the first ones (longest_npy_header, or all there are): an array of another size,
/// or of a type that is not read, is known before the rest is unpacked.
Result<void> check_npy_start(std::span<const std::byte> start, std::uint64_t size, const NpyOptions& options = {});

/// The bytes of a .npy file that every numpy reads without further packages: types that numpy lacks become the next wider one that holds all
/// their numbers, which is float32 for bfloat16 and all smaller floats, int8 and uint8 for integers below a byte. Strings become an array of
/// characters (U), or of bytes (S) when one of them is no UTF-8. Fails with unsupported-npy for strings that end in a zero character,
/// which such arrays cannot hold.
Result<std::string> write_npy(const Tensor& tensor);

}  // namespace onnxkit::wire
