#include "libonnxkit/plan/precision.h"

#include <algorithm>
#include <map>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/arena.h"
#include "libonnxkit/plan/conversion.h"
#include "libonnxkit/plan/hidden_scores.h"
#include "libonnxkit/plan/step_edit.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::plan {

Result<Tensor> in_type(const Tensor& tensor, ElementType type) {
  std::vector<double> values(static_cast<std::size_t>(tensor.size()));
  decode(tensor.type(), tensor.bytes(), std::span<double>(values));
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(storage_bits(type)) / 8);
  encode(type, std::span<const double>(values), bytes);
  return Tensor::from_bytes(type, tensor.dims(), std::move(bytes));
}

namespace {

bool is_single_or_less(ElementType type) {
  return type == ElementType::float16 || type == ElementType::bfloat16 || type == ElementType::float32;
}

/// The buffer holds elements of another type from now on.
Result<void> change_type(Plan& plan, Buffer& buffer, ElementType type) {
  const auto count = buffer.bytes / (static_cast<std::uint64_t>(storage_bits(buffer.type)) / 8);
  if (buffer.home == Home::constant) {
    auto changed = in_type(plan.constants[buffer.index], type);
    if (!changed) return changed.error();
    plan.constants[buffer.index] = *std::move(changed);
  }
  buffer.type = type;
  buffer.bytes = count * static_cast<std::uint64_t>(storage_bits(type)) / 8;
  return {};
}

bool is_exact(const Step& step) { return step.parameters && step.parameters->is_exact(); }

/// One plan on its way to narrow values.
class Narrowing {
 public:
  Narrowing(Plan& plan, ElementType type) : plan_(plan), type_(type), is_narrow_(plan.buffers.size(), false) {}

  Result<void> run() {
    choose();
    for (std::size_t b = 0; b < is_narrow_.size(); ++b) {
      if (!is_narrow_[b]) continue;
      if (auto changed = change_type(plan_, plan_.buffers[b], type_); !changed) return changed;
    }
    std::vector<Step> steps = std::move(plan_.steps);
    plan_.steps.clear();
    for (Step& step : steps) add(std::move(step));
    place_buffers(plan_);
    return {};
  }

 private:
  bool is_wide(const View& view) const {
    const Buffer& buffer = plan_.buffers[view.buffer];
    return buffer.type == ElementType::float32 && !is_narrow_[view.buffer];
  }
  /// Of a product that writes float32, what its epilogue reads stays so, which libraries want.
  std::size_t narrow_inputs(const Step& step) const {
    const bool keeps_rest = step.kind == product_step && is_wide(step.outputs[0]);
    return std::min(keeps_rest ? 2 : step.inputs.size(), step.kind.first_exact_input);
  }

  /// Values between steps on the device, and constants that others than maps and copies read.
  void choose() {
    std::vector<bool> stays = exact_buffers(plan_);
    const std::vector<bool> hidden = hidden_scores(plan_, type_);
    for (std::size_t b = 0; b < stays.size(); ++b) stays[b] = stays[b] || hidden[b];
    for (const Step& step : plan_.steps) {
      if (step.parameters && step.parameters->is_choice()) {
        const std::uint32_t from = step.inputs[0].buffer;
        const Home home = plan_.buffers[from].home;
        if (home == Home::input || home == Home::output || stays[from]) stays[step.outputs[0].buffer] = true;
      }
      if (!is_exact(step)) continue;
      for (const auto* views : {&step.inputs, &step.outputs})
        for (const View& view : *views) stays[view.buffer] = true;
    }
    const auto narrow_in = [&](Home home, std::uint32_t buffer) {
      const Buffer& of = plan_.buffers[buffer];
      if (of.type == ElementType::float32 && of.home == home && !stays[buffer] && !of.keeps_type)
        is_narrow_[buffer] = true;
    };
    for (std::uint32_t b = 0; b < plan_.buffers.size(); ++b) narrow_in(Home::arena, b);
    for (const Step& step : plan_.steps) {
      if (is_exact(step) || step.kind == copy_step)
        continue;  // a copy converts, and an output gets what the model says
      for (std::size_t i = 0; i < narrow_inputs(step); ++i)
        if (step.kind.narrows_constant(i)) narrow_in(Home::constant, step.inputs[i].buffer);
    }
  }

