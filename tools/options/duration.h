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

/// The milliseconds of "500ms", "90s", "1.5min", "2h" or "20", which is seconds; what is shorter than a millisecond is one. nullopt for
/// anything else.
std::optional<std::uint64_t> milliseconds_of(std::string_view word);

/// "90s": the largest unit of which it is a whole number.
std::string duration_text(std::uint64_t milliseconds);

enum class ZeroDuration : std::uint8_t { refused, means_no_limit };

/// An option that takes a duration in milliseconds; `target` holds the default.
CLI::Option* add_duration(CLI::App& command, const std::string& name, std::uint64_t& target, const std::string& what,
                          ZeroDuration zero);

}  // namespace onnxkit::tools
