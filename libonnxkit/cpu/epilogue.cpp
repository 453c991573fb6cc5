#include "libonnxkit/cpu/epilogue.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/epilogue_links.h"

namespace onnxkit::cpu {
namespace {

using plan::EpilogueLink;
using plan::Expression;

constexpr std::size_t most_operands = 32;

/// What kernels do to sums while they store them.
struct Storing {
  std::optional<std::size_t> bias, residual;  ///< inputs behind the sum
  bool clamps = false;
  float lower = -std::numeric_limits<float>::infinity(), upper = std::numeric_limits<float>::infinity();

  /// Whether that can do what the link does, too.
  bool take(const EpilogueLink& link, std::span<const View> inputs) {
    const auto bound = static_cast<float>(link.factor);
    switch (link.kind) {
      case EpilogueLink::Kind::add:
        return !clamps && link.factor == 1 && add(link.input - 1, inputs[link.input - 1]);
      case EpilogueLink::Kind::relu:
      case EpilogueLink::Kind::maximum:
        if (bound > upper) return false;
        lower = std::max(lower, bound);
        return clamps = true;
      case EpilogueLink::Kind::minimum:
        if (bound < lower) return false;
        upper = std::min(upper, bound);
        return clamps = true;
      default:
        return false;
    }
  }

 private:
  bool add(std::size_t input, const View& view) {
    if (view.type != ElementType::float32) return false;
    const bool is_side_by_side = view.strides[1] == 1 || view.dims[1] == 1;
    const bool is_row = view.strides[0] == 0 && is_side_by_side;
    if (is_row && !bias && !residual) return bias = input, true;
    if (is_side_by_side && !residual) return residual = input, true;
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
  Storing storing;
  auto done = plan::sum_of(expression);
  for (const EpilogueLink& link : plan::epilogue_links_of(expression)) {
    if (expression.lane(link.end) != plan::Lane::f32 || !storing.take(link, made->inputs_)) break;
    done = link.end;
  }
  made->bias_ = storing.bias;
  made->residual_ = storing.residual;
  made->clamps_ = storing.clamps;
  made->lower_ = storing.lower;
  made->upper_ = storing.upper;
  if (done == expression.last()) return made;
  const Expression rest = done ? expression.behind(*done) : expression;
  std::vector<ElementType> types = {ElementType::float32};
  std::array<bool, most_operands> ones{};
  for (std::size_t i = 0; i < made->inputs_.size(); ++i) {
    types.push_back(made->inputs_[i].type);
    ones[i + 1] = made->inputs_[i].strides[0] == 0 && made->inputs_[i].strides[1] == 0;
  }
  auto program = Program::make(rest, types, std::span(ones).first(types.size()), ElementType::float32);
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
