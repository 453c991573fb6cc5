#include "libonnxkit/running/verify.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/system/cgroup.h"
#include "libonnxkit/compare/metrics/compare.h"
#include "libonnxkit/ir/called_functions.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/ir/tensor/tensors.h"
#include "libonnxkit/running/run.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/spec/resolution.h"

namespace onnxkit::running {
namespace {

/// Rounding inside a composition may not be larger, as intermediate values are not rounded to their types.
constexpr double relative_bound = 1e-5, bound_to_largest = 1e-6;

double largest_finite(const Value& value) {
  double largest = 0;
  if (value.kind == ValueKind::tensor && domain_of(value.tensor.type()) == Domain::real) {
    std::vector<double> reals(static_cast<std::size_t>(value.tensor.size()));
    decode(value.tensor.type(), value.tensor.bytes(), reals);
    for (const double real : reals) {
      if (std::isfinite(real)) largest = std::max(largest, std::fabs(real));
    }
  }
  for (const Value& item : value.items) largest = std::max(largest, largest_finite(item));
  return largest;
}

/// The first operator that draws random numbers.
std::optional<std::string> random_operator(const ir::Model& model, const spec::OpTable& table) {
  const auto scopes = ir::graph_scopes(model);
  const spec::Resolution resolution(model, scopes, table);
  for (const auto& scope : scopes) {
    for (const spec::ResolvedNode& node : resolution.nodes(*scope->graph)) {
      if (node.schema && node.schema->non_deterministic) return std::string(node.schema->name);
    }
  }
  return std::nullopt;
}

/// The model itself is at fault, not a limit of the run.
bool is_fault(const Error& error) {
  return error.diagnostic.code == "kernel" || error.diagnostic.code == "not-supported";
}

std::optional<std::string> difference(const std::vector<NamedValue>& before, const std::vector<NamedValue>& after) {
  if (before.size() != after.size())
    return fmt::format("the number of outputs changed from {} to {}", before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const comparison::Tolerance tolerance = {relative_bound, bound_to_largest * largest_finite(before[i].value), 0};
    if (const auto found = comparison::difference(before[i].value, after[i].value, tolerance))
      return fmt::format("output {}: {}", quote(before[i].name), *found);
  }
  return std::nullopt;
}

/// What the initializers take in the reference, eight bytes an element.
double weight_bytes(const ir::Model& model) {
  double bytes = 0;
  ir::each_tensor(model, [&](const ir::Tensor& tensor, ir::TensorRole role) {
    const auto count = ir::element_count(tensor);
    if (role == ir::TensorRole::initializer && count) bytes += 8 * static_cast<double>(*count);
  });
  return bytes;
}

std::uint64_t usual_memory(double weights) {
  const double most = static_cast<double>(usable_memory()) / 4;
  return static_cast<std::uint64_t>(std::min(most, 0x1p30 + 4 * weights));
}

/// The first output that has another shape than the model declares: its promise does not hold for these inputs, and a conversion may rely on it.
std::optional<std::string> broken_promise(const ir::Graph& graph, const std::vector<NamedValue>& outputs) {
  for (std::size_t i = 0; i < graph.outputs.size() && i < outputs.size(); ++i) {
    const auto& type = graph.outputs[i].type;
    if (!type || !type->shape || outputs[i].value.kind != ValueKind::tensor) continue;
    const std::vector<ir::DeclaredDim>& declared = type->shape->dims;
    const std::vector<std::int64_t>& dims = outputs[i].value.tensor.dims();
    const bool fits =
        std::equal(declared.begin(), declared.end(), dims.begin(), dims.end(),
                   [](const ir::DeclaredDim& d, std::int64_t size) { return d.size().value_or(size) == size; });
    if (!fits) return outputs[i].name;
  }
  return std::nullopt;
}

std::vector<NamedValue> inputs_of(const RunReport& report) {
  std::vector<NamedValue> inputs;
  for (const RunInput& input : report.inputs) {
    if (input.value.kind != ValueKind::none) inputs.push_back({input.name, input.value});
  }
  return inputs;
}

/// What differs when both models run on the same inputs. Error: the converted model did not come to its end, though it may be right.
Result<std::optional<std::string>> difference_on(const Model& after, const RunReport& before,
                                                 const RunOptions& options) {
  const auto second = running::run(after, inputs_of(before), options);
  if (second) return difference(before.outputs, second->outputs);
  if (!is_fault(second.error())) return second.error();
  return std::optional(fmt::format("the converted model fails: {}", second.error().diagnostic.message));
}

VerifyReport not_compared(const Error& error) {
  std::string reason = fmt::format("the model could not be run to the end: {}", error.diagnostic.message);
  for (const std::string& note : error.diagnostic.notes) {
    if (note.starts_with(generated_with)) reason += "; " + note;
  }
  return {Equality::not_compared, std::move(reason)};
}

/// Sizes are computed in single precision, in which 10 times 2.3 is 23: a composition that computes them from float32 is right only when rounded.
bool equal_when_rounded(const Model& before, const Model& after, const RunReport& unrounded, RunOptions options) {
  options.unrounded = false;
  const auto first = running::run(before, inputs_of(unrounded), options);
  if (!first) return false;
  const auto differs = difference_on(after, *first, options);
  return differs && !*differs;
}

/// Without the functions that its graph does not call, of which a model may have any number; nothing where it calls all.
std::optional<Model> without_uncalled(const Model& model) {
  const ir::Model& whole = model.ir();
  if (!whole.graph) return std::nullopt;
  const std::vector<bool> called = ir::called_functions(whole, *whole.graph);
  if (std::find(called.begin(), called.end(), false) == called.end()) return std::nullopt;
  return Model(std::make_unique<ir::Model>(ir::clone(whole, called)));
}

Result<VerifyReport> compare_runs(const Model& before, const Model& after, const VerifyOptions& options) {
  Limits limits = options.context.limits(options.limits);
  const double bytes = weight_bytes(before.ir());
  if (limits.memory_bytes == 0) limits.memory_bytes = usual_memory(bytes);
  if (bytes > static_cast<double>(limits.memory_bytes))
    return VerifyReport{Equality::not_compared,
                        fmt::format("its weights alone need {:.0f} MB in the reference", bytes / 0x1p20)};
  RunOptions run_options;
  run_options.unrounded = true;
  run_options.seed = options.seed;
  run_options.limits = limits;
  run_options.dims = options.dims;
  run_options.context = options.context;
  run_options.allow_outside_data = options.allow_outside_data;

  const auto first = running::run(before, {}, run_options);
  if (!first && first.error().diagnostic.code == "unknown-dimension") return first.error();
  if (!first) {
    VerifyReport report = not_compared(first.error());
    report.location = first.error().diagnostic.location;
    return report;
  }
  const auto differs = difference_on(after, *first, run_options);
  if (!differs) return not_compared(differs.error());
  if (!*differs || equal_when_rounded(before, after, *first, run_options)) return VerifyReport{Equality::equal, {}};
  if (const auto output = broken_promise(*before.ir().graph, first->outputs))
    return VerifyReport{
        Equality::not_compared,
        fmt::format("with generated inputs output {} does not have its declared shape", quote(*output))};
  if (const auto random = random_operator(before.ir(), options.context.table()))
    return VerifyReport{Equality::not_compared, fmt::format("{} draws random numbers", *random)};
  return VerifyReport{Equality::different, **differs};
}

}  // namespace

Result<VerifyReport> verify_equal(const Model& before, const Model& after, const VerifyOptions& options) {
  const std::optional<Model> first = without_uncalled(before), second = without_uncalled(after);
  return compare_runs(first ? *first : before, second ? *second : after, options);
}

}  // namespace onnxkit::running
