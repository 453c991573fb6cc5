#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libonnxkit/exec/backend.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"
#include "tests/op_cases/case.h"

namespace onnxkit::op_cases {

/// The case states all that a run needs and something to hold the run against.
bool can_run(const Case& c);

/// Runs the case's model on the reference and adds what differs from the case to `problems`. True when it ran to its end.
bool run_on_reference(const Case& c, const ir::Model& model, const spec::OpTable& table,
                      std::vector<std::string>& problems);

/// A backend that cases are run on, and what its plans say of nodes that run elsewhere.
struct BackendUnderTest {
  std::shared_ptr<const spec::OpTable> table;
  std::shared_ptr<exec::SessionContext> context;
  std::unique_ptr<exec::Backend> backend;
  std::set<std::string> notes = {};
};

/// Runs the case's model on a backend; what differs from the case.
std::vector<std::string> run_on_backend(const Case& c, ir::Model model, BackendUnderTest& under_test);

/// Writes a case of one node in the layout of the official cases: constants become inputs of the model.
void export_case(const Case& c, const spec::OpSchema& schema, std::int64_t opset, const std::filesystem::path& folder);

}  // namespace onnxkit::op_cases
