#include "libonnxkit/plan/hidden_scores.h"

#include <algorithm>
#include <cmath>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/step_edit.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::plan {
namespace {

class Search {
 public:
  Search(const Plan& plan, ElementType type)
      : plan_(plan), uses_(plan), largest_(largest_finite(type)), answers_(plan.buffers.size()) {}

  std::vector<bool> run() {
    std::vector<bool> found(plan_.buffers.size(), false);
    for (const Step& step : plan_.steps)
      if (step.kind == softmax_step) (void)hides(step.inputs[0].buffer, most_steps);
    for (std::size_t b = 0; b < found.size(); ++b) found[b] = answers_[b].value_or(false);
    return found;
  }

 private:
  bool is_too_large(double number) const { return std::isfinite(number) && std::abs(number) > largest_; }

  static constexpr int most_steps = 64;  ///< one behind the other

  /// Whether numbers that are too large may be among those of the buffer, as far as so many steps in front of it tell.
  bool hides(std::uint32_t buffer, int steps) {
    if (steps == 0) return false;
    if (answers_[buffer]) return *answers_[buffer];
    answers_[buffer] = false;  // a step does not lead to itself
    answers_[buffer] = may_hold_too_large(buffer, steps);
    return *answers_[buffer];
  }

  /// Of what only the run tells, a mask of the caller or of the host may be such numbers.
  bool may_hold_too_large(std::uint32_t buffer, int steps) {
    const Buffer& of = plan_.buffers[buffer];
    if (of.home == Home::constant) return has_too_large(of);
    if (of.home == Home::input) return of.type == ElementType::float32;
    const auto reads_mask = [&](std::size_t reader) { return plan_.steps[reader].kind == attention_step; };
    if (std::ranges::any_of(uses_.readers[buffer], reads_mask)) return false;
    return std::ranges::any_of(uses_.writers[buffer],
                               [&](std::size_t writer) { return is_written_so(plan_.steps[writer], steps - 1); });
  }

  bool is_written_so(const Step& step, int steps) {
    if (step.kind == copy_step || step.kind == gather_step) return hides(step.inputs[0].buffer, steps);
    if (step.kind == host_step) return true;
    if (step.kind != map_step && step.kind != product_step) return false;
    const Expression* const expression = step.parameters->elementwise();
    if (!expression) return false;
    bool hides_some = takes_too_large(*expression);
    for (std::size_t i = step.kind == map_step ? 0 : 2; i < step.inputs.size(); ++i)
      hides_some = hides(step.inputs[i].buffer, steps) || hides_some;
    return hides_some;
  }

  /// Not as a bound of what it keeps.
  bool takes_too_large(const Expression& expression) const {
    const auto& code = expression.code();
    return std::ranges::any_of(code, [&](const Instruction& instruction) {
      const Operation operation = instruction.operation;
      if (operation != Operation::select && operation != Operation::add && operation != Operation::subtract &&
          operation != Operation::multiply)
        return false;
      for (int k = operation == Operation::select ? 1 : 0; k < arity_of(operation); ++k) {
        const Instruction& operand = code[instruction.operands[k]];
        if (operand.operation == Operation::constant && operand.lane != Lane::i64 && is_too_large(operand.real))
          return true;
      }
      return false;
    });
  }

  bool has_too_large(const Buffer& buffer) const {
    constexpr std::int64_t most_elements = 1 << 20;
    const Tensor& content = plan_.constants[buffer.index];
    if (!is_narrow_real(content.type()) || content.size() > most_elements) return false;
    std::vector<double> numbers(static_cast<std::size_t>(content.size()));
    decode(content.type(), content.bytes(), std::span<double>(numbers));
    return std::ranges::any_of(numbers, [&](double number) { return is_too_large(number); });
  }

  const Plan& plan_;
  BufferUses uses_;
  double largest_;
  std::vector<std::optional<bool>> answers_;
};

}  // namespace

std::vector<bool> hidden_scores(const Plan& plan, ElementType type) { return Search(plan, type).run(); }

}  // namespace onnxkit::plan
