#include "tools/report/units.h"

#include <cmath>

#include <fmt/core.h>

namespace onnxkit::tools {

std::string counted(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string in_bytes(std::uint64_t bytes) {
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  double scaled = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (scaled >= 1024 && unit + 1 < std::size(units)) {
    scaled /= 1024;
    ++unit;
  }
  return fmt::format("{} bytes ({:.1f} {})", counted(bytes), scaled, units[unit]);
}

std::string in_three_digits(double number) {
  constexpr double most_counted = 1e15;
  if (number < 100 && (number >= 1e-3 || number == 0)) return fmt::format("{:.3g}", number);
  if (number >= 100 && number < most_counted) {
    const double unit = std::pow(10, std::floor(std::log10(number)) - 2);
    return counted(static_cast<std::uint64_t>(std::round(number / unit) * unit));
  }
  // As tables have room for: without "+" and zeros in front.
  const std::string text = fmt::format("{:.2e}", number);
  const std::size_t at = text.find('e');
  if (at == std::string::npos) return text;  // an infinity
  return fmt::format("{:.3g}e{}", std::stod(text.substr(0, at)), std::stoi(text.substr(at + 1)));
}

std::string seconds_text(double seconds) {
  constexpr double almost = 0.9995;  // three digits of it read as 1 of the larger unit
  if (seconds >= 999.5) return fmt::format("{:.0f} s", seconds);
  if (seconds >= almost) return fmt::format("{:.3g} s", seconds);
  return seconds >= almost * 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} us", seconds * 1e6);
}

}  // namespace onnxkit::tools