  void add(Step step) {
    for (View& view : step.inputs) follow(view);
    for (View& view : step.outputs) follow(view);
    if (is_exact(step) || step.kind == host_step) {
      plan_.steps.push_back(std::move(step));
      return;
    }
    const auto holds_wide = [](const View& view) { return view.type == ElementType::float32; };
    const bool is_mixed_copy = step.kind == copy_step && step.inputs[0].type != step.outputs[0].type;
    if (is_mixed_copy) {
      add_conversion(step.inputs[0], step.outputs[0], step.nodes);
      return;
    }
    if (step.kind == copy_step) {
      plan_.steps.push_back(std::move(step));
      return;
    }
    const std::size_t read = step.kind.reads == OperandTypes::any ? 0 : narrow_inputs(step);
    for (std::size_t i = 0; i < read; ++i)
      if (holds_wide(step.inputs[i])) step.inputs[i] = converted(step.inputs[i], step);
    std::vector<std::pair<View, View>> back;
    for (View& view : step.outputs) {
      if (!holds_wide(view) || step.kind.writes == OperandTypes::any) continue;
      const View to = view;
      view = new_value_like(plan_, type_, to);
      back.emplace_back(view, to);
    }
    const std::vector<std::string> nodes = step.nodes;
    plan_.steps.push_back(std::move(step));
    for (const auto& [from, to] : back) add_conversion(from, to, nodes, result_of);
  }

  /// Inputs of the plan are converted once, but for each convolution, whose image may get more channels.
  View converted(const View& from, const Step& step) {
    const bool is_shared = plan_.buffers[from.buffer].home == Home::input && step.kind != convolution_step;
    if (is_shared) {
      for (const auto& [known, narrow] : conversions_)
        if (known == from) return narrow;
    }
    const View once = without_repetition(from);
    const View part = new_value_like(plan_, type_, once), to = broadcast_to(part, from.dims);
    add_conversion(once, part, step.nodes, is_shared ? input_for : operand_of);
    if (is_shared) conversions_.emplace_back(from, to);
    return to;
  }

  void follow(View& view) const {
    if (view.buffer < is_narrow_.size() && is_narrow_[view.buffer]) view.type = type_;
  }

  void add_conversion(const View& from, const View& to, const std::vector<std::string>& nodes,
                      std::string_view converts = {}) {
    plan_.steps.push_back(conversion(from, to, nodes, converts));
  }

  Plan& plan_;
  ElementType type_;
  std::vector<bool> is_narrow_;
  std::vector<std::pair<View, View>> conversions_;  ///< of inputs of the plan
};

/// Large constants that keep their type, as matrices of bfloat16 would take four times the memory: those that only kernels read which convert, and
/// products, whose matrices a map converts in front of each.
std::vector<bool> kept_constants(const Plan& plan) {
  constexpr std::uint64_t least_bytes = std::uint64_t{64} << 10;
  std::vector<bool> keeps(plan.buffers.size(), false);
  for (std::size_t b = 0; b < keeps.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    keeps[b] = buffer.home == Home::constant && is_single_or_less(buffer.type) && buffer.bytes >= least_bytes;
  }
  for (const Step& step : plan.steps) {
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const bool is_converted = step.kind.reads == OperandTypes::any || (step.kind == product_step && i < 2);
      if (!is_converted) keeps[step.inputs[i].buffer] = false;
    }
  }
  return keeps;
}

void convert_matrices(Plan& plan, const std::vector<bool>& keeps) {
  std::vector<Step> steps = std::move(plan.steps);
  plan.steps.clear();
  for (Step& step : steps) {
    for (std::size_t i = 0; step.kind == product_step && i < 2; ++i) {
      const View from = step.inputs[i];
      if (!keeps[from.buffer]) continue;
      const View once = without_repetition(from), wide = new_value_like(plan, ElementType::float32, once);
      plan.steps.push_back(conversion(once, wide, step.nodes, operand_of));
      step.inputs[i] = broadcast_to(wide, from.dims);
    }
    plan.steps.push_back(std::move(step));
  }
}

}  // namespace

Result<void> widen(Plan& plan, bool rounds) {
  std::vector<bool> keeps = kept_constants(plan);
  convert_matrices(plan, keeps);
  keeps.resize(plan.buffers.size(), false);
  std::vector<bool> is_wide(plan.buffers.size(), false);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    Buffer& buffer = plan.buffers[b];
    is_wide[b] = buffer.home != Home::slot && is_single_or_less(buffer.type) && !keeps[b];
    if (!is_wide[b]) continue;
    if (auto changed = change_type(plan, buffer, ElementType::float64); !changed) return changed;
  }
  for (Step& step : plan.steps) {
    for (auto* views : {&step.inputs, &step.outputs}) {
      for (View& view : *views) {
        if (is_wide[view.buffer]) view.type = ElementType::float64;
      }
    }
    const Expression* const expression = step.parameters ? step.parameters->elementwise() : nullptr;
    if (expression && !expression->empty())
      step.parameters = step.parameters->with_elementwise(expression->in_double(rounds));
  }
  for (auto* ports : {&plan.inputs, &plan.outputs}) {
    for (Port& port : *ports) {
      if (is_wide[port.buffer]) port.type = ElementType::float64;
    }
  }
  place_buffers(plan);
  return {};
}

Result<void> narrow(Plan& plan, ElementType type) { return Narrowing(plan, type).run(); }

}  // namespace onnxkit::plan
