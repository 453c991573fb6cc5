#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/function_index.h"

namespace onnxkit::inputs {

/// A node that reads a value.
struct Reader {
  const ir::Graph& graph;
  std::span<const ir::OpsetImport> opsets;  ///< imported where the graph lies
  const ir::Node& node;
  std::size_t input;         ///< by which it reads the value
  const std::string& where;  ///< the graph lies
  const std::string& place;  ///< of the node: "main / node 4"
};

/// Finds the nodes that read a value: in its graph, in subgraphs there, and in functions that it is given to. Calls of functions are no readers
/// themselves. Each value is followed once.
class Readers {
 public:
  using Visit = std::function<void(const Reader& reader)>;

  Readers(const ir::Model& model, Visit visit) : functions_(model), visit_(std::move(visit)) {}

  /// `visit` may call it, too, for what the value becomes.
  void follow(const ir::Graph& graph, std::span<const ir::OpsetImport> opsets, ir::ValueId id,
              const std::string& where);

 private:
  void read(const Reader& reader);

  const spec::FunctionIndex functions_;
  const Visit visit_;
  std::set<std::pair<const ir::Graph*, ir::ValueId>> seen_;
  int depth_ = 0;
};

}  // namespace onnxkit::inputs
