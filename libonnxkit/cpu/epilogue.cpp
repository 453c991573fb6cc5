#include "libonnxkit/cpu/epilogue.h"

#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::cpu {
namespace {

using plan::Expression;
using plan::Instruction;
using plan::Lane;
using plan::Operation;

constexpr std::size_t most_operands = 32;

/// The instructions that read a number, each as often as it does.
std::size_t readers(const Expression& expression, Expression::Number of) {
  std::size_t count = 0;
  for (const Instruction& instruction : expression.code()) {
    for (int k = 0; k < plan::arity_of(instruction.operation); ++k) count += instruction.operands[k] == of;
  }
  return count;
}

/// The expression with what led to `at` taken for the sum itself.
Expression behind(const Expression& expression, Expression::Number at) {
  Expression rest;
  std::vector<Expression::Number> now(expression.code().size());
  const Expression::Number sum = rest.input(0, Lane::f32);
  for (Expression::Number i = 0; i < expression.code().size(); ++i) {
    Instruction instruction = expression.code()[i];
    if (i == at || (instruction.operation == Operation::input && instruction.index == 0)) {
      now[i] = sum;
      continue;
    }
    switch (instruction.operation) {
      case Operation::input:
        now[i] = rest.input(instruction.index, instruction.lane);
        break;
      case Operation::constant:
        now[i] = instruction.lane == Lane::i64 ? rest.integer(instruction.integer)
                                               : rest.constant(instruction.lane, instruction.real);
        break;
      case Operation::convert:
        now[i] = rest.convert(now[instruction.operands[0]], instruction.lane);
        break;
      case Operation::round_to:
        now[i] = rest.round_to(now[instruction.operands[0]], instruction.type);
        break;
      default:
        now[i] = rest.apply(instruction.operation, now[instruction.operands[0]], now[instruction.operands[1]],
                            now[instruction.operands[2]]);
    }
  }
  return rest;
}

/// Follows what is done to the sum as long as a kernel does it while it stores.
struct Peeling {
  const Expression& expression;
  std::span<const View> inputs;  ///< behind the sum
  std::optional<std::size_t> bias, residual;
  bool clamps = false;
  float lower = -std::numeric_limits<float>::infinity(), upper = std::numeric_limits<float>::infinity();
  Expression::Number at = 0;

  void run() {
    const auto& code = expression.code();
    for (Expression::Number i = 0; i < code.size(); ++i) {
      if (code[i].operation == Operation::input && code[i].index == 0) at = i;
    }
    while (take_next()) {
    }
  }

  bool take_next() {
    const auto& code = expression.code();
    if (readers(expression, at) != 1) return false;
    for (Expression::Number i = at + 1; i < code.size(); ++i) {
      const Instruction& next = code[i];
      if (plan::arity_of(next.operation) != 2 || (next.operands[0] != at && next.operands[1] != at)) continue;
      const Instruction& other = code[next.operands[0] == at ? next.operands[1] : next.operands[0]];
      if (!take(next.operation, other)) return false;
      at = i;
      return true;
    }
    return false;
  }

  bool take(Operation operation, const Instruction& other) {
    if (other.lane != Lane::f32) return false;
    if (operation == Operation::add && other.operation == Operation::input && !clamps) {
      const View& view = inputs[other.index - 1];
      if (view.type != ElementType::float32) return false;
      const bool is_row = view.strides[0] == 0 && view.strides[1] == 1;
      if (is_row && !bias && !residual) return bias = other.index - 1, true;
      if (view.strides[1] == 1 && !residual) return residual = other.index - 1, true;
      return false;
    }
    if (other.operation != Operation::constant) return false;
    const auto bound = static_cast<float>(other.real);
    if (std::isnan(bound)) return false;  // which a minimum passes on and a clamp does not
    if (operation == Operation::maximum && !(bound > upper)) {
      clamps = true;
      lower = std::max(lower, bound);
      return true;
    }
    if (operation == Operation::minimum && !(bound < lower)) {
      clamps = true;
      upper = std::min(upper, bound);
      return true;
    }
    return false;
  }
};

}  // namespace

