#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace onnxkit::tools {

/// The bytes of "2GiB", "500 MB", "8k" or "1000": units of 1024, in any case. nullopt for anything else.
std::optional<std::uint64_t> bytes_of(std::string_view word);

/// An option that takes a number of bytes.
CLI::Option* add_bytes(CLI::App& command, const std::string& name, std::uint64_t& target, const std::string& what);

}  // namespace onnxkit::tools
