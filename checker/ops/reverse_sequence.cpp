// ReverseSequence: turns the first sequence_lens[i] entries of each batch entry round. One of the first two axes is time, the other the batch.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

bool axes_are_wrong(InferContext& context, std::int64_t batch, std::int64_t time) {
  bool wrong = false;
  const auto complain = [&](std::string_view attribute, std::string message, std::string expected, std::int64_t found) {
    wrong = true;
    context.error({.code = "attribute-value",
                   .at = at_attribute(attribute),
                   .message = std::move(message),
                   .expected = std::move(expected),
                   .found = std::to_string(found)});
  };
  if (batch != 0 && batch != 1) complain("batch_axis", "the batch axis must be 0 or 1", "0 or 1", batch);
  if (time != 0 && time != 1) complain("time_axis", "the time axis must be 0 or 1", "0 or 1", time);
  if (!wrong && batch == time)
    complain("time_axis", "the time and batch axes must differ", std::to_string(1 - batch), time);
  return wrong;
}

void infer_reverse_sequence(InferContext& context) {
  context.copy_shape(0, 0);
  const std::int64_t batch = context.integer("batch_axis", 1), time = context.integer("time_axis", 0);
  if (axes_are_wrong(context, batch, time) || rank_below(context, 0, 2) || rank_differs(context, 1, 1)) return;
  const Shape* data = context.input_shape(0);
  const Shape* lengths = context.input_shape(1);
  if (!data || !lengths) return;
  require_equal(context, (*data)[static_cast<std::size_t>(batch)], lengths->front(),
                {.code = "shape-mismatch", .at = at_input(1), .message = "there must be one length per batch entry"});
}

}  // namespace

void register_reverse_sequence(InferRegistry& registry) {
  registry.add("ReverseSequence", all_versions(), infer_reverse_sequence, {.inputs = {{1, Role::time}}});
}

}  // namespace onnxkit::checker
