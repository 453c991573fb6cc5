#pragma once

#include <set>
#include <string>

#include "libonnxkit/api/diff/layers.h"

namespace onnxkit::api {

/// What leads from known values to one value of the graph, alone: the same part of both models on the exact inputs.
struct SingleNode {
  std::shared_ptr<const Model> base, side;
  InputSet inputs;
  exec::Spread spread;
  Value got;
};

/// Runs the node that writes `value` alone, with whatever the side has in between. `known` are names that both models write. Errors: of
/// changing and running the models.
Result<SingleNode> run_alone(const LayerQuestion& question, const std::string& value,
                             const std::set<std::string, std::less<>>& known);

/// Writes both models, inputs, expected output and how to run them into a folder. Error cannot-write.
Result<void> write_repro(const SingleNode& node, const LayerQuestion& question, const SideReport& report,
                         const std::string& value, const std::filesystem::path& folder);

/// The reals of a wide value rounded to the type that the model has there.
Result<Value> as_stored(const exec::Spread& spread);

/// A copy of the side on another model.
DiffSide side_on(const DiffSide& side, std::shared_ptr<const Model> model);

/// All outputs of a side's model on one set of inputs.
Result<std::vector<NamedValue>> run_once(const DiffSide& side, const InputSet& set, const DiffOptions& options);

}  // namespace onnxkit::api
