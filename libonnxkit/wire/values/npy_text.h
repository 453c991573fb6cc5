#pragma once

#include <span>
#include <string>

#include "libonnxkit/wire/values/npy_header.h"
#include "onnxkit/value.h"

namespace onnxkit::wire {

/// Strings of a .npy file in row order: characters of four bytes (U) or bytes (S), both padded with zeros.
Result<Tensor> read_npy_text(const NpyHeader& header, std::span<const std::byte> data);

/// See write_npy.
Result<std::string> write_npy_text(const Tensor& strings);

}  // namespace onnxkit::wire
