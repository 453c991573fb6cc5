#include "libonnxkit/cuda/guard_masks.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/arena.h"
#include "libonnxkit/plan/number_range.h"
#include "libonnxkit/plan/step_edit.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::cuda {
namespace {

using plan::Dims;
using plan::Expression;
using plan::Home;
using plan::Instruction;
using plan::Lane;
using plan::NumberRange;
using plan::Operation;
using plan::Plan;
using plan::Step;
using plan::View;

constexpr double least_hidden = -1e30, minus_infinity = -std::numeric_limits<double>::infinity();

/// What a map writes.
NumberRange range_of(const Step& map) {
  const Expression& expression = static_cast<const plan::MapParameters&>(*map.parameters).expression;
  std::vector<ElementType> inputs;
  for (const View& view : map.inputs) inputs.push_back(view.type);
  return plan::in_lane(plan::ranges_of(expression, inputs).back(), plan::lane_of(map.outputs[0].type));
}

/// Whether two maps write the same numbers.
bool is_equal(const Step& a, const Step& b) {
  const auto code = [](const Step& step) -> const std::vector<Instruction>& {
    return static_cast<const plan::MapParameters&>(*step.parameters).expression.code();
  };
  return a.inputs == b.inputs && code(a) == code(b) && a.outputs[0].dims == b.outputs[0].dims &&
         a.outputs[0].type == b.outputs[0].type && a.outputs[0].strides == b.outputs[0].strides &&
         a.outputs[0].offset == b.outputs[0].offset;
}

/// A mask that has been seen to.
struct Guarded {
  View given, mask;
  const Step* writer = nullptr;  ///< the map that alone writes it
  std::optional<View> greatest;  ///< by row; nothing where each row sees a key
};

class Guard {
 public:
  explicit Guard(Plan& plan) : plan_(plan), uses_(plan) {}

  bool run() {
    std::vector<Step> steps = std::move(plan_.steps);
    plan_.steps.clear();
    for (std::size_t at = 0; at < steps.size(); ++at)
      writers_.push_back(steps[at].kind == plan::map_step ? &steps[at] : nullptr);
    bool changes = false;
    std::vector<Step> result;
    for (Step& step : steps) {
      if (!is_candidate(step)) {
        result.push_back(step);
        continue;
      }
      changes = true;
      add(result, step);
    }
    plan_.steps = std::move(result);
    return changes;
  }

 private:
  /// Of a size at which a pass more pays, in a form that cuDNN takes.
  static bool is_candidate(const Step& step) {
    constexpr double least_multiplications = double{1 << 22};
    if (step.kind != plan::attention_step || step.inputs.size() < 4) return false;
    const auto& parameters = static_cast<const plan::AttentionParameters&>(*step.parameters);
    const View &q = step.inputs[0], &mask = step.inputs[3];
    return !parameters.is_causal && parameters.softcap == 0 && domain_of(mask.type) == Domain::real &&
           static_cast<double>(q.size()) * static_cast<double>(step.inputs[1].dims[2]) >= least_multiplications;
  }

  static Step map_of(Expression expression, std::vector<View> inputs, const View& to, const Step& of) {
    auto parameters = std::make_shared<plan::MapParameters>();
    parameters->expression = std::move(expression);
    return {.kind = plan::map_step,
            .inputs = std::move(inputs),
            .outputs = {to},
            .parameters = std::move(parameters),
            .nodes = of.nodes};
  }

  /// The map that alone writes what a mask is a view of.
  const Step* writer_of(const View& mask) const {
    const auto& writers = uses_.writers[mask.buffer];
    return writers.size() == 1 ? writers_[writers.front()] : nullptr;
  }

  View greatest_of_rows(std::vector<Step>& steps, const View& mask, const Step& of) {
    View greatest = plan::new_value(plan_, ElementType::float32, Dims(mask.dims.begin(), mask.dims.end() - 1));
    auto parameters = std::make_shared<plan::ReduceParameters>();
    parameters->reduction = plan::Reduction::maximum;
    steps.push_back({.kind = plan::reduce_step,
                     .inputs = {mask},
                     .outputs = {greatest},
                     .parameters = std::move(parameters),
                     .nodes = of.nodes});
    greatest.dims.push_back(1);
    greatest.strides.push_back(0);
    return greatest;
  }

