#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "checker/collector.h"
#include "checker/infer/constant.h"
#include "checker/infer/infer_context.h"
#include "checker/infer/infer_registry.h"
#include "checker/infer/type.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/spec/resolution.h"
#include "onnxkit/result.h"

namespace onnxkit::checker {

/// What inference knows of one value.
struct ValueInfo {
  Type type;
  /// What the caller of the model passes decides the content, not only the sizes of what is passed.
  bool from_data = false;
  std::unique_ptr<Constant> value;
};

/// Where knowledge of a value's shape was lost.
struct Loss {
  std::size_t node = 0;
  std::string reason;
  ir::ValueId cause = ir::ValueId::none;  ///< an input of that node whose own shape is unknown
};

/// Side table of one graph, indexed by ValueId.
struct GraphInfo {
  std::vector<ValueInfo> values;
  std::unordered_map<std::uint32_t, Loss> losses;  ///< shapes that nodes could not tell, whatever the file declares
  /// Of values whose shape hangs on content: which input of their node has it.
  std::unordered_map<std::uint32_t, std::size_t> content_inputs;
};

using ir::ExternalBytes;

/// A relation of two sizes without which a node cannot work. At least one of them is an expression.
struct SizeDemand {
  SizeRelation relation = SizeRelation::equal;
  Dim a, b;
  bool in_body = false;  ///< what holds in one branch or iteration need not hold elsewhere
  Location at;
};

struct InferenceOptions {
  std::map<std::string, std::int64_t> dim_values;  ///< --dim N=8
  ExternalBytes external_bytes;
  bool assume_defaults = false;  ///< no caller replaces an initializer that is also a graph input
  /// Also keep what is known of values inside functions: of several calls, what holds in all of them.
  bool function_info = false;
  /// Also keep what nodes demand of sizes (InferredModel::demands).
  bool demands = false;
  /// Types of the main graph's inputs, in their order, in place of the declared ones; an unknown type or a missing one leaves the declared.
  std::vector<Type> input_types = {};
  /// Nodes inferred at most beyond 16 times those of the model, counted over loop passes and function calls: hostile models nest both
  /// exponentially.
  std::uint64_t extra_node_budget = 200'000;
};

/// What inference found: side tables of the main graph and of every subgraph (the last pass where a loop needed several), with
/// `function_info` of function bodies, too.
struct InferredModel {
  DimPool dims;
  std::unordered_map<const ir::Graph*, GraphInfo> graphs;
  bool budget_exhausted = false;
  std::vector<std::string> assumed;  ///< graph inputs whose default contents were looked at
  std::vector<SizeDemand> demands;   ///< in the order of the nodes; declared sizes of values count as demands, too

  const ValueInfo* find(const ir::Graph& graph, ir::ValueId id) const;
};

/// Infers types, shapes and small contents of all values, and reports what is provably wrong into `collector`.
/// Works on invalid models too: what cannot be resolved stays unknown.
InferredModel infer_types(const ir::Model& model, const spec::OpTable& table, const InferenceOptions& options,
                          Collector& collector);
/// The same for who has resolved the model's nodes already.
InferredModel infer_types(const ir::Model& model, const spec::Resolution& resolution, const InferenceOptions& options,
                          Collector& collector);

// ---- the engine behind it, seen by InferContext

/// A parameter of a function that a call leaves out.
struct Absence {
  std::shared_ptr<const Location> call;  ///< of calls in calls, the one that has no value to pass on
  std::size_t input = 0;                 ///< of the call
  const ir::Function* callee = nullptr;
  std::string_view parameter;
};

/// One activation of a graph: the main graph, a subgraph, or the body of a function for one call.
struct Frame {
  const ir::Graph* graph = nullptr;
  Frame* parent = nullptr;  ///< outer scope; null for the main graph and function bodies
  GraphInfo* info = nullptr;
  const spec::AttributeBindings* bindings = nullptr;  ///< attributes of the function call
  std::vector<std::string> scope;
  std::vector<std::int32_t> initializer_of;    ///< by ValueId: index into graph->initializers or -1
  std::vector<bool> replaceable;               ///< by ValueId: an initializer that a caller may replace
  std::vector<const ir::ValueInfo*> declared;  ///< by ValueId, from value_info and outputs
  std::size_t initializers = 0;                ///< of the graph, that the tables know
  std::size_t nodes = 0;                       ///< of the graph, that GrowingInference has seen
  std::size_t depth = 0;
  bool in_body = false;                               ///< within a branch or loop, also in a function called there
  const ir::Function* function = nullptr;             ///< whose call this is or is part of
  std::unordered_map<std::uint32_t, Absence> absent;  ///< by ValueId; in the outermost graph of a call
};

class Inference {
 public:
  Inference(const ir::Model& model, const spec::Resolution& resolution, const InferenceOptions& options,
            Collector& collector);
  void run();
  InferredModel take() { return std::move(result_); }