Result<std::unique_ptr<StepEpilogue>> StepEpilogue::make(const plan::Expression& expression, std::vector<View> inputs) {
  auto made = std::make_unique<StepEpilogue>();
  made->inputs_ = std::move(inputs);
  made->bases_.resize(made->inputs_.size());
  if (expression.empty()) return made;
  if (made->inputs_.size() + 1 > most_operands) return make_error("not-supported", "an epilogue of too many operands");
  Peeling peeling{.expression = expression, .inputs = made->inputs_, .bias = {}, .residual = {}};
  peeling.run();
  made->bias_ = peeling.bias;
  made->residual_ = peeling.residual;
  made->clamps_ = peeling.clamps;
  made->lower_ = peeling.lower;
  made->upper_ = peeling.upper;
  if (peeling.at == expression.last()) return made;
  std::vector<ElementType> types = {ElementType::float32};
  std::array<bool, most_operands> ones{};
  for (std::size_t i = 0; i < made->inputs_.size(); ++i) {
    types.push_back(made->inputs_[i].type);
    ones[i + 1] = made->inputs_[i].strides[0] == 0 && made->inputs_[i].strides[1] == 0;
  }
  auto program =
      Program::make(behind(expression, peeling.at), types, std::span(ones).first(types.size()), ElementType::float32);
  if (!program) return program.error();
  made->program_ = *std::move(program);
  return made;
}

Epilogue StepEpilogue::bind(const RunState& state, std::span<const std::int64_t> offsets) {
  Epilogue bound;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::int64_t width = storage_bits(inputs_[i].type) / 8;
    bases_[i] = state.bases[inputs_[i].buffer] + (inputs_[i].offset + offsets[i]) * width;
  }
  if (bias_) bound.bias = reinterpret_cast<const float*>(bases_[*bias_]);
  if (residual_) {
    bound.residual = reinterpret_cast<const float*>(bases_[*residual_]);
    bound.residual_stride = inputs_[*residual_].strides[0];
  }
  bound.clamps = clamps_;
  bound.lower = lower_;
  bound.upper = upper_;
  if (program_) {
    bound.finish = finish;
    bound.state = this;
  }
  return bound;
}

void StepEpilogue::finish(const void* state, float* block, std::int64_t rows, std::int64_t columns,
                          std::int64_t row_stride, std::int64_t first_row, std::int64_t first_column) {
  const auto& self = *static_cast<const StepEpilogue*>(state);
  constexpr std::size_t near_bytes = 65536;
  alignas(64) std::byte near[near_bytes];
  const bool is_near = self.program_->scratch_bytes() <= near_bytes;
  const auto far = std::make_unique_for_overwrite<std::byte[]>(is_near ? 0 : self.program_->scratch_bytes());
  std::byte* const scratch = is_near ? near : far.get();
  std::array<BlockOperand, most_operands> operands;
  const std::int64_t together = std::max<std::int64_t>(1, Program::block / columns);
  for (std::int64_t column = 0; column < columns; column += Program::block) {
    const std::int64_t width = std::min(Program::block, columns - column);
    for (std::int64_t row = 0; row < rows; row += together) {
      float* const at = block + row * row_stride + column;
      operands[0] = {.data = reinterpret_cast<const std::byte*>(at), .row_stride = row_stride, .column_stride = 1};
      for (std::size_t i = 0; i < self.inputs_.size(); ++i) {
        const View& view = self.inputs_[i];
        const std::int64_t bytes = storage_bits(view.type) / 8;
        const std::int64_t offset = (first_row + row) * view.strides[0] + (first_column + column) * view.strides[1];
        operands[i + 1] = {
            .data = self.bases_[i] + offset * bytes, .row_stride = view.strides[0], .column_stride = view.strides[1]};
      }
      self.program_->run(std::span(operands).first(self.inputs_.size() + 1), operands[0],
                         std::min(together, rows - row), width, scratch);
    }
  }
}

}  // namespace onnxkit::cpu
