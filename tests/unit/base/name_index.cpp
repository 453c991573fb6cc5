#include "libonnxkit/base/text/name_index.h"

#include <doctest/doctest.h>

#include <string>
#include <unordered_map>

namespace onnxkit::tests::base_name_index {

TEST_CASE("a name index agrees with a map through insertions, erasures and growth") {
  std::vector<std::string> names;
  const auto name_of = [&](std::uint32_t id) { return std::string_view(names[id]); };
  NameIndex index;
  std::unordered_map<std::string, std::uint32_t> map;
  CHECK_FALSE(index.find("x", name_of));
  index.erase("x", name_of);
  std::uint32_t state = 1;
  for (int step = 0; step < 20'000; ++step) {
    state = state * 1664525 + 1013904223;
    const std::string name = "/layer/" + std::to_string((state >> 8) % 3000) + std::string((state >> 20) % 9, 'n');
    const auto known = map.find(name);
    if (step % 3 == 2) {
      index.erase(name, name_of);
      if (known != map.end()) map.erase(known);
      continue;
    }
    const auto next = static_cast<std::uint32_t>(names.size());
    const std::uint32_t id = index.insert(name, next, name_of);
    REQUIRE(id == (known == map.end() ? next : known->second));
    if (id == next) {
      names.push_back(name);
      map.emplace(name, next);
    }
  }
  for (const auto& [name, id] : map) REQUIRE(index.find(name, name_of) == id);
  CHECK_FALSE(index.find("absent", name_of));
}

}  // namespace onnxkit::tests::base_name_index
