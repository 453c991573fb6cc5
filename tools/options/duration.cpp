#include "tools/options/duration.h"

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cmath>

#include "onnxkit/diagnostic.h"

namespace onnxkit::tools {
namespace {

struct DurationUnit {
  std::string_view name;
  std::uint64_t milliseconds;
};

/// The last one is what a bare number has.
constexpr std::array duration_units = {DurationUnit{"h", 3'600'000}, DurationUnit{"min", 60'000}, DurationUnit{"ms", 1},
                                       DurationUnit{"s", 1000}};

constexpr std::uint64_t longest_duration = 365ull * 24 * 3'600'000;

}  // namespace

std::optional<std::uint64_t> milliseconds_of(std::string_view word) {
  double number = 0;
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number, std::chars_format::fixed);
  if (fault != std::errc() || !std::isfinite(number) || std::signbit(number)) return std::nullopt;
  std::string_view unit = word.substr(static_cast<std::size_t>(end - word.data()));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.empty()) unit = duration_units.back().name;
  for (const DurationUnit& known : duration_units) {
    if (known.name != unit) continue;
    const double milliseconds = std::ceil(number * static_cast<double>(known.milliseconds));
    if (milliseconds > static_cast<double>(longest_duration)) return std::nullopt;
    return static_cast<std::uint64_t>(milliseconds);
  }
  return std::nullopt;
}

std::string duration_text(std::uint64_t milliseconds) {
  if (milliseconds == 0) return "0";
  for (const std::string_view name : {"h", "min", "s", "ms"}) {
    for (const DurationUnit& unit : duration_units) {
      if (unit.name == name && milliseconds % unit.milliseconds == 0)
        return std::to_string(milliseconds / unit.milliseconds) + std::string(name);
    }
  }
  return {};
}

CLI::Option* add_duration(CLI::App& command, const std::string& name, std::uint64_t& target, const std::string& what,
                          ZeroDuration zero) {
  const auto take = [&target, name, zero](const std::string& word) {
    const auto milliseconds = milliseconds_of(word);
    if (milliseconds == 0U && zero == ZeroDuration::refused)
      throw CLI::ValidationError(name, "the time has to be longer than " + quote(word));
    if (!milliseconds)
      throw CLI::ValidationError(name, quote(word) + " is not a duration such as 500ms, 20s, 2min or 20 (seconds)");
    target = *milliseconds;
  };
  return command.add_option_function<std::string>(name, take, what + "; ms, s, min or h, a bare number is seconds")
      ->type_name("TIME")
      ->default_str(target == 0 ? "no limit" : duration_text(target));
}

}  // namespace onnxkit::tools
