#include "libonnxkit/wire/values/npz.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "tests/unit/wire/show.h"

namespace onnxkit::tests::wire_npz {

using namespace std::string_literals;

namespace {

/// Names and arrays as text, or the code of the fault.
std::vector<std::string> read(const std::string& bytes) {
  const auto values = wire::read_npz(MappedFile::from_bytes(bytes));
  if (!values) return {values.error().diagnostic.code};
  std::vector<std::string> lines;
  for (const auto& [name, value] : *values) lines.push_back(name + ": " + shown(value.tensor));
  return lines;
}
using Lines = std::vector<std::string>;

Tensor bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return *Tensor::from_bytes(ElementType::uint8, {static_cast<std::int64_t>(text.size())},
                             {bytes.begin(), bytes.end()});
}

}  // namespace

TEST_CASE("archives that numpy wrote") {
  for (const char* name : {"stored.npz", "compressed.npz"}) {
    CAPTURE(name);
    const Lines lines = read(npy_bytes(name));
    REQUIRE(lines.size() == 3);
    CHECK(lines[0] == "x: float[2, 3] 0 0.5 1 1.5 2 2.5");
    CHECK(lines[1] == "names: string[2, 2] \"a\" \"größe\" \"\" \"日本 𝄞\"");
    CHECK(lines[2].starts_with("folder/y: int64[300] 0 0"));
  }
  CHECK(read(npy_bytes("empty.npz")).empty());
}

TEST_CASE("voids of an archive are what the caller says, array by array") {
  const auto file = MappedFile::from_bytes(npy_bytes("voids.npz"));
  const auto values = wire::read_npz(
      file, [](std::string_view name) { return name == "half" ? ElementType::bfloat16 : ElementType::float8e4m3fn; });
  REQUIRE(values);
  CHECK(shown((*values)[0].value.tensor) == "bfloat16[2] 1 -2.5");
  CHECK(shown((*values)[1].value.tensor) == "float8e4m3fn[2] 1 448");
  const auto unknown = wire::read_npz(file);
  REQUIRE(!unknown);
  CHECK(unknown.error().diagnostic.code == "unsupported-npy");
  CHECK(unknown.error().diagnostic.location.item_name == "half");
}

TEST_CASE("archives are written and read back") {
  const Tensor one = bytes_of("\1\2"), zeros = bytes_of(std::string(100'000, '\0'));
  const std::vector<NamedValue> values = {
      {"one", one},
      {"größe", *Tensor::from_strings({1}, {"s"})},
      {"list", Value::sequence({one, Value::sequence({one})})},
      {"none", Value::optional(std::nullopt)},
      {"some", Value::optional(one)},
      {"map", Value::map(*Tensor::from_strings({2}, {"a", "b"}), one)},
  };
  for (const bool compress : {false, true}) {
    const auto bytes = wire::write_npz(values, {.compress = compress});
    REQUIRE(bytes);
    CHECK(read(*bytes) == Lines{"one: uint8[2] 1 2", "größe: string[1] \"s\"", "list.0: uint8[2] 1 2",
                                "list.1.0: uint8[2] 1 2", "some.0: uint8[2] 1 2", "map.keys: string[2] \"a\" \"b\"",
                                "map.values: uint8[2] 1 2"});
  }
  const std::vector<NamedValue> large = {{"zeros", zeros}};
  CHECK(wire::write_npz(large)->size() > 100'000);
  CHECK(wire::write_npz(large, {.compress = true})->size() < 1'000);
  CHECK(read(*wire::write_npz({})).empty());
  CHECK(*wire::write_npz(large) == *wire::write_npz(large));

  const std::vector<NamedValue> bad = {{"bad", *Tensor::from_strings({1}, {"x\0"s})}};
  const auto failed = wire::write_npz(bad);
  REQUIRE(!failed);
  CHECK(failed.error().diagnostic.code == "unsupported-npy");
  CHECK(failed.error().diagnostic.location.item_name == "bad");
}

TEST_CASE("names of members do not lead out of a folder, and are known again") {
  const struct {
    std::string_view name, member;
  } cases[] = {
      {"x", "x"},
      {"a/b..c", "a/b..c"},
      {"/model/Add", "%2Fmodel/Add"},
      {"../../up", "%2E./%2E./up"},
      {"a/..", "a/%2E."},
      {"C:\\x", "C%3A%5Cx"},
      {std::string_view("a\0b\n", 4), "a%00b%0A"},
      {"50%", "50%"},
      {"%41", "%2541"},
  };
  for (const auto& c : cases) {
    CHECK(wire::member_name(c.name) == c.member);
    CHECK(wire::named_by_member(c.member).value_or(std::string(c.member)) == c.name);
  }
  CHECK(!wire::named_by_member("%41"));
}

TEST_CASE("an archive that announces more than allowed is not unpacked") {
  const std::string bytes = *wire::write_npz(std::vector<NamedValue>{{"a", bytes_of("xyz")}, {"b", bytes_of("xyz")}});
  const auto file = MappedFile::from_bytes(bytes);
  CHECK(wire::read_npz(file, {}, bytes.size()).ok());
  const auto refused = wire::read_npz(file, {}, 200);
  REQUIRE(!refused.ok());
  CHECK(refused.error().diagnostic.code == "memory-limit");
}

TEST_CASE("broken archives") {
  const Lines broken = {"malformed-npz"};
  CHECK(read("") == broken);
  CHECK(read("PK") == broken);
  CHECK(read(std::string(100, 'x')) == broken);
  const std::vector<NamedValue> twice = {{"a", bytes_of("x")}, {"a", bytes_of("y")}};
  CHECK(read(*wire::write_npz(twice)) == broken);

  for (const char* name : {"stored.npz", "compressed.npz"}) {
    const std::string whole = npy_bytes(name);
    for (std::size_t size = 0; size < whole.size(); ++size) CHECK(read(whole.substr(0, size)) == broken);
    // A flipped byte is found or lies where it does not matter.
    const Lines sound = read(whole);
    std::size_t found = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
      const Lines lines = read(damaged);
      if (lines.size() == 1 && lines[0].find(':') == std::string::npos) ++found;
      if (lines.size() == 3)
        CHECK(lines.back().substr(lines.back().rfind(':')) == sound.back().substr(sound.back().rfind(':')));
    }
    CHECK(found > whole.size() / 2);
  }
}

}  // namespace onnxkit::tests::wire_npz
