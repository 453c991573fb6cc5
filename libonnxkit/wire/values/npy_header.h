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

/// Reads the header of a file of `file_size` bytes, of which `start` holds the first ones, `longest_npy_header` or all there are. Fails with
/// malformed-npy, or unsupported-npy for records.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> start, std::uint64_t file_size);

/// Bytes of the longest header that is read, with magic and version. Only records need longer ones.
inline constexpr std::size_t longest_npy_header = 65536;

/// Magic, version and header of an array in row order.
std::string npy_header(std::string_view descr, std::span<const std::int64_t> dims);

Error malformed_npy(std::string message, std::string expected = {}, std::string found = {});

}  // namespace onnxkit::wire
