#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/uses.h"

// A change of one graph that is built beside it, checked, and spliced in at once. Until then the graph stays as it is, so whatever
// was found out about it holds while patches are built.
namespace onnxkit::ir {

class Patch {
 public:
  /// `graph` must outlive the patch, and not change before it is spliced in.
  explicit Patch(const Graph& graph) : graph_(&graph) {}

  const Graph& graph() const { return *graph_; }
  bool empty() const;

  /// A new value. The name must be new to the graph, and to the graphs around and inside it (ir/builder.h has such names). With a type
  /// the graph will declare it.
  ValueId value(Text name, std::optional<DeclaredType> type = std::nullopt);
  /// Of a value of the graph or a new one.
  std::string_view value_name(ValueId id) const;
  /// That of the first value that the node writes; empty for none.
  std::string_view first_name(const Node& node) const;
  bool is_new(ValueId id) const { return id != ValueId::none && index_of(id) >= graph_->values.size(); }

  /// Puts a node before or behind node `at`, in the order of the calls; before the number of nodes is at the end. It may write values of the graph whose node goes.
  void insert_before(std::size_t at, Node node);
  void insert_behind(std::size_t at, Node node);
  /// The node goes. With nodes inserted there its name, doc_string and metadata pass to the last that writes its first output.
  void remove(std::size_t node);
  /// The node reads or writes other values.
  void set_inputs(std::size_t node, std::vector<ValueId> inputs) { changes_[node].inputs = std::move(inputs); }
  void set_outputs(std::size_t node, std::vector<ValueId> outputs) { changes_[node].outputs = std::move(outputs); }
  /// Changes the rest of the node when the patch is spliced in. `change` may also change the nodes that were inserted around it, not their number.
  using Edit = std::function<void(Node& node, std::vector<Node>& inserted)>;
  void edit(std::size_t node, Edit change);

  /// What reads `old`, in subgraphs too, reads `by`. `old` is no output of the graph, and no subgraph that reads it has a value of its
  /// own with the name of `by`.
  void replace_value(ValueId old, ValueId by) { replaced_.emplace_back(old, by); }

  /// A new value whose content is stored. The tensor takes the value's name.
  void add_initializer(ValueId made, Tensor tensor) { initializers_.emplace_back(made, std::move(tensor)); }
  /// Dense or sparse.
  void drop_initializer(ValueId id) { dropped_.push_back(id); }

  /// Another name for a value, in the bodies that read it too. The name must be new like that of a new value.
  void rename(ValueId id, Text name) { renamed_.emplace_back(id, name); }

  /// The nodes in this order, by their places before. Such a patch neither inserts nor removes nodes.
  void reorder(std::vector<std::size_t> order) { order_ = std::move(order); }

  /// The value_info of a value has this type, and moves behind those that are not mentioned; without a type it goes. The rest of what it
  /// says stays.
  void declare(ValueId id, std::optional<DeclaredType> type) { declared_.emplace_back(id, std::move(type)); }
  /// The type of an input or output, by its index.
  void declare_input(std::size_t index, DeclaredType type) { inputs_.emplace_back(index, std::move(type)); }
  void declare_output(std::size_t index, DeclaredType type) { outputs_.emplace_back(index, std::move(type)); }

  /// Whether a value may stand for another: nothing when what is known of the two agrees, else why not. `made` is the type that a new
  /// value was declared with, null for values of the graph and without one.
  using Agree = std::function<std::optional<std::string>(ValueId old, ValueId by, const DeclaredType* made)>;
  /// Why the patch does not fit, the first reason: a name that is taken, a value that is read and that nothing writes, one that two
  /// nodes write, an output of the graph that is replaced, a replaced value that differs, an order that is none. `uses` are those of the graph as it is.
  std::optional<std::string> check(const Uses& uses, const Agree& agree = nullptr) const;

 private:
  friend class Splicer;
  struct Change {
    bool removes = false;
    std::optional<std::vector<ValueId>> inputs, outputs;
    std::vector<Edit> edits;
    std::vector<Node> inserted;
    std::size_t before = 0;  ///< so many of `inserted` stand before the node

    bool changes_node() const { return inputs || outputs || !edits.empty(); }
  };
  struct Made {
    Text name;
    std::optional<DeclaredType> type;
  };

  struct Definitions {
    std::unordered_set<ValueId> lost;
    std::unordered_map<ValueId, int> gained;
  };

  Definitions changed_definitions() const;
  std::optional<std::string> check_names() const;
  bool is_order() const;
  const Made& made_at(ValueId id) const { return made_[index_of(id) - graph_->values.size()]; }

  const Graph* graph_;
  std::map<std::size_t, Change> changes_;  ///< by node
  std::vector<Made> made_;                 ///< ids from the number of the graph's values on
  std::vector<std::pair<ValueId, ValueId>> replaced_;
  std::vector<std::pair<ValueId, Tensor>> initializers_;
  std::vector<ValueId> dropped_;
  std::vector<std::pair<ValueId, Text>> renamed_;
  std::vector<std::size_t> order_;  ///< empty: as it is
  std::vector<std::pair<ValueId, std::optional<DeclaredType>>> declared_;
  std::vector<std::pair<std::size_t, DeclaredType>> inputs_, outputs_;
};

/// Copies of what a splice may change in a graph.
struct GraphBefore {
  std::vector<Node> nodes;
  std::vector<Text> names;  ///< of the values
  std::vector<Tensor> initializers;
  std::vector<SparseTensor> sparse_initializers;
  std::vector<ValueInfo> inputs, outputs, value_infos;
  std::vector<TensorAnnotation> annotations;
};

/// What a splice did. Holds the nodes that it took out, so that graphs inside them keep their addresses.
struct Splice {
  std::vector<std::size_t>
      origin;  ///< by node now: the node before; for an inserted one the node that it was put beside
  std::vector<std::size_t> changed;  ///< nodes now that are new or edited, ascending
  std::vector<Node> removed;

  std::optional<GraphBefore> before;  ///< for undo
};

enum class Undoable : bool { no, yes };

/// Makes the change. Precondition: `patch` was made for `graph`, and check() has nothing against it. Graphs inside nodes that stay keep
/// their addresses. Undoable costs a copy of the graph without its weights.
Splice splice(Graph& graph, Patch patch, Undoable undoable = Undoable::no);
/// Puts the graph back to what it was before the splice. Precondition: it was undoable, and the graph has not changed since.
void undo(Graph& graph, Splice splice);

}  // namespace onnxkit::ir
