#include "converters/containers/pickle.h"

#include <doctest/doctest.h>

#include <array>

#include "tests/unit/sample.h"

namespace onnxkit::tests::containers_pickle {

using containers::Pickle;
using containers::PickleDocument;
using containers::PickleNames;
using namespace std::string_literals;

constexpr std::array<std::string_view, 3> some_names = {"collections.OrderedDict", "torch.*Storage", "pkg.make"};
const PickleNames allowed = {.names = some_names, .prefix = {}};

std::string code_of(const std::string& bytes) {
  const auto document = PickleDocument::parse(bytes, allowed);
  return document ? "" : document.error().diagnostic.code;
}

TEST_CASE("pickle: values of every kind, of protocol 2 and 4") {
  // {"a": [1, -2, 70000, 2.5, True, None], 3: ("x", -1 as a long)}
  const std::string two =
      "\x80\x02}q\0(X\1\0\0\0a]q\1(K\1J\xfe\xff\xff\xff"
      "J\x70\x11\1\0G\x40\x04\0\0\0\0\0\0\x88NeK\3X\1\0\0\0x\x8a\1\xff\x86u."s;
  const auto document = PickleDocument::parse(two, allowed);
  REQUIRE(document);
  const Pickle root = (*document)->root();
  REQUIRE(root.is_dict());
  CHECK(root.size() == 2);
  const Pickle list = root["a"];
  REQUIRE(list.is_list());
  CHECK(list[0].integer() == 1);
  CHECK(list[1].integer() == -2);
  CHECK(list[2].integer() == 70'000);
  CHECK(list[3].real() == 2.5);
  CHECK(list[4].boolean() == true);
  CHECK(list[5].is_none());
  CHECK_FALSE(list[6].exists());
  CHECK(root.key(1).integer() == 3);
  CHECK(root.value(1)[0].text() == "x");
  CHECK(root.value(1)[1].integer() == -1);

  const std::string four = "\x80\x04\x95\x0a\0\0\0\0\0\0\0\x8c\1a\x94h\0\x86\x94."s;
  const auto newer = PickleDocument::parse(four, allowed);
  REQUIRE(newer);
  CHECK((*newer)->root()[1].text() == "a");
  CHECK((*newer)->root()[0].identity() == (*newer)->root()[1].identity());
}

TEST_CASE("pickle: calls are names with arguments, an ordered dict is a dict") {
  const auto made = PickleDocument::parse(
      "\x80\x02"
      "cpkg\nmake\nK\7\x85R}X\1\0\0\0sK\1sb."s,
      allowed);
  REQUIRE(made);
  const Pickle object = (*made)->root();
  REQUIRE(object.is_object());
  CHECK(object.callee().global() == "pkg.make");
  CHECK(object.arguments()[0].integer() == 7);
  CHECK(object.state()["s"].integer() == 1);
  const auto ordered = PickleDocument::parse(
      "\x80\x02"
      "ccollections\nOrderedDict\n)RX\1\0\0\0kK\2s}X\2\0\0\0_mK\3sb."s,
      allowed);
  REQUIRE(ordered);
  CHECK((*ordered)->root()["k"].integer() == 2);
  CHECK((*ordered)->root().size() == 1);
  const auto stored = PickleDocument::parse("\x80\x02(X\7\0\0\0storagectorch\nFloatStorage\ntQ."s, allowed);
  REQUIRE(stored);
  CHECK((*stored)->root().persistent_id()[1].global() == "torch.FloatStorage");
}

TEST_CASE("pickle: names outside the list are refused, whatever way they are written") {
  CHECK(code_of("\x80\x02"
                "cos\nsystem\nX\2\0\0\0ls\x85R."s) == "not-supported");
  CHECK(code_of("\x80\x02"
                "c__builtin__\neval\n."s) == "not-supported");
  CHECK(code_of("\x80\x04\x8c\2os\x8c\6system\x93."s) == "not-supported");
  CHECK(code_of("\x80\x02"
                "ctorch\nStorage.os\n."s) == "not-supported");
  CHECK(code_of("\x80\x02"
                "i\nos\nsystem\n."s) == "not-supported");  // INST calls at once
  CHECK(code_of("\x80\x02\x82\1."s) == "not-supported");   // EXT1 looks into a registry
}

TEST_CASE("pickle: what is damaged is an error") {
  CHECK(code_of("") == "malformed-pickle");
  CHECK(code_of("\x80\x02"s) == "malformed-pickle");
  CHECK(code_of("\x80\x02."s) == "malformed-pickle");
  CHECK(code_of("\x80\x05N."s) == "not-supported");
  CHECK(code_of("\x80\x02X\xff\xff\xff\x7f"
                "a."s) == "malformed-pickle");                 // a text longer than the file
  CHECK(code_of("\x80\x02h\5."s) == "malformed-pickle");       // a memo entry that there is not
  CHECK(code_of("\x80\x02]K\1K\2s."s) == "malformed-pickle");  // a pair for a list
  CHECK(code_of("\x80\x02K\1(\x85."s) == "malformed-pickle");  // takes what lies below the mark
  CHECK(code_of("\x80\x02K\1K\2R."s) == "malformed-pickle");   // calls a number
  CHECK(code_of("\x80\x02"
                "cpkg\nmake\n)R}b}b."s) == "malformed-pickle");  // two states
}

TEST_CASE("pickle: values without end are refused, cycles are values like others") {
  if (sampled(true, false)) {  // eight million values take as many seconds with sanitizers, and do what a few do
    const std::string many = "\x80\x02"s + std::string((std::size_t{1} << 23) + 10, ')') + ".";
    CHECK(code_of(many) == "memory-limit");
  }
  const auto cycle = PickleDocument::parse("\x80\x02]q\0h\0a."s, allowed);
  REQUIRE(cycle);
  CHECK((*cycle)->root()[0].identity() == (*cycle)->root().identity());
}

}  // namespace onnxkit::tests::containers_pickle
