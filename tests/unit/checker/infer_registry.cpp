#include "checker/infer/infer_registry.h"

#include <doctest/doctest.h>

#include <string>

#include "libonnxkit/spec/op_table.h"

namespace onnxkit::tests::checker_infer_registry {

TEST_CASE("every operator version of the official table has an inference function") {
  std::string missing;
  for (const spec::OpSchema& schema : spec::official_schemas()) {
    if (checker::infer_registry().find(schema.domain, schema.name, schema.since_version)) continue;
    missing += std::string(schema.name) + "-" + std::to_string(schema.since_version) + " ";
  }
  CHECK(missing == "");
}

}  // namespace onnxkit::tests::checker_infer_registry
