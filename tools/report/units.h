#pragma once

#include <cstdint>
#include <string>

namespace onnxkit::tools {

/// "25,557,032"
std::string counted(std::uint64_t number);
/// "102,228,128 bytes (97.5 MiB)"
std::string in_bytes(std::uint64_t bytes);
/// A rate or a ratio, not negative, with three digits: "45.3", "12,700", "1.23e-4".
std::string in_three_digits(double number);
/// "12.3 ms"
std::string seconds_text(double seconds);

}  // namespace onnxkit::tools
