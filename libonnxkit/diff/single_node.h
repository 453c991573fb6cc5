#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "libonnxkit/diff/layers.h"

namespace onnxkit::diffing {

/// What leads from known values to some values of the graph, alone: the same part of both models on the exact inputs.
struct Alone {
  std::shared_ptr<const Model> base, side;
  InputSet inputs;
  std::map<std::string, Value, std::less<>> got;  ///< from the side
};

/// Runs the nodes that write `values` alone, with whatever the side has in between. `known` are names that both models write. Errors: of
/// changing and running the models.
Result<Alone> run_alone(const LayerQuestion& question, const std::vector<std::string>& values,
                        const std::set<std::string, std::less<>>& known);

/// Writes both models, inputs, expected output and how to run them into a folder. Errors: cannot-write, of running the first model's part.
Result<void> write_repro(const Alone& alone, const LayerQuestion& question, const SideReport& report,
                         const std::string& value, const std::filesystem::path& folder);

/// The reals of a wide value rounded to the type that the model has there.
Result<Value> as_stored(const exec::Spread& spread);

/// A copy of the side on another model.
DiffSide side_on(const DiffSide& side, std::shared_ptr<const Model> model);

/// All outputs of a side's model on one set of inputs, by name.
Result<std::map<std::string, Value, std::less<>>> run_once(const DiffSide& side, const InputSet& set,
                                                           Sessions& sessions);

}  // namespace onnxkit::diffing
