#include "tools/options/bytes.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>

#include "onnxkit/diagnostic.h"

namespace onnxkit::tools {

std::optional<std::uint64_t> bytes_of(std::string_view word) {
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (fault != std::errc()) return std::nullopt;
  std::string unit = CLI::detail::to_lower(std::string(word.substr(static_cast<std::size_t>(end - word.data()))));
  if (unit.starts_with(' ')) unit.erase(0, 1);
  if (unit.empty() || unit == "b") return number;
  constexpr std::string_view prefixes = "kmgtpe";
  const std::size_t power = prefixes.find(unit.front());
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == prefixes.npos || (!rest.empty() && rest != "b" && rest != "i" && rest != "ib")) return std::nullopt;
  const std::size_t shift = 10 * (power + 1);
  if (number > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return number << shift;
}

CLI::Option* add_bytes(CLI::App& command, const std::string& name, std::uint64_t& target, const std::string& what) {
  const auto take = [&target, name](const std::string& word) {
    const auto bytes = bytes_of(word);
    if (!bytes)
      throw CLI::ValidationError(name, quote(word) + " is not a number of bytes such as 2GiB, 500MiB or 1000000");
    target = *bytes;
  };
  return command.add_option_function<std::string>(name, take, what)->type_name("BYTES");
}

}  // namespace onnxkit::tools
