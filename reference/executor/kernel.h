#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "libonnxkit/base/system/thread_pool.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/node_attributes.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/spec/version_registry.h"
#include "reference/executor/kernel_traits.h"
#include "reference/executor/tensor.h"

namespace onnxkit::exec {
class ProductDevice;
}

// What a file in reference/ops sees: one node with its inputs, and where its outputs go.
namespace onnxkit::reference {

using spec::all_versions;
using spec::since;
using spec::versions;

class Edges;
class Noise;
class Run;
class SharedFactors;
struct Frame;

/// A node that ran on the way to a value.
struct TracedNode {
  const ir::Node* node;
  const spec::OpSchema* schema;  ///< null for calls of functions
  const spec::AttributeBindings* bindings;
  std::vector<Value> inputs, outputs;  ///< kind none where omitted
};

/// One node as its kernel sees it. Inputs and attributes fit the schema when the model was checked; what a check cannot know (ranks, sizes,
/// contents) the kernel requires itself.
class KernelContext : public spec::NodeAttributes {
 public:
  KernelContext(Run& run, Frame& frame, std::size_t node_index, const spec::OpSchema& schema);

  const ir::Node& node() const { return *node_; }
  const spec::OpSchema& schema() const { return *schema_; }
  /// since_version of the operator version in force.
  std::int32_t since() const { return schema_->since_version; }

  std::size_t input_count() const { return node_->inputs.size(); }
  std::size_t output_count() const { return node_->outputs.size(); }
  bool has_input(std::size_t index) const { return index < inputs_.size() && inputs_[index] != nullptr; }
  bool has_output(std::size_t index) const;
  /// Fault when omitted.
  const Value& value(std::size_t index) const;
  /// Fault when omitted or not a tensor.
  const Tensor& input(std::size_t index) const;
  /// Null when omitted.
  const Tensor* find_input(std::size_t index) const;
  /// All inputs from `first` on, of a variadic parameter.
  std::vector<const Tensor*> inputs_from(std::size_t first = 0) const;

  /// What the schema's type constraints say of an output: the type of an input under the same constraint, or the only type allowed;
  /// undefined when neither decides.
  ElementType output_type(std::size_t index) const;
  /// The element type that an integer attribute names for an output; `fallback` when it is absent or 0, Fault when the output cannot have it.
  ElementType named_type(std::string_view attribute, ElementType fallback, std::size_t output = 0) const;
  /// Ignored where the node omits the output. The executor rounds reals and wraps integers to the element type.
  void set_output(std::size_t index, Value value);

  /// What a kernel makes of attributes alone: made once and kept for later runs, but in functions, where each call may bind other attributes. A
  /// kernel has one such form, of one type for each node.
  template <class T>
  std::shared_ptr<const T> derived(const std::function<T()>& make) const {
    return std::static_pointer_cast<const T>(derived_form([&] { return std::make_shared<const T>(make()); }));
  }

  /// Zeros, false or empty strings.
  Tensor make(ElementType type, Dims dims) const { return Tensor(memory(), type, std::move(dims)); }
  /// Every element must be written before it is read.
  Tensor make_unset(ElementType type, Dims dims) const { return Tensor::unset(memory(), type, std::move(dims)); }
  Tensor scalar(ElementType type, double value) const;
  /// A tensor of an attribute.
  Tensor constant(const ir::Tensor& tensor) const;
  Tensor constant(const ir::SparseTensor& tensor) const;
  const MemoryPtr& memory() const;

  /// Reals narrower than float64 are not rounded between nodes.
  bool is_unrounded() const;
  /// The errors that contractions of reals add in a noisy run; null in others, and in nodes on quantized numbers, whose products are exact.
  const Noise* noise() const;
  /// Each result sums up so many terms: NoiseRule::Length::last_axis takes that in place of the size of the last axis.
  void sums_over(std::int64_t terms) { summed_ = terms; }
  /// In a run over edges what moves numbers before they are quantized; null in others, and in nodes on constants and sizes.
  const Edges* edges() const;
  /// Of this node in its graph, for keys of random numbers.
  std::size_t node_index() const { return node_index_; }
  ThreadPool& threads() const;
  /// Null when the threads multiply all matrices.
  exec::ProductDevice* products() const;
  /// Null where no other run multiplies by the same matrices.
  SharedFactors* shared_factors() const;
  /// Fault when the run is cancelled or out of time. For stretches of more than some milliseconds in one task of for_range.
  void check_alive() const;
  /// As ThreadPool::for_range, with check_alive() every few milliseconds between calls of `body`.
  void for_range(std::int64_t count, std::int64_t grain,
                 const std::function<void(std::int64_t, std::int64_t)>& body) const;
  /// A generator seeded by the node's attribute `seed`, as numpy's RandomState is, else by the run's seed and the location of the node, so that
  /// runs repeat.
  std::mt19937 random() const;

  /// Runs a graph attribute on these inputs.
  std::vector<Value> run_body(std::string_view attribute, std::vector<Value> inputs);
  /// A value of the graph that this node is in; Fault when there is none of that name.
  ir::ValueId value_named(std::string_view name) const;
  /// Runs anew what leads to `target` in the graph of this node, with `values` for the values `given`, and keeps all that is read and written. In
  /// the order of execution; nothing when `target` is given. Fault when it takes another input of the graph.
  std::vector<TracedNode> trace(ir::ValueId target, std::span<const ir::ValueId> given, std::span<const Value> values);
  /// To be called before every pass of a loop: Fault when there were too many, the time is over or the run is cancelled.
  void check_iteration(std::uint64_t done) const;

 private:
  friend class Run;
  std::shared_ptr<const void> derived_form(const std::function<std::shared_ptr<const void>()>& make) const;
  bool is_on_doubles() const;
  void disturb_input(const NoiseRule& rule);

  Run& run_;
  Frame& frame_;
  std::size_t node_index_;
  const ir::Node* node_;
  const spec::OpSchema* schema_;
  std::vector<const Value*> inputs_;
  std::optional<std::int64_t> summed_;  ///< what sums_over said
  Value disturbed_;
  std::vector<Value> outputs_;
};

/// Calls check_alive() every few milliseconds of a long loop that says how much it does.
class Pace {
 public:
  explicit Pace(const KernelContext& context) : context_(context) {}
  /// `steps`: of some nanoseconds each.
  void advance(std::int64_t steps) {
    if ((left_ -= steps) > 0) return;
    left_ = most;
    context_.check_alive();
  }

 private:
  static constexpr std::int64_t most = 1 << 20;
  const KernelContext& context_;
  std::int64_t left_ = most;
};

using Kernel = void (*)(KernelContext&);

/// Filled by the `register_<basename>` function of each file in reference/ops.
class KernelRegistry : public spec::VersionRegistry<Kernel, KernelTraits> {};

/// All of reference/ops; made once.
const KernelRegistry& kernel_registry();

/// What is known of the operator of a node where these opsets are imported; nothing where the operator is not known.
const KernelTraits& traits_of(const ir::Node& node, std::span<const ir::OpsetImport> opsets,
                              const spec::OpTable& table);

}  // namespace onnxkit::reference
