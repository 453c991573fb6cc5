#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "onnxkit/diff.h"

// Changed copies of a model: with values inside the graph as outputs, or cut down to what leads to them.
namespace onnxkit::diffing {

/// A copy of the model with the types of all values that inference can tell. Errors: of schema packs.
Result<Model> fresh_copy(const Model& model, const DiffOptions& options);

/// Makes values of the main graph outputs behind those that it has. Names that no node writes are left out.
void add_outputs(ir::Model& model, std::span<const std::string> names);
/// The same, as its only outputs.
void set_outputs(ir::Model& model, std::span<const std::string> names);

/// The nodes on the way to some values from values named in `known`, from inputs and initializers.
struct Way {
  std::vector<std::size_t> nodes;             ///< in the graph's order
  std::vector<std::string> from;              ///< known values and inputs without a default that they read
  std::set<std::string, std::less<>> writes;  ///< every value that they write
};
Way way_to(const ir::Graph& graph, std::span<const std::string> names, const std::set<std::string, std::less<>>& known);

/// Of the nodes on the way, those that only hold a constant left out.
std::vector<Location> locations_of(const ir::Graph& graph, const Way& way);

/// Leaves only the nodes on the way to the outputs from values named in `known`, from inputs and initializers. The known values that are needed become
/// inputs; the result has the names of all inputs.
std::vector<std::string> cut(ir::Model& model, const std::set<std::string, std::less<>>& known);

}  // namespace onnxkit::diffing
