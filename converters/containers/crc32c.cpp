#include "converters/containers/crc32c.h"

#include <array>
#include <cstring>

namespace onnxkit::containers {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // reflected
constexpr std::size_t step_size = 8;

using Tables = std::array<std::array<std::uint32_t, 256>, step_size>;

/// Table k tells what a byte does that k bytes follow.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < tables.size(); ++k)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xff];
  return tables;
}
constexpr Tables tables = make_tables();

std::uint32_t by_tables(const std::byte* next, std::size_t size, std::uint32_t crc) {
  for (; size >= step_size; size -= step_size, next += step_size) {
    std::uint64_t word = 0;
    std::memcpy(&word, next, step_size);
    word ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < step_size; ++k) crc ^= tables[step_size - 1 - k][(word >> (8 * k)) & 0xff];
  }
  for (; size > 0; --size, ++next) crc = (crc >> 8) ^ tables[0][(crc ^ static_cast<std::uint32_t>(*next)) & 0xff];
  return crc;
}

#if defined(__x86_64__)
/// The processor's own instruction.
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(const std::byte* next, std::size_t size,
                                                               std::uint32_t crc) {
  std::uint64_t wide = crc;
  for (; size >= step_size; size -= step_size, next += step_size) {
    std::uint64_t word = 0;
    std::memcpy(&word, next, step_size);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = static_cast<std::uint32_t>(wide);
  for (; size > 0; --size, ++next) crc = __builtin_ia32_crc32qi(crc, static_cast<unsigned char>(*next));
  return crc;
}
#endif

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~by_instruction(bytes.data(), bytes.size(), ~before);
#endif
  return ~by_tables(bytes.data(), bytes.size(), ~before);
}

}  // namespace onnxkit::containers
