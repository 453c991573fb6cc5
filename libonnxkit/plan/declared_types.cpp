#include "libonnxkit/plan/declared_types.h"

#include <algorithm>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/arena.h"
#include "libonnxkit/plan/conversion.h"
#include "libonnxkit/plan/step_edit.h"
#include "libonnxkit/plan/steps.h"
#include "libonnxkit/plan/whole_copies.h"

namespace onnxkit::plan {
namespace {

class Declaring {
 public:
  explicit Declaring(Plan& plan) : plan_(plan), uses_(plan), is_changed_(plan.buffers.size(), false) {}

  void run() {
    choose();
    if (std::find(is_changed_.begin(), is_changed_.end(), true) == is_changed_.end()) return;
    for (std::size_t b = 0; b < is_changed_.size(); ++b) {
      if (!is_changed_[b]) continue;
      Buffer& buffer = plan_.buffers[b];
      buffer.bytes /= static_cast<std::uint64_t>(storage_bits(buffer.type) / storage_bits(buffer.declared));
      buffer.type = buffer.declared;
    }
    std::vector<Step> steps = std::move(plan_.steps);
    plan_.steps.clear();
    for (Step& step : steps) add(std::move(step));
    read_inputs_in_place(plan_);
    write_outputs_in_place(plan_, {});
    place_buffers(plan_);
  }

 private:
  void choose() {
    for (std::size_t b = 0; b < is_changed_.size(); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      is_changed_[b] =
          buffer.home == Home::arena && buffer.type == ElementType::float32 && is_16_bit_real(buffer.declared);
    }
    for (const Step& step : plan_.steps) {
      if (is_conversion(step)) take_conversion(step);
    }
    const std::vector<bool> stays = exact_buffers(plan_);
    for (std::size_t b = 0; b < stays.size(); ++b)
      if (stays[b]) is_changed_[b] = false;
  }

  /// What a node only converts holds the same numbers.
  void take_conversion(const Step& step) {
    const std::uint32_t from = step.inputs[0].buffer, to = step.outputs[0].buffer;
    const ElementType type = is_changed_[from] ? plan_.buffers[from].declared : step.inputs[0].type;
    Buffer& buffer = plan_.buffers[to];
    if (!is_16_bit_real(type) || buffer.home != Home::arena || buffer.type != ElementType::float32 ||
        buffer.declared != ElementType::undefined || uses_.writers[to].size() != 1)
      return;
    buffer.declared = type;
    is_changed_[to] = true;
  }

  void add(Step step) {
    for (auto* views : {&step.inputs, &step.outputs})
      for (View& view : *views)
        if (is_changed_[view.buffer]) view.type = plan_.buffers[view.buffer].type;
    if (step.kind == copy_step && step.inputs[0].type != step.outputs[0].type)
      return add_conversion(step.inputs[0], step.outputs[0], step.nodes);
    if (is_conversion(step) && step.inputs[0].type == step.outputs[0].type) {
      step.kind = copy_step;
      step.parameters = nullptr;
    }
    const bool takes_one_type = step.kind.reads == OperandTypes::equal && step.kind != host_step;
    if (takes_one_type && !is_of_one_type(step)) return add_wide(std::move(step));
    plan_.steps.push_back(std::move(step));
  }

  static std::size_t compared_inputs(const Step& step) {
    return std::min(step.inputs.size(), step.kind.first_exact_input);
  }
  static bool is_of_one_type(const Step& step) {
    const ElementType type = step.inputs[0].type;
    const auto differs = [type](const View& view) { return is_floating(view.type) && view.type != type; };
    const auto last = step.inputs.begin() + static_cast<std::ptrdiff_t>(compared_inputs(step));
    return std::none_of(step.inputs.begin(), last, differs) &&
           std::none_of(step.outputs.begin(), step.outputs.end(), differs);
  }

  /// With float32 in place of the narrower types.
  void add_wide(Step step) {
    for (std::size_t i = 0; i < compared_inputs(step); ++i) {
      View& view = step.inputs[i];
      if (!is_16_bit_real(view.type)) continue;
      const View once = without_repetition(view), wide = wide_like(once);
      add_conversion(once, wide, step.nodes, operand_of);
      view = broadcast_to(wide, view.dims);
    }
    std::vector<std::pair<View, View>> back;
    for (View& view : step.outputs) {
      if (!is_16_bit_real(view.type)) continue;
      back.emplace_back(wide_like(view), view);
      view = back.back().first;
    }
    const std::vector<std::string> nodes = step.nodes;
    plan_.steps.push_back(std::move(step));
    for (const auto& [from, to] : back) add_conversion(from, to, nodes, result_of);
  }

  View wide_like(const View& like) {
    is_changed_.push_back(false);
    return new_value_like(plan_, ElementType::float32, like);
  }

  void add_conversion(const View& from, const View& to, const std::vector<std::string>& nodes,
                      std::string_view converts = {}) {
    plan_.steps.push_back(conversion(from, to, nodes, converts));
  }

  Plan& plan_;
  const BufferUses uses_;  ///< of the plan as it was
  std::vector<bool> is_changed_;
};

}  // namespace

void use_declared_types(Plan& plan) { Declaring(plan).run(); }

}  // namespace onnxkit::plan
