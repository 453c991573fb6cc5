#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

bool is_same(std::string_view auto_pad) { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }

/// The equation of version 1 puts the larger half at the end, that of version 11 only with SAME_UPPER.
void larger_half_at_end(Step& step) {
  if (!step.has("output_shape") || is_same(step.string("auto_pad", "NOTSET"))) return;
  step.set({"auto_pad", std::string("SAME_UPPER")});
  step.remove("pads");
  step.note("SAME_UPPER decides where the larger half of an odd padding goes");
}

std::optional<List> kernel_of(const Step& step) {
  if (const auto kernel = step.integers("kernel_shape")) return *kernel;
  const auto sizes = step.sizes(step.input(1));
  if (!sizes || sizes->size() < 3) return std::nullopt;
  return List(sizes->begin() + 2, sizes->end());
}

List list_of(Step& step, std::string_view name, std::size_t length, std::int64_t fallback) {
  const List list = step.integers(name).value_or(List(length, fallback));
  const bool fits = list.size() == length && std::all_of(list.begin(), list.end(), [](std::int64_t v) {
                      return 0 <= v && v < std::int64_t{1} << 30;
                    });
  if (!fits) refuse(fmt::format("attribute {} does not match the spatial axes", name));
  return list;
}

/// What auto_pad or output_shape leave of the result, for each axis; below 0 where the result is larger than what windows reach. Nothing where
/// it takes the size of the image, which is not known.
std::optional<List> total_padding(Step& step, const List& kernel) {
  const std::size_t axes = kernel.size();
  const List strides = list_of(step, "strides", axes, 1), dilations = list_of(step, "dilations", axes, 1),
             extra = list_of(step, "output_padding", axes, 0);
  List stated = step.integers("output_shape").value_or(List());
  if (stated.size() == axes + 2) stated.erase(stated.begin(), stated.begin() + 2);
  const checker::Shape* shape = step.shape(step.input(0));
  List total;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t reach = extra[i] + (kernel[i] - 1) * dilations[i] + 1;
    if (stated.empty()) {
      total.push_back(reach - strides[i]);
      continue;
    }
    if (stated.size() != axes) refuse("output_shape does not match the spatial axes");
    if (!shape || shape->size() != axes + 2 || !(*shape)[i + 2].is_constant()) return std::nullopt;
    total.push_back(strides[i] * ((*shape)[i + 2].constant() - 1) + reach - stated[i]);
  }
  return total;
}

/// What is added at the end of each axis where the result is larger than what windows reach; nothing where that is more than a node may add.
std::optional<List> output_padding(Step& step, const List& total) {
  const List strides = list_of(step, "strides", total.size(), 1),
             dilations = list_of(step, "dilations", total.size(), 1);
  List extra = list_of(step, "output_padding", total.size(), 0);
  for (std::size_t i = 0; i < total.size(); ++i) {
    extra[i] += std::max<std::int64_t>(0, -total[i]);
    if (extra[i] >= std::max(strides[i], dilations[i])) return std::nullopt;
  }
  return extra;
}

/// Of an odd padding the equation of version 1 says another thing than its text on auto_pad, so that padding is written out where it is known.
void write_padding(Step& step) {
  const std::string auto_pad = step.string("auto_pad", "NOTSET");
  if (!is_same(auto_pad) && !step.has("output_shape")) return;
  const auto known_kernel = kernel_of(step);
  const auto known_total = known_kernel ? total_padding(step, *known_kernel) : std::nullopt;
  const bool is_even = known_total && std::all_of(known_total->begin(), known_total->end(),
                                                  [](std::int64_t t) { return t <= 0 || t % 2 == 0; });
  if (is_even && step.has("output_shape")) return;
  const auto known_extra = known_total ? output_padding(step, *known_total) : std::nullopt;
  if (!known_extra) {
    if (is_same(auto_pad)) return;
    step.set({"auto_pad", std::string("SAME_LOWER")});
    step.remove("pads");
    return step.note("SAME_LOWER decides where the larger half of an odd padding goes");
  }
  const List &total = *known_total, &extra = *known_extra;
  List begin, end;
  for (std::size_t i = 0; i < total.size(); ++i) {
    const std::int64_t padding = std::max<std::int64_t>(0, total[i]);
    begin.push_back(auto_pad == "SAME_UPPER" ? padding / 2 : padding - padding / 2);
    end.push_back(padding - begin.back());
  }
  if (std::any_of(extra.begin(), extra.end(), [](std::int64_t n) { return n > 0; }))
    step.set({"output_padding", extra});
  begin.insert(begin.end(), end.begin(), end.end());
  step.set({"pads", begin});
  step.remove("auto_pad");
  step.remove("output_shape");
  step.note("wrote out the padding");
}

}  // namespace

void register_conv_transpose(StepRegistry& registry) {
  registry.change({"ConvTranspose"}, 11,
                  adapt("the larger half of an odd padding stays at the end", larger_half_at_end),
                  adapt("the larger half of an odd padding stays in place", write_padding));
  registry.types({"ConvTranspose"}, {22});
}

}  // namespace onnxkit::opset
