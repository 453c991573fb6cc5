#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "libonnxkit/plan/build.h"
#include "libonnxkit/plan/lowering.h"

namespace onnxkit::plan {

/// The nodes of a model on their way to steps.
class Lowerer {
 public:
  /// Both outlive it.
  Lowerer(Subject& subject, const BuildOptions& options)
      : subject_(subject), options_(options), views_(subject.graph().values.size()) {}

  /// Steps in the order of the nodes, buffers without places in the arena. Errors: those of BuildOptions::may_go_on.
  Result<Plan> run();
  /// One host step with all nodes.
  Plan run_on_host(const std::string& reason);

 private:
  friend class LowerCall;

  void add_inputs();
  void add_outputs();
  void lower_node(std::size_t index);
  void lower_on_host(std::size_t index, const std::string& reason);
  Unlowered try_lowering(std::size_t index);
  /// Forgets what the lowering that was tried has added to a plan of these numbers.
  void undo_lowering(std::size_t steps, std::size_t buffers, std::size_t constants);
  /// Of an input or output for which there is no view.
  std::string why_not_held(const char* what, ir::ValueId id) const;
  /// Of the steps from this one on.
  Unlowered refusal_of_backend(std::size_t first) const;

  std::uint32_t add_buffer(Home home, ElementType type, std::uint64_t bytes, std::size_t index = 0);
  View new_view(Home home, ElementType type, const Dims& dims, std::size_t index = 0);
  View slot();
  /// Where a value lies; nothing for what nobody has computed.
  const View* find(ir::ValueId id);
  void set_view(ir::ValueId id, View view);
  bool is_slot(const View& view) const { return plan_.buffers[view.buffer].home == Home::slot; }
  View add_constant(const Tensor& content);
  /// In row-major order, as the value's own element type.
  View as_declared(ir::ValueId id);
  void add_map(const Expression& expression, std::vector<View> inputs, const View& output);
  View converted(const View& view, ElementType type);
  /// A small constant in a type that holds its numbers; nothing for other values.
  std::optional<View> wider_constant(const View& view, ElementType type);
  void note_declared_types();
  void add_step(Step step);

  Subject& subject_;
  const BuildOptions& options_;
  Plan plan_;
  std::uint64_t table_bytes_ = 0;                    ///< of tables that lowerings made so far
  std::map<std::string, View, std::less<>> shared_;  ///< constants that several nodes may read, by what they hold
  std::vector<std::optional<View>> views_;           ///< by ValueId
  std::vector<ir::ValueId>
      changed_;       ///< views that the lowering which is tried has set, none of which was there before
  std::string node_;  ///< that is being lowered
  std::unordered_set<std::string> titles_;  ///< of nodes so far
};

/// Whether tensors of this type may lie in buffers: whole bytes for each element.
bool is_storable(ElementType type);
std::uint64_t bytes_of(ElementType type);

}  // namespace onnxkit::plan
