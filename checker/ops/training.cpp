// ai.onnx.preview.training: the optimizers take tensors X, their gradients and what they keep of each (k tensors), group after group, and
// give the new X and what they keep. Gradient gives one derivative for each of the tensors that `xs` names.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

constexpr std::string_view domain_training = "ai.onnx.preview.training";
constexpr std::size_t first_tensor = 2;  // behind learning rate and update count

void check_group_shape(InferContext& context, std::size_t x, std::size_t input) {
  if (const Shape* shape = context.input_shape(x))
    require_shape(context, input, *shape, "its shape differs from the shape of the tensor it belongs to");
}

void infer_optimizer(InferContext& context, std::size_t kept) {
  require_single_element(context, 0, "the learning rate must be a scalar");
  require_single_element(context, 1, "the update count must be a scalar");
  const std::size_t given = context.input_count() < first_tensor ? 0 : context.input_count() - first_tensor;
  const std::size_t groups = kept + 2;
  if (given % groups != 0) {
    context.error({.code = "divisibility",
                   .at = at_node(),
                   .message = fmt::format("each tensor requires its gradient and {} more inputs", kept),
                   .expected = fmt::format("a multiple of {} inputs after the update count", groups),
                   .found = std::to_string(given)});
    return;
  }
  const std::size_t tensors = given / groups;
  for (std::size_t i = tensors; i < given; ++i)
    check_group_shape(context, first_tensor + i % tensors, first_tensor + i);
  if (context.output_count() != tensors * (kept + 1)) {
    context.error({.code = "output-count",
                   .at = at_node(),
                   .message = "each tensor and each of its states requires an output",
                   .expected = fmt::format("{} outputs", tensors * (kept + 1)),
                   .found = fmt::format("{} outputs", context.output_count())});
    return;
  }
  for (std::size_t i = 0; i < context.output_count(); ++i) context.copy_type(first_tensor + i % tensors, i);
}

void infer_one_kept(InferContext& context) { infer_optimizer(context, 1); }
void infer_two_kept(InferContext& context) { infer_optimizer(context, 2); }

void infer_gradient(InferContext& context) {
  const auto xs = context.strings("xs");
  const auto zs = context.strings("zs");
  if (!xs) return;
  const std::size_t named = xs->size() + (zs ? zs->size() : 0);
  if (named != context.input_count()) {
    context.error({.code = "shape-mismatch",
                   .at = at_attribute("xs"),
                   .message = "xs and zs name a different number of tensors than the node has inputs",
                   .expected = fmt::format("{} names", context.input_count()),
                   .found = fmt::format("{} names", named)});
  }
  for (std::size_t i = 0; i < xs->size() && i < context.output_count(); ++i) context.copy_type(i, i);
}

}  // namespace

void register_training(InferRegistry& registry) {
  registry.add(domain_training, "Adagrad", all_versions(), infer_one_kept);
  registry.add(domain_training, "Momentum", all_versions(), infer_one_kept);
  registry.add(domain_training, "Adam", all_versions(), infer_two_kept);
  registry.add(domain_training, "Gradient", all_versions(), infer_gradient);
}

}  // namespace onnxkit::checker
