#include "converters/opset/model/old_faults.h"

#include <doctest/doctest.h>

namespace onnxkit::tests::api_opset_faults {
namespace {

Diagnostic fault(const char* code, std::vector<std::string> scope, const char* item, const char* name) {
  Diagnostic fault;
  fault.code = code;
  fault.location.scope = std::move(scope);
  fault.location.item = item;
  fault.location.item_name = name;
  return fault;
}

}  // namespace

TEST_CASE("an old fault is found again though its place moved, and hides no other") {
  const Diagnostic old = fault("declared-type", {"main", "node 3", "then_branch"}, "output 0", "y");
  opset::OldFaults faults({old, old}, ir::Model());
  CHECK_FALSE(faults.take(fault("declared-type", {"main", "node 3", "then_branch"}, "output 0", "z")));
  CHECK_FALSE(faults.take(fault("declared-shape", {"main", "node 3", "then_branch"}, "output 0", "y")));
  CHECK_FALSE(faults.take(fault("declared-type", {"main"}, "output 0", "y")));
  CHECK_FALSE(faults.take(fault("declared-type", {"main", "node 3", "else_branch"}, "output 0", "y")));
  CHECK(faults.take(fault("declared-type", {"main", "node 7", "then_branch"}, "output 1", "y")));
  CHECK(faults.warnings_of_result().size() == 1);
  CHECK(faults.take(old));
  CHECK_FALSE(faults.take(old));
  CHECK(faults.warnings_of_result().size() == 2);
}

TEST_CASE("a fault of which a conversion makes a fact refuses it") {
  const Diagnostic size = fault("declared-shape", {"main"}, "value_info", "y");
  opset::OldFaults faults({size, fault("declared-shape", {"main"}, "value_info", "z")}, ir::Model());
  CHECK(faults.relied_on({}, {"x"}).empty());
  CHECK(faults.relied_on({}, {"x", "y"}).size() == 1);
  CHECK(faults.warnings().size() == 1);
}

}  // namespace onnxkit::tests::api_opset_faults
