#pragma once

#include <string_view>

#include "libonnxkit/plan/staged.h"
#include "libonnxkit/plan/subject.h"

namespace onnxkit::plan {

/// When a pass runs; those of one stage in the order of their names.
enum class Stage : std::uint8_t {
  calls,      ///< of functions; with what is constant, before sizes split a model
  fold,       ///< what is constant
  clean,      ///< what is computed twice, what does nothing
  recognise,  ///< operators that exporters wrote with others: GELU, LayerNormalization
  combine,    ///< of what was recognised: attention
  weights,    ///< into weights of neighbours: BatchNormalization
};

/// Whether `simplify` runs a pass over models that people keep, in opsets from 7 on.
enum class Simplifies : std::uint8_t { no, on_request, yes };

/// One idea, ONNX to ONNX: the model computes the same behind it, by the definitions of the operators, which is how the tests prove it. What a pass
/// writes is of the opset that the model imports.
struct Pass {
  std::string_view name;  ///< of its file, and what --without-pass names
  Stage stage = Stage::clean;
  /// Whether it changed anything. Errors: those of the evaluator.
  Result<bool> (*run)(Subject& subject) = nullptr;
  /// Computes the same numbers in the same order: a plan of doubles may use it.
  bool is_exact = false;
  /// Makes operators that only a backend with steps over integers computes as such.
  bool wants_integer_steps = false;
  /// Trades memory for fewer steps: for backends on which starting a step takes long.
  bool wants_few_steps = false;
  Simplifies simplifies = Simplifies::no;
};

/// Filled by the register function of each file in `passes/`.
class PassRegistry : public StagedPasses<Pass> {};

/// All of passes/; made once.
const PassRegistry& pass_registry();

}  // namespace onnxkit::plan