  Guarded guard(std::vector<Step>& steps, const View& given, const Step& of) {
    Guarded guarded{.given = given, .mask = given, .writer = writer_of(given), .greatest = {}};
    const NumberRange range = guarded.writer ? range_of(*guarded.writer) : NumberRange::unknown(Lane::f32);
    const bool is_known = !range.nan && !range.plus_infinity, may_hide = !is_known || range.minus_infinity;
    const bool is_bounded = is_known && range.least >= least_hidden && range.most <= -least_hidden;
    if (is_bounded && !may_hide) return guarded;
    if (!is_bounded) {
      Expression bounded;
      const auto number = bounded.input(0, Lane::f32);
      const auto hidden = bounded.apply(Operation::equal, number, bounded.constant(Lane::f32, minus_infinity));
      bounded.apply(Operation::select, hidden, number,
                    bounded.apply(Operation::maximum, number, bounded.constant(Lane::f32, least_hidden)));
      guarded.mask = plan::new_value(plan_, ElementType::float32, given.dims);
      steps.push_back(map_of(std::move(bounded), {given}, guarded.mask, of));
    }
    if (may_hide) guarded.greatest = greatest_of_rows(steps, guarded.mask, of);
    return guarded;
  }

  void add(std::vector<Step>& steps, Step step) {
    const Dims scores = step.inputs[3].dims;
    const View given = plan::without_repetition(step.inputs[3]);
    if (plan_.buffers[given.buffer].home == Home::constant) {
      step.inputs[3].buffer = bounded_constant(given.buffer);
      steps.push_back(std::move(step));
      return;
    }
    // What is written in parts may be written between two readers.
    const bool is_whole = uses_.writers[given.buffer].size() < 2;
    const Step* const writer = writer_of(given);
    auto known = std::find_if(all_.begin(), all_.end(), [&](const Guarded& one) {
      const bool is_same = writer && one.writer && is_equal(*one.writer, *writer);
      View alike = one.given;
      alike.buffer = given.buffer;
      return one.given == given || (is_same && alike == given);
    });
    if (known == all_.end() || !is_whole) known = all_.insert(all_.end(), guard(steps, given, step));
    const Guarded guarded = *known;
    auto parameters =
        std::make_shared<plan::AttentionParameters>(static_cast<const plan::AttentionParameters&>(*step.parameters));
    parameters->leaves_blind = true;
    const auto of_blind = parameters->blind;
    step.parameters = std::move(parameters);
    step.inputs[3] = plan::broadcast_to(guarded.mask, scores);
    const View to = step.outputs[0];
    steps.push_back(step);
    if (!guarded.greatest) return;
    Expression seen;
    const auto number = seen.input(0, Lane::f32);
    const auto blind = seen.apply(Operation::equal, seen.input(1, Lane::f32), seen.constant(Lane::f32, minus_infinity));
    seen.apply(Operation::select, blind, seen.constant(Lane::f32, of_blind), number);
    steps.push_back(map_of(std::move(seen), {to, plan::broadcast_to(*guarded.greatest, to.dims)}, to, step));
  }

  std::uint32_t bounded_constant(std::uint32_t buffer) {
    const plan::Buffer of = plan_.buffers[buffer];
    const onnxkit::Tensor& content = plan_.constants[of.index];
    std::vector<double> numbers(static_cast<std::size_t>(content.size()));
    decode(content.type(), content.bytes(), std::span<double>(numbers));
    const auto is_too_low = [](double number) { return number < least_hidden && number != minus_infinity; };
    if (std::none_of(numbers.begin(), numbers.end(), is_too_low)) return buffer;
    for (double& number : numbers) number = is_too_low(number) ? least_hidden : number;
    std::vector<std::byte> bytes(content.bytes().size());
    encode(content.type(), std::span<const double>(numbers), bytes);
    auto made = Tensor::from_bytes(content.type(), content.dims(), std::move(bytes));
    if (!made) return buffer;
    plan_.buffers.push_back(of);
    plan_.buffers.back().index = static_cast<std::uint32_t>(plan_.constants.size());
    plan_.constants.push_back(*std::move(made));
    return static_cast<std::uint32_t>(plan_.buffers.size() - 1);
  }

  Plan& plan_;
  plan::BufferUses uses_;
  std::vector<const Step*> writers_;  ///< maps by the number of the step
  std::vector<Guarded> all_;
};

}  // namespace

void guard_masks(Plan& plan) {
  if (!Guard(plan).run()) return;
  plan::drop_unused_steps(plan);
  plan::place_buffers(plan);
}

}  // namespace onnxkit::cuda