 private:
  friend class InferContext;
  friend class GrowingInference;

  static constexpr const char* note_of_trust =
      "most runtimes pass over names; TensorRT and planners of static memory take equal names for equal sizes";

  void prepare(Frame& frame);
  static void grow(Frame& frame);
  void seed_inputs(Frame& frame, std::span<const Type> given, std::span<const Constant* const> values);
  void infer_nodes(Frame& frame);
  void infer_node(Frame& frame, std::size_t index);
  void infer_call(Frame& frame, std::size_t index, const ir::Function& function);
  void note_absent_arguments(const Frame& frame, std::size_t call, Frame& body) const;
  const Absence* absence(const Frame& frame, ir::ValueId id) const;
  void report_absence(const Absence& absence, const std::string& reader);
  void check_absent_inputs(const Frame& frame, std::size_t index, const spec::OpSchema& schema);
  void check_absent_results(const Frame& frame, std::size_t call, const Frame& body);
  void check_bound_attributes(InferContext& context);
  void store_outputs(Frame& frame, std::size_t index, std::vector<InferContext::Output>& outputs,
                     bool reads_sizes_only = false);
  void reconcile(Frame& frame, ir::ValueId id, Type& type);
  std::optional<std::pair<std::string, std::string>> reconcile_type(const Type& declared, Type& type, bool in_sequence,
                                                                    bool takes_names);
  bool names_conflict(Dim name, Dim size);
  bool names_several_axes(Dim name) const;
  bool types_agree(InferContext& context);
  void bind_output_types(InferContext& context);
  std::vector<BodyOutput> run_body(Frame& frame);
  void keep_call(const ir::Graph& body, GraphInfo info);

  /// Null when the operator has no inference.
  const InferRegistry::Row* registered(const spec::OpSchema& schema);
  ValueInfo* lookup(Frame& frame, ir::ValueId id);
  const Constant* content(Frame& frame, ir::ValueId id);
  Location location_of(const Frame& frame, std::optional<std::size_t> node) const;
  void note_demand(const Frame& frame, std::optional<std::size_t> node, SizeRelation relation, Dim a, Dim b);
  void report(Diagnostic diagnostic);

  const ir::Model& model_;
  const InferenceOptions& options_;
  Collector& collector_;
  const spec::Resolution& resolution_;
  InferredModel result_;
  std::uint64_t budget_ = 0;
  int quiet_ = 0;  ///< bodies deep in which nothing is reported
  std::unordered_map<const spec::OpSchema*, const InferRegistry::Row*> registered_;
  std::unordered_set<const ir::Graph*> active_;       ///< bodies being inferred: recursion ends here
  std::unordered_set<std::string> reported_;          ///< findings repeat over loop passes and function calls
  std::unordered_map<std::string, Dim> named_sizes_;  ///< sizes that declared names stood for so far
};

}  // namespace onnxkit::checker
