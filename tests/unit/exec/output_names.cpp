#include "libonnxkit/exec/output_names.h"

#include <doctest/doctest.h>

namespace onnxkit::tests::output_names {
namespace {

using exec::distinct_names;
using exec::values_of;

TEST_CASE("a value that is listed as several outputs is asked for once and given for each") {
  const std::vector<std::string> names = {"y", "z", "y"};
  const std::vector<std::string> distinct = distinct_names(names);
  CHECK(distinct == std::vector<std::string>{"y", "z"});
  const auto all = values_of({{"y", {}}, {"z", {}}}, names);
  REQUIRE(all.size() == 3);
  CHECK(all[0].name == "y");
  CHECK(all[1].name == "z");
  CHECK(all[2].name == "y");
}

TEST_CASE("values whose names differ stay as they are") {
  const std::vector<std::string> names = {"a", "b"};
  CHECK(distinct_names(names) == names);
  CHECK(values_of({{"a", {}}, {"b", {}}}, names).size() == 2);
}

}  // namespace
}  // namespace onnxkit::tests::output_names
