#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/result.h"

namespace onnxkit::wire {

/// What a .npy file says of its array.
struct NpyHeader {
  std::string descr;        ///< as written: "<f4"
  char kind = 0;            ///< letter of numpy's array interface: b i u f c S U V O M m
  bool swapped = false;     ///< big-endian
  std::uint64_t width = 0;  ///< bytes of one element
  bool columns_first = false;
  std::vector<std::int64_t> dims;
  std::size_t size =
      0;  ///< where the data starts; the file has exactly the bytes from there that kind and dims ask for
};

/// Fails with malformed-npy, or unsupported-npy for records.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> file);

/// Magic, version and header of an array in row order.
std::string npy_header(std::string_view descr, std::span<const std::int64_t> dims);

Error malformed_npy(std::string message, std::string expected = {}, std::string found = {});

}  // namespace onnxkit::wire
