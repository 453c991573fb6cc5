#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::opset {

/// One node crossed one version of its operator and did not stay as it was.
struct NodeChange {
  Location location;  ///< of the node of the file that it comes from
  std::string op;
  std::int64_t from = 0, to = 0;  ///< opsets
  std::string what;
};

struct ImportChange {
  std::string domain;
  std::string function;  ///< "function pkg::Block"; empty for the model's own import
  std::int64_t from = 0, to = 0;
};

/// Why a node cannot be converted; the location is that of the node of the file.
struct Refused : Diagnostic {
  std::string written_with;  ///< the operator that cannot go on, when that node was written with others by then
};

struct Conversion {
  std::vector<ImportChange> imports;
  std::vector<NodeChange> changes;
  /// Nodes that cannot be converted; the model is then half converted.
  std::vector<Refused> refusals;
  std::size_t nodes = 0;       ///< of the file, in all graphs
  std::size_t compatible = 0;  ///< version changes of nodes that needed no change
  /// Values whose declared sizes were believed, as inference knows nothing of them.
  std::set<std::string> believed;
};

/// Moves the model's graphs, training graphs and functions to the version of each domain in `targets`, one domain after the other, step by step through the
/// versions between. Graphs in which nothing of a domain is imported are left alone. With `follows_scaled_length` align_corners means what
/// the official cases say (AlignCorners::scaled_length).
Conversion convert(ir::Model& model, const spec::OpTable& table, const std::map<std::string, std::int64_t>& targets,
                   const ir::ExternalBytes& external, bool follows_scaled_length = false);

/// Writes operators of ai.onnx that are wanted no longer with others of the same opset, as the step below the first version of each tells; an If
/// whose condition is known and a Loop whose iterations are counted become what they compute. What no step can write stays. Refusals are of nodes
/// whose new operators the opset does not allow: the model is then half converted.
Conversion compose(ir::Model& model, const spec::OpTable& table,
                   const std::function<bool(std::string_view)>& is_unwanted, const ir::ExternalBytes& external);

}  // namespace onnxkit::opset
