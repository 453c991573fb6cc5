#pragma once

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace onnxkit::fuzz {

/// Ends a fuzz target whose input broke a property: says which one, with named texts that show it.
[[noreturn]] inline void broken(std::string_view property,
                                std::initializer_list<std::pair<std::string_view, std::string_view>> evidence = {}) {
  const auto print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); };
  std::fputs("broken property: ", stderr);
  print(property);
  for (const auto& [name, text] : evidence) {
    std::fputs("\n--- ", stderr);
    print(name);
    std::fputc('\n', stderr);
    print(text);
  }
  std::fputc('\n', stderr);
  std::abort();
}

}  // namespace onnxkit::fuzz
