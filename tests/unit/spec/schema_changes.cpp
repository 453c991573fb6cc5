#include "libonnxkit/spec/schema_changes.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "libonnxkit/spec/op_table.h"

namespace onnxkit::tests::spec_schema_changes {

using namespace spec;

namespace {

std::vector<std::string> changes(const char* name, int before, int after, const char* domain = "") {
  const OpTable table;
  const OpSchema* old = table.find(domain, name, before);
  const OpSchema* now = table.find(domain, name, after);
  REQUIRE(old);
  REQUIRE(now);
  std::vector<std::string> lines;
  for (const SchemaChange& change : changes_between(*old, *now)) lines.push_back(describe(change));
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("the history of Upsample") {
  CHECK(changes("Upsample", 1, 7) == Lines{"attribute height_scale removed", "attribute width_scale removed",
                                           "attribute mode may also be linear, and no longer bilinear",
                                           "attribute scales added (required)",
                                           "input X and output Y: also tensor(uint8, int8, uint16, int16, string, "
                                           "uint32, uint64, complex64, complex128)"});
  CHECK(changes("Upsample", 7, 9) == Lines{"attribute scales became an input"});
  CHECK(changes("Upsample", 9, 10) == Lines{"deprecated: no model of this opset may use it"});
}

TEST_CASE("an input in the middle is added, not renamed") {
  const Lines lines = changes("Resize", 10, 11);
  CHECK(lines.front() == "input roi added");
  CHECK(lines[1] == "input sizes added (optional)");
  CHECK(std::ranges::count(lines, "attribute mode may also be cubic") == 1);
}

TEST_CASE("inputs, outputs and attributes that changed") {
  CHECK(changes("Resize", 11, 13)[0] == "input roi became optional");
  CHECK(changes("Clip", 6, 11) ==
        Lines{"attribute min became an input (optional)", "attribute max became an input (optional)"});
  CHECK(changes("Clip", 1, 6) == Lines{"attribute consumed_inputs removed",
                                       "attribute max has the default 3.4028235e+38",
                                       "attribute min has the default -3.4028235e+38"});
  CHECK(changes("Softmax", 11, 13)[0] == "attribute axis: the default changed from 1 to -1");
  CHECK(changes("Softmax", 1, 11).empty());
  CHECK(changes("Cast", 1, 6) == Lines{"attribute to: the type changed from string to int"});
  CHECK(changes("Loop", 1, 11) == Lines{"input v_initial takes at least 0 values instead of 1"});
  CHECK(changes("Split", 1, 2)[0] == "input split removed");
}

TEST_CASE("renamed, tied and freed") {
  const Lines lines = changes("BatchNormalization", 9, 14);
  CHECK(lines[0] == "input mean renamed to input_mean");
  CHECK(std::ranges::count(lines, "output saved_mean removed") == 1);
  CHECK(lines.back() == "input input_mean no longer needs the type of input X");
  CHECK(changes("BatchNormalization", 14, 9).back() == "input mean now has the type of input X");
}

TEST_CASE("a schema does not differ from itself, and every change has words") {
  for (const DomainTable& domain : builtin_domains())
    for (std::size_t i = 0; i < domain.schemas.size(); ++i) {
      const OpSchema& schema = domain.schemas[i];
      CHECK(changes_between(schema, schema).empty());
      if (i == 0 || domain.schemas[i - 1].name != schema.name) continue;
      for (const SchemaChange& change : changes_between(domain.schemas[i - 1], schema)) {
        CHECK_FALSE(describe(change).empty());
        CHECK_FALSE(name_of(change.kind).empty());
      }
    }
}

TEST_CASE("a version whose signature is the old one says what it changed") {
  for (const DomainTable& domain : builtin_domains())
    for (std::size_t i = 1; i < domain.schemas.size(); ++i) {
      const OpSchema &before = domain.schemas[i - 1], &after = domain.schemas[i];
      if (before.name != after.name || !changes_between(before, after).empty()) continue;
      CAPTURE(after.name);
      CAPTURE(after.since_version);
      CHECK_FALSE(after.meaning_change.empty());
    }
}

}  // namespace onnxkit::tests::spec_schema_changes
