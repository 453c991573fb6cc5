#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "libonnxkit/exec/plan.h"
#include "libonnxkit/ir/uses.h"
#include "reference/executor/constant_cache.h"
#include "reference/executor/derived_forms.h"
#include "reference/executor/executor.h"
#include "reference/executor/kernel.h"
#include "reference/executor/shape_arithmetic.h"
#include "reference/noise/edges.h"
#include "reference/noise/noise.h"

namespace onnxkit::reference {

/// What a node is: a call of a function, or an operator version with its kernel.
struct PreparedNode {
  const ir::Function* function = nullptr;
  const spec::OpSchema* schema = nullptr;
  Kernel kernel = nullptr;
  NoiseRule noise = {};
  OriginRole role = {};
  Origin origin = Origin::data;
  bool is_quantizing = false;
  bool may_have_weights = false;  ///< a product whose second factor may be constant
  bool is_constant = false;       ///< its result may be kept for later runs
};

/// What running a graph needs and every run shares.
struct PreparedGraph {
  std::vector<PreparedNode> nodes;
  exec::GraphPlan plan;
  ir::InitializerTable initializers;
};

struct PreparedModel {
  const ir::Model* model;
  ir::ExternalBytes external_bytes;
  std::unordered_map<const ir::Graph*, PreparedGraph> graphs;
  std::unique_ptr<DerivedForms> derived = std::make_unique<DerivedForms>();

  PreparedModel(const ir::Model& model, const spec::OpTable& table, ir::ExternalBytes external_bytes);
};

/// One activation of a graph: the main graph, one pass of a body, one call of a function.
struct Frame {
  const ir::Graph* graph;
  const PreparedGraph* prepared;
  Frame* parent;  ///< whose values the graph may read; null for the main graph and functions
  const spec::AttributeBindings* bindings;
  std::vector<std::string> scope;
  std::size_t depth;
  std::vector<Value> values;  ///< by ValueId; kind none before they exist and after their last reader
};

/// One run of a prepared model.
class Run {
 public:
  Run(const PreparedModel& prepared, const RunOptions& options, ThreadPool& threads, ConstantCache& kept);
  /// With the errors of an arithmetic; many such runs may share one memory.
  Run(const PreparedModel& prepared, const RunOptions& options, ThreadPool& threads, MemoryPtr memory,
      std::optional<Noise> noise);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  /// Kept constants may hold the memory for long.
  ~Run() { memory_->drop_idle(); }

  std::vector<onnxkit::Value> run(std::span<const onnxkit::Value> inputs);

  // One run in steps, for runs that advance together.
  Frame start(std::span<const onnxkit::Value> inputs);
  /// The inputs as the arithmetic of a noisy run stores them.
  void store_inputs(Frame& frame) const;
  void run_step(Frame& frame, std::size_t node) { run_node(frame, node); }
  const Value* value_of(Frame& frame, ir::ValueId id) { return find(frame, id); }
  /// From now on quantizers take what lies near an edge over it.
  void set_edges(std::optional<Edges> edges) { edges_ = edges; }

 private:
  friend class KernelContext;

  std::vector<Value> run_graph(Frame& frame);
  void run_node(Frame& frame, std::size_t index);
  void run_kernel(Frame& frame, std::size_t index, const PreparedNode& prepared);
  void run_constant(Frame& frame, std::size_t index, const PreparedNode& prepared);
  void call_function(Frame& frame, std::size_t index, const ir::Function& function);
  void store(Frame& frame, std::size_t index, std::vector<Value> outputs);
  /// Whether a node keeps digits that its types do not have; what comes from sizes, or perhaps from constants, does not.
  bool is_unrounded(const Frame& frame, std::size_t index) const;
  std::vector<Value> run_body(Frame& frame, std::size_t index, const ir::Graph& body, std::string_view attribute,
                              std::vector<Value> inputs);
  std::vector<TracedNode> trace(Frame& frame, ir::ValueId target, std::span<const ir::ValueId> given,
                                std::span<const Value> values);
  /// The value where a frame sees it; null when nothing defines it or an optional input was omitted.
  const Value* find(Frame& frame, ir::ValueId id);
  /// A weight: kept, or loaded and perhaps kept from now on.
  Tensor weight(const ir::Tensor& tensor);
  Tensor load(const ir::Tensor& tensor);
  Tensor load(const ir::SparseTensor& tensor);
  void conform(Value& value, bool always);
  void count_elements(Value& value);
  void add_noise(Value& value, const NoiseRule& rule, const KernelContext& context);
  void deliver_taps(Frame& frame, const ir::Node& node);
  void check_alive() const;

  const PreparedModel& prepared_;
  const RunOptions& options_;
  ThreadPool& threads_;
  MemoryPtr memory_;
  ConstantCache* kept_ = nullptr;  ///< null where nothing is to be kept
  bool is_given_weights_ = false;  ///< an input takes the place of an initializer
  std::optional<Noise> noise_;
  std::optional<Edges> edges_;
  std::chrono::steady_clock::time_point deadline_;
  std::uint64_t generators_ = 0;  ///< random generators that were handed out
};

/// Where a Fault happened, added by the innermost node that it passes.
struct LocatedFault {
  Error error;
};

}  // namespace onnxkit::reference
