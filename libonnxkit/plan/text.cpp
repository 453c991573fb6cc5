#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/plan/plan.h"
#include "libonnxkit/plan/steps.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::plan {
namespace {

std::string buffer_text(const Plan& plan, std::uint32_t index) {
  const Buffer& buffer = plan.buffers[index];
  switch (buffer.home) {
    case Home::arena:
      return fmt::format("@{}", buffer.offset);
    case Home::constant:
      return fmt::format("constant {}", buffer.index);
    case Home::input:
      return fmt::format("input {}", buffer.index);
    case Home::output:
      return fmt::format("output {}", buffer.index);
    default:
      return fmt::format("slot {}", buffer.index);
  }
}

std::string operand_text(const Plan& plan, const View& view) {
  const std::string place = buffer_text(plan, view.buffer);
  if (plan.buffers[view.buffer].home == Home::slot) return place;
  const std::string shift = view.offset == 0 ? "" : fmt::format("+{}", view.offset);
  return fmt::format("{}{} {}", place, shift, text_of(view));
}

std::string list_of(const Plan& plan, const std::vector<View>& views) {
  std::vector<std::string> parts;
  for (const View& view : views) parts.push_back(operand_text(plan, view));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> quoted(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& name : names) result.push_back(quote(name));
  return result;
}

std::string numbers_text(const BlockedWeights& blocks) {
  const std::string text = fmt::format("numbers of {} bits in blocks of {}", blocks.bits, blocks.size);
  const bool is_rounded = blocks.rounded_to != ElementType::undefined;
  return is_rounded ? fmt::format("{} as {}", text, name_of(blocks.rounded_to)) : text;
}

}  // namespace

std::string text_of(const Plan& plan) {
  std::string text;
  for (const Port& port : plan.inputs)
    text += fmt::format("input {} = {}\n", quote(port.name), buffer_text(plan, port.buffer));
  for (const Step& step : plan.steps) {
    const std::string parameters = step.parameters ? step.parameters->text() : "";
    text += fmt::format("{} {} <- {}{}\n", step.kind.name, list_of(plan, step.outputs), list_of(plan, step.inputs),
                        parameters.empty() ? "" : " | " + parameters);
    const std::string served = step.converts.empty() ? "" : fmt::format("converts {} ", step.converts);
    if (!step.nodes.empty()) text += fmt::format("    {}{}\n", served, fmt::join(quoted(step.nodes), ", "));
    if (!step.stays.empty()) text += fmt::format("    stays {}\n", step.stays);
    if (!step.by.empty()) text += fmt::format("    by {}\n", step.by);
  }
  for (const Port& port : plan.outputs)
    text += fmt::format("output {} = {}\n", quote(port.name), buffer_text(plan, port.buffer));
  text += fmt::format("steps {}, arena {} bytes, {}passes: {}\n", plan.steps.size(), plan.arena_bytes,
                      plan.generic ? "from a generic model, " : "",
                      plan.passes.empty() ? "none" : fmt::format("{}", fmt::join(plan.passes, ", ")));
  if (!plan.order.empty()) text += fmt::format("order: {}\n", plan.order);
  if (plan.rest)
    text +=
        fmt::format("the rest is planned when the run tells the sizes of: {}\n", fmt::join(quoted(plan.open), ", "));
  return text;
}

std::string ProductParameters::text() const {
  if (!blocks) return epilogue.text();
  const std::string packed = numbers_text(*blocks);
  return epilogue.empty() ? packed : packed + ", " + epilogue.text();
}

std::string GroupedProductParameters::text() const { return blocks ? numbers_text(*blocks) : ""; }

std::string ConvolutionParameters::text() const {
  const std::string where = fmt::format("groups {}, strides {}, dilations {}, pads {}", groups, fmt::join(strides, " "),
                                        fmt::join(dilations, " "), fmt::join(pads, " "));
  return epilogue.empty() ? where : where + ", " + epilogue.text();
}

std::string IntegerConvolutionParameters::text() const {
  std::string text = fmt::format("groups {}, strides {}, dilations {}, pads {}", groups, fmt::join(strides, " "),
                                 fmt::join(dilations, " "), fmt::join(pads, " "));
  if (requantization) text += fmt::format(", requantized to {} ... {}", requantization->lower, requantization->upper);
  return text;
}

std::string PoolParameters::text() const {
  return fmt::format("{}, kernel {}, strides {}, dilations {}, pads {}{}", is_maximum ? "maximum" : "average",
                     fmt::join(kernel, " "), fmt::join(strides, " "), fmt::join(dilations, " "), fmt::join(pads, " "),
                     counts_padding ? ", counts padding" : "");
}

std::string ReduceParameters::text() const {
  constexpr const char* names[] = {"sum", "mean", "maximum", "minimum", "product"};
  return names[static_cast<std::size_t>(reduction)];
}

std::string TreeEnsembleParameters::text() const {
  ReduceParameters named;
  named.reduction = reduction;
  return named.text();
}

std::string ScatterParameters::text() const {
  constexpr const char* names[] = {"replace", "add", "multiply", "maximum", "minimum"};
  return names[static_cast<std::size_t>(combination)];
}

std::string CumulativeParameters::text() const {
  return fmt::format("{}{}{}", is_product ? "products" : "sums", is_exclusive ? ", exclusive" : "",
                     is_reverse ? ", reverse" : "");
}

std::string NormalizeParameters::text() const {
  return fmt::format("{}, epsilon {}", centers ? "centered" : "root mean square", static_cast<float>(epsilon));
}

std::string RecurrentParameters::text() const {
  constexpr const char* cells[] = {"RNN", "GRU", "LSTM"};
  constexpr const char* functions[] = {"sigmoid",          "tanh",        "relu",         "affine", "leaky_relu",
                                       "thresholded_relu", "scaled_tanh", "hard_sigmoid", "elu",    "softsign",
                                       "softplus"};
  std::string text = fmt::format("{}{}", cells[static_cast<std::size_t>(cell)], is_reverse ? ", reverse" : "");
  for (const Activation& activation : activations)
    text += fmt::format(", {}", functions[static_cast<std::size_t>(activation.function)]);
  if (resets_behind) text += ", resets behind the product";
  if (couples) text += ", input and forget coupled";
  if (rounds_state) text += ", states through uint8";
  if (clip) text += fmt::format(", clip {}", *clip);
  return text;
}

std::string LinearAttentionParameters::text() const {
  return fmt::format("scale {}{}{}", static_cast<float>(scale), has_decay ? ", decay" : "", has_rate ? ", rate" : "");
}

std::string AttentionParameters::text() const {
  std::string text = fmt::format("scale {}", static_cast<float>(scale));
  if (softcap > 0) text += fmt::format(", softcap {}", static_cast<float>(softcap));
  if (is_causal) text += ", causal";
  if (is_causal && causal_offset != 0) text += fmt::format(" behind {}", causal_offset);
  if (mask_replaces) text += ", the mask replaces scores";
  if (leaves_blind)
    text += ", any result for queries without keys";
  else if (std::isnan(blind))
    text += ", NaN for queries without keys";
  return text;
}

}  // namespace onnxkit::plan
