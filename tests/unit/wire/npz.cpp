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

void put(std::string& bytes, std::uint32_t number, int width) {
  for (int i = 0; i < width; ++i, number >>= 8) bytes += static_cast<char>(number);
}

/// `start` as it is, and zeros by repetition: 13 bits for 258 of them (RFC 1951). Their number is a multiple of 258 in the stream, at least `zeros`.
std::string deflated(const std::string& start, std::uint32_t zeros) {
  std::string bytes;
  for (std::size_t at = 0; at < start.size(); at += 65535) {
    const std::string piece = start.substr(at, 65535);
    bytes += '\0';  // a stored block, not the last
    put(bytes, static_cast<std::uint32_t>(piece.size()), 2);
    put(bytes, ~static_cast<std::uint32_t>(piece.size()), 2);
    bytes += piece;
  }
  std::uint32_t bits = 0;
  int held = 0;
  const auto add = [&](std::uint32_t code, int width) {
    bits |= code << held;
    for (held += width; held >= 8; held -= 8, bits >>= 8) bytes += static_cast<char>(bits);
  };
  add(0b011, 3);       // the last block, with the fixed codes
  add(0b00001100, 8);  // a zero: 00110000, first bit lowest
  for (std::uint32_t i = 0; i < zeros / 258 + 1; ++i)
    add(0b10100011, 13);  // 11000101, 00000: 258 bytes from one byte back
  add(0, 7);              // the end
  add(0, 7);
  return bytes;
}

/// An archive of one deflated entry, whose checksum is wrong.
std::string archive_of(const std::string& name, const std::string& packed, std::uint32_t size) {
  std::string common;
  for (const auto& [number, width] : {std::pair(20u, 2), {0u, 2}, {8u, 2}, {0u, 4}, {0xdeadbeefu, 4}})
    put(common, number, width);
  put(common, static_cast<std::uint32_t>(packed.size()), 4);
  put(common, size, 4);
  put(common, static_cast<std::uint32_t>(name.size()), 2);
  put(common, 0, 2);
  std::string bytes = "PK\3\4" + common + name + packed, directory = "PK\1\2";
  put(directory, 20, 2);
  directory += common;
  directory += std::string(14, '\0') + name;
  const auto at = static_cast<std::uint32_t>(bytes.size());
  bytes += directory + "PK\5\6" + std::string(4, '\0');
  for (const auto& [number, width] :
       {std::pair(1u, 2), {1u, 2}, {static_cast<std::uint32_t>(directory.size()), 4}, {at, 4}, {0u, 2}})
    put(bytes, number, width);
  return bytes;
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

TEST_CASE("an array that unpacks to more than its header says is not unpacked") {
  constexpr std::uint32_t unpacked = 120'000'000;
  const struct {
    const char *header, *code, *message;
  } cases[] = {
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }", "malformed-npy", "the size of the data"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (4,), }", "unsupported-npy", "an array with an element type"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999,), }", "malformed-npy", "the size of the data"},
      // What fits is unpacked, and found to have another checksum.
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (120000000,), }", "malformed-npz", "an entry of the archive"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.header);
    const std::string text = c.header + "\n"s;
    const std::string start = "\x93NUMPY\1\0"s + static_cast<char>(text.size()) + '\0' + text;
    const std::string bomb =
        archive_of("a.npy", deflated(start, unpacked), static_cast<std::uint32_t>(start.size()) + unpacked);
    CHECK(bomb.size() < 1'000'000);
    const auto values = wire::read_npz(MappedFile::from_bytes(bomb), {}, 2 * std::uint64_t{unpacked});
    REQUIRE(!values);
    CHECK(values.error().diagnostic.code == c.code);
    CHECK(values.error().diagnostic.message.starts_with(c.message));
  }
  const std::string endless = "\x93NUMPY\2\0\0\0\1\0"s + std::string(65536, ' ');
  const auto values = wire::read_npz(MappedFile::from_bytes(
      archive_of("a.npy", deflated(endless, 1000), static_cast<std::uint32_t>(endless.size()) + 1000)));
  REQUIRE(!values);
  CHECK(values.error().diagnostic.message == "the header is too long");
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
