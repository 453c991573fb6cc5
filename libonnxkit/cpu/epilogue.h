#pragma once

#include <memory>

#include "libonnxkit/cpu/kernels/kernels.h"
#include "libonnxkit/cpu/map/program.h"
#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {

/// What a plan wants done with the sums of a product or a convolution, in terms of the kernels: a bias, a residual and a clamp in their stores, all
/// else by a program on finished blocks.
class StepEpilogue {
 public:
  /// `rows` x `columns` are the last two axes of the views here: the output's and those of the inputs behind the weights. Error not-supported.
  static Result<std::unique_ptr<StepEpilogue>> make(const plan::Expression& expression, std::vector<View> inputs);

  /// For one run, `offsets` elements into each input.
  Epilogue bind(const RunState& state, std::span<const std::int64_t> offsets);
  std::size_t inputs() const { return inputs_.size(); }

 private:
  static void finish(const void* state, float* block, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                     std::int64_t first_row, std::int64_t first_column);

  std::vector<View> inputs_;  ///< each of two axes
  std::optional<std::size_t> bias_, residual_;
  bool clamps_ = false;
  float lower_ = 0, upper_ = 0;
  std::optional<Program> program_;  ///< of the sum, then of all inputs
  std::vector<std::byte*> bases_;   ///< of the run at hand
};

}  // namespace onnxkit::cpu
