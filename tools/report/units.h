#pragma once

#include <cstdint>
#include <string>

namespace onnxkit::tools {

/// "25,557,032"
std::string counted(std::uint64_t number);
/// "102,228,128 bytes (97.5 MiB)"
std::string in_bytes(std::uint64_t bytes);
/// "12.3 ms"
std::string seconds_text(double seconds);

}  // namespace onnxkit::tools
