#pragma once

#include <functional>
#include <map>
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

/// What the graph itself stores under the name of the value; null when there is nothing.
const ir::Tensor* initializer_of(const ir::Graph& graph, ir::ValueId id);

/// Finds the nodes that read a value: in its graph, in subgraphs there, in the functions and bodies of loops that it is given to, and behind the
/// node whose branch, body or function gives it on. Calls of functions are no readers themselves. Each value is followed once, out of the function
/// that several nodes call to the first of them.
class Readers {
 public:
  using Visit = std::function<void(const Reader& reader)>;

  Readers(const ir::Model& model, Visit visit) : functions_(model), visit_(std::move(visit)) {}

  /// `visit` may call it, too, for what the value becomes.
  void follow(const ir::Graph& graph, std::span<const ir::OpsetImport> opsets, ir::ValueId id,
              const std::string& where);

 private:
  /// The node that a graph is a branch, a body or the function of.
  struct Owner {
    const ir::Graph* graph;
    std::span<const ir::OpsetImport> opsets;
    const ir::Node* node;
    std::string where;
  };

  void read(const Reader& reader);
  void follow_readers(const ir::Graph& graph, std::span<const ir::OpsetImport> opsets, ir::ValueId id,
                      const std::string& where);
  void follow_into_body(const Reader& reader);
  /// To what the owner of `graph` gives on, and around its loop.
  void follow_out(const ir::Graph& graph, std::span<const ir::OpsetImport> opsets, ir::ValueId id,
                  const std::string& where);

  const spec::FunctionIndex functions_;
  const Visit visit_;
  std::set<std::pair<const ir::Graph*, ir::ValueId>> seen_;
  std::map<const ir::Graph*, Owner> owners_;
  int depth_ = 0;
};

}  // namespace onnxkit::inputs
