#include <algorithm>
#include <functional>
#include <limits>

#include <fmt/core.h>

#include "converters/opset/compose/compose.h"
#include "converters/opset/compose/pool_windows.h"
#include "converters/opset/engine/steps.h"
#include "converters/opset/engine/storable.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

/// One image axis under a pool. `positions` windows of `extent` elements begin at multiples of `stride`, the first `begin` elements before the image.
struct PoolAxis {
  std::int64_t kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;
  std::int64_t image = -1, positions = -1;  ///< -1 when unknown

  std::int64_t extent() const { return (kernel - 1) * dilation + 1; }
  /// Elements that the windows reach, from the first element of padding on.
  std::int64_t reached() const { return (positions - 1) * stride + extent(); }
};
using PoolAxes = std::vector<PoolAxis>;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

List axis_list(Step& step, std::string_view name, std::size_t length, std::int64_t fallback, std::int64_t least) {
  const auto given = step.integers(name);
  if (!given) return List(length, fallback);
  const bool fits = given->size() == length && std::all_of(given->begin(), given->end(), [least](std::int64_t v) {
                      return v >= least && v < std::int64_t{1} << 30;
                    });
  if (!fits) refuse(fmt::format("attribute {} does not match the spatial axes", name));
  return *given;
}

/// Positions and padding of an axis as auto_pad and ceil_mode mean them; padding stays open where it takes the size of the image.
void place_windows(PoolAxis& axis, std::string_view auto_pad, bool ceil) {
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    if (axis.image >= 0) axis.positions = ceil_div(axis.image, axis.stride);
    if (axis.image < 0 && axis.stride != 1)
      refuse_unknown("the padding that auto_pad selects depends on the size of the image, which is unknown");
    const std::int64_t total =
        axis.stride == 1 ? axis.extent() - 1 : std::max<std::int64_t>(0, axis.reached() - axis.image);
    axis.begin = auto_pad == "SAME_LOWER" ? total - total / 2 : total / 2;
    axis.end = total - axis.begin;
    return;
  }
  if (auto_pad == "VALID") axis.begin = axis.end = 0;
  if (axis.image < 0) return;
  const std::int64_t span = axis.image + axis.begin + axis.end - axis.extent();
  if (span < 0) refuse("the window is larger than the image");
  axis.positions = span / axis.stride + 1;
  if (ceil) axis.positions = std::min(ceil_div(span, axis.stride) + 1, ceil_div(axis.image + axis.begin, axis.stride));
}

PoolAxes read_axes(Step& step) {
  const List kernel = axis_list(step, "kernel_shape", step.integers("kernel_shape").value_or(List()).size(), 1, 1);
  const std::size_t count = kernel.size();
  const List strides = axis_list(step, "strides", count, 1, 1), dilations = axis_list(step, "dilations", count, 1, 1),
             pads = axis_list(step, "pads", 2 * count, 0, 0);
  const std::string auto_pad = step.string("auto_pad", "NOTSET");
  const bool ceil = step.integer("ceil_mode") != 0;
  const checker::Shape* shape = step.shape(step.input(0));
  if (shape && shape->size() != count + 2) refuse("kernel_shape does not match the spatial axes");
  PoolAxes axes;
  for (std::size_t i = 0; i < count; ++i) {
    axes.push_back({kernel[i], strides[i], dilations[i], pads[i], pads[count + i]});
    if (shape && (*shape)[i + 2].is_constant()) axes[i].image = (*shape)[i + 2].constant();
    place_windows(axes[i], auto_pad, ceil);
  }
  return axes;
}

template <class Member>
List list_of_pool(const PoolAxes& axes, Member member) {
  List list;
  for (const PoolAxis& axis : axes) list.push_back(std::invoke(member, axis));
  return list;
}

void set_pads(Step& step, const List& begin, const List& end) {
  List pads = begin;
  pads.insert(pads.end(), end.begin(), end.end());
  step.set({"pads", pads});
  step.remove("auto_pad");
}

/// Zeros around the image, and the pool over that.
void pad_with_zeros(Step& step, const List& begin, const List& end) {
  List pads(2, 0);
  pads.insert(pads.end(), begin.begin(), begin.end());
  pads.insert(pads.end(), 2, 0);
  pads.insert(pads.end(), end.begin(), end.end());
  if (std::all_of(pads.begin(), pads.end(), [](std::int64_t n) { return n == 0; })) return;
  const ElementType type = step.opset_after() < 11 ? ElementType::float32 : step.need_elem(step.input(0));
  step.set_input(0, pad(step, step.input(0), type, pads, 0, "padded"));
}

// ---- ceil_mode

/// Rounding up the number of positions makes no difference, whatever the sizes are.
bool never_hangs_over(const PoolAxes& axes) {
  return std::all_of(axes.begin(), axes.end(),
                     [](const PoolAxis& axis) { return axis.stride == 1 && axis.end < axis.extent(); });
}

/// The windows that hang over the end get padding to lie on.
void write_ceil_as_pads(Step& step) {
  step.remove("ceil_mode");
  if (step.string("auto_pad", "NOTSET").starts_with("SAME")) return;
  const PoolAxes axes = read_axes(step);
  if (never_hangs_over(axes)) return;
  List begin, stated, beyond;
  for (const PoolAxis& axis : axes) {
    if (axis.positions < 0) {
      // Where no window can begin behind the image, one stride less an element of padding adds what rounding up does.
      if (axis.end + axis.stride > axis.extent())
        refuse_unknown("the windows that ceil_mode adds depend on the size of the image, which is unknown");
      begin.push_back(axis.begin);
      stated.push_back(axis.end);
      beyond.push_back(axis.stride - 1);
      continue;
    }
    const std::int64_t end = std::max<std::int64_t>(0, axis.reached() - axis.image - axis.begin);
    begin.push_back(axis.begin);
    stated.push_back(std::min(end, axis.end));
    beyond.push_back(end - stated.back());
  }
  const bool hangs_over = std::any_of(beyond.begin(), beyond.end(), [](std::int64_t n) { return n > 0; });
  if (hangs_over && step.integer("count_include_pad") != 0) {
    // Stated padding counts for the average, what hangs over does not.
    pad_with_zeros(step, begin, stated);
    step.remove("count_include_pad");
    begin.assign(begin.size(), 0);
    stated.assign(stated.size(), 0);
  }
  for (std::size_t i = 0; i < stated.size(); ++i) stated[i] += beyond[i];
  set_pads(step, begin, stated);
  step.note("ceil_mode rewritten as padding");
}

void without_ceil(Step& step) {
  if (step.integer("ceil_mode") != 0) return write_ceil_as_pads(step);
  step.remove("ceil_mode");
}

/// Until version 21 the text counts windows that would start behind the image.
void ceil_before_22(Step& step) {
  if (step.integer("ceil_mode") == 0 || step.string("auto_pad", "NOTSET").starts_with("SAME")) return;
  const PoolAxes axes = read_axes(step);
  const bool differs = std::any_of(axes.begin(), axes.end(), [](const PoolAxis& axis) {
    return axis.positions >= 0 &&
           axis.positions <= ceil_div(axis.image + axis.begin + axis.end - axis.extent(), axis.stride);
  });
  if (differs) write_ceil_as_pads(step);
}

/// Before version 22 a declared size may count windows that start in the padding behind the image.
void ceil_from_22(Step& step) {
  for (const char* name : {"ceil_mode", "auto_pad", "kernel_shape", "strides", "dilations", "pads"}) {
    if (step.is_reference(name)) return;
  }
  if (step.integer("ceil_mode") == 0 || step.string("auto_pad", "NOTSET") != "NOTSET") return;
  const checker::Shape* y = step.shape(step.output(0));
  if (!y || y->size() < 3) return;
  const PoolAxes axes = read_axes(step);
  for (std::size_t i = 0; i < axes.size() && i + 2 < y->size(); ++i) {
    const checker::Dim size = (*y)[i + 2];
    if (axes[i].positions >= 0 && size.is_constant() && size.constant() > axes[i].positions)
      refuse(
          fmt::format("the declared size of axis {} counts windows that start in the padding behind the image, "
                      "which opset 22 omits",
                      i + 2));
  }
}

// ---- dilations

/// Numbers of the axes: batch and channels, then for each image axis first[i], second[i].
List interleaved(std::size_t count, std::int64_t first, std::int64_t second, bool in_pairs) {
  List perm = {0, 1};
  const auto n = static_cast<std::int64_t>(count);
  if (in_pairs) {
    for (std::int64_t i = 0; i < n; ++i) perm.insert(perm.end(), {first + i, second + i});
  } else {
    for (std::int64_t i = 0; i < n; ++i) perm.push_back(first + 2 * i);
    for (std::int64_t i = 0; i < n; ++i) perm.push_back(second + 2 * i);
  }
  return perm;
}

List with_front(List front, const List& rest) {
  front.insert(front.end(), rest.begin(), rest.end());
  return front;
}

/// Every dilation-th element belongs to one of several smaller images, which become channels: [N, C * d, L / d].
ValueId split_phases(Step& step, const PoolAxes& axes, ElementType type, double fill) {
  List begin, end, sizes, lengths;
  for (const PoolAxis& axis : axes) {
    const std::int64_t elements = std::max(axis.reached(), axis.image + axis.begin);
    const std::int64_t length = ceil_div(elements, axis.dilation);
    begin.push_back(axis.begin);
    end.push_back(length * axis.dilation - axis.image - axis.begin);
    sizes.insert(sizes.end(), {length, axis.dilation});
    lengths.push_back(length);
  }
  const List pads = with_front(with_front(List{0, 0}, begin), with_front(List{0, 0}, end));
  const ValueId padded = pad(step, step.input(0), type, pads, fill, "padded");
  const ValueId split = reshape(step, padded, with_front({0, 0}, sizes), "split");
  const ValueId phases = step.add("Transpose", {split}, {{"perm", interleaved(axes.size(), 3, 2, false)}}, "phases");
  return reshape(step, phases, with_front({0, -1}, lengths), "images");
}

/// Back to one image, of which every stride-th position is kept.
ValueId join_phases(Step& step, const PoolAxes& axes, ValueId pooled) {
  List split = list_of_pool(axes, &PoolAxis::dilation), joined;
  for (const PoolAxis& axis : axes) {
    const std::int64_t length =
        ceil_div(std::max(axis.reached(), axis.image + axis.begin), axis.dilation) - axis.kernel + 1;
    split.push_back(length);
    joined.push_back(length * axis.dilation);
  }
  const auto count = static_cast<std::int64_t>(axes.size());
  const ValueId phases = reshape(step, pooled, with_front({0, -1}, split), "phases");
  const ValueId mixed =
      step.add("Transpose", {phases}, {{"perm", interleaved(axes.size(), 2 + count, 2, true)}}, "mixed");
  ValueId result = reshape(step, mixed, with_front({0, 0}, joined), "joined");
  List ends, numbers;
  for (const PoolAxis& axis : axes) {
    ends.push_back((axis.positions - 1) * axis.stride + 1);
    numbers.push_back(static_cast<std::int64_t>(numbers.size()) + 2);
  }
  const List begins(axes.size(), 0), strides = list_of_pool(axes, &PoolAxis::stride);
  if (step.opset_after() >= 10)
    return step.add("Slice",
                    {result, step.vector(begins), step.vector(ends), step.vector(numbers), step.vector(strides)}, {},
                    "strided");
  result = step.add("Slice", {result}, {{"axes", numbers}, {"starts", begins}, {"ends", ends}}, "cut");
  if (std::all_of(strides.begin(), strides.end(), [](std::int64_t n) { return n == 1; })) return result;
  return step.add("MaxPool", {result}, {{"kernel_shape", List(axes.size(), 1)}, {"strides", strides}}, "strided");
}

/// The elements of an axis that an average counts, as positions in the padded axis.
std::pair<std::int64_t, std::int64_t> counted_range(const PoolAxis& axis, bool count_padding) {
  if (count_padding) return {0, axis.begin + axis.image + axis.end};
  return {axis.begin, axis.begin + axis.image};
}

/// By how much the average over all taps of a window is too small, for every position along one axis.
std::vector<double> axis_shares(const PoolAxis& axis, bool count_padding) {
  const auto [first, last] = counted_range(axis, count_padding);
  std::vector<double> shares;
  for (std::int64_t position = 0; position < axis.positions; ++position) {
    std::int64_t counted = 0;
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      const std::int64_t at = position * axis.stride + k * axis.dilation;
      counted += first <= at && at < last ? 1 : 0;
    }
    shares.push_back(counted == 0 ? 1 : static_cast<double>(axis.kernel) / static_cast<double>(counted));
  }
  return shares;
}

/// Averages over all taps of each window, made averages over those that count.
ValueId count_fewer(Step& step, const PoolAxes& axes, bool count_padding, ElementType type, ValueId averages) {
  const bool all_count = std::all_of(axes.begin(), axes.end(), [count_padding](const PoolAxis& axis) {
    const auto [first, last] = counted_range(axis, count_padding);
    return first == 0 && axis.reached() <= last;
  });
  if (all_count) return averages;
  List dims = with_front({1, 1}, list_of_pool(axes, &PoolAxis::positions));
  storable_count(dims);
  std::vector<double> factors = {1};
  for (const PoolAxis& axis : axes) {
    const std::vector<double> here = axis_shares(axis, count_padding);
    std::vector<double> all;
    for (const double outer : factors) {
      for (const double inner : here) all.push_back(outer * inner);
    }
    factors = std::move(all);
  }
  return step.add("Mul", {averages, step.numbers(type, dims, factors, "shares")}, {}, "averages");
}

// ---- indices of MaxPool

void pool_by_windows(Step& step) {
  const PoolAxes axes = read_axes(step);
  std::vector<WindowsOfAxis> windows;
  for (const PoolAxis& axis : axes) {
    if (axis.positions < 1 || axis.image < 1)
      refuse_unknown("indices of older operators require the size of the image");
    storable_count(List{axis.positions, axis.kernel});
    WindowsOfAxis& all = windows.emplace_back();
    for (std::int64_t position = 0; position < axis.positions; ++position) {
      List& covered = all.emplace_back();
      for (std::int64_t k = 0; k < axis.kernel; ++k) {
        const std::int64_t at = position * axis.stride + k * axis.dilation - axis.begin;
        if (at >= 0 && at < axis.image) covered.push_back(at);
      }
    }
  }
  greatest_of_windows(step, windows, list_of_pool(axes, &PoolAxis::image), step.integer("storage_order") != 0);
}

/// A window of one tap has nothing to dilate.
bool dilates(Step& step) {
  const auto kernel = step.integers("kernel_shape"), dilations = step.integers("dilations");
  if (!kernel || !dilations) return false;
  bool any = dilations->size() != kernel->size();
  for (std::size_t i = 0; i < dilations->size() && !any; ++i) any = (*dilations)[i] != 1 && (*kernel)[i] != 1;
  return any;
}

void without_dilations(Step& step) {
  if (!dilates(step)) {
    step.remove("dilations");
    if (step.node().op_type != "AveragePool") without_ceil(step);
    return;
  }
  if (step.is_used(1)) return pool_by_windows(step);
  const PoolAxes axes = read_axes(step);
  for (const PoolAxis& axis : axes) {
    if (axis.positions < 0) refuse_unknown("rewriting dilations for older operators requires the size of the image");
    if (axis.positions == 0) refuse("a dilated pool over an empty image cannot be rewritten");
  }
  const std::string op(step.node().op_type.view());
  const ElementType type = step.need_elem(step.input(0));
  const bool is_max = op == "MaxPool";
  const ValueId images = split_phases(step, axes, type, is_max ? -std::numeric_limits<double>::infinity() : 0);
  const ValueId pooled = step.value("pooled");
  ir::Node& node = step.emit(op, {images}, {pooled}, {{"kernel_shape", list_of_pool(axes, &PoolAxis::kernel)}});
  if (op == "LpPool") node.attributes.push_back(step.attribute({"p", step.integer("p")}));
  ValueId result = join_phases(step, axes, pooled);
  if (op == "AveragePool") result = count_fewer(step, axes, step.integer("count_include_pad") != 0, type, result);
  step.emit("Identity", {result}, {step.output(0)});
  step.replace();
  step.note("the elements that each dilated window covers are made contiguous");
}

// ---- AveragePool

void without_counted_padding(Step& step) {
  const bool counts = step.integer("count_include_pad") != 0;
  step.remove("count_include_pad");
  if (!counts || step.string("auto_pad", "NOTSET") == "VALID") return;
  const PoolAxes axes = read_axes(step);
  const List begin = list_of_pool(axes, &PoolAxis::begin), end = list_of_pool(axes, &PoolAxis::end);
  pad_with_zeros(step, begin, end);
  set_pads(step, List(axes.size(), 0), List(axes.size(), 0));
  step.note("padding rewritten as zeros, which count");
}

void register_average(StepRegistry& registry) {
  const StepRegistry::Names op = {"AveragePool"};
  registry.change(op, 7, compatible("count_include_pad is new"),
                  adapt("padding does not count", without_counted_padding));
  registry.change(op, 10, compatible("ceil_mode is new"),
                  adapt("the number of output positions is rounded down", without_ceil));
  const Way wording = compatible("only the specification text differs");
  registry.change(op, 11, wording, wording);
  registry.change(op, 19, compatible("dilations are new"), adapt("no dilations", without_dilations));
  registry.change(op, 22,
                  adapt("nothing; refused where the declared size counts windows behind the image", ceil_from_22),
                  adapt("ceil_mode counts windows after the image", ceil_before_22));
}

// ---- MaxPool

void without_indices(Step& step) {
  if (step.is_used(1)) return pool_by_windows(step);
  if (step.output_count() > 1) step.drop_outputs(1);
  step.remove("storage_order");
}

/// Real numbers hold all 8-bit integers. A window without elements gives the least integer.
void without_bytes(Step& step) {
  const ElementType type = step.elem(step.input(0));
  if (type != ElementType::int8 && type != ElementType::uint8) return;
  step.set_input(0, cast(step, step.input(0), ElementType::float32, "real"));
  const ValueId y = step.value("greatest");
  step.set_output(0, y);
  step.then();
  const double least = type == ElementType::int8 ? -128 : 0;
  const ValueId bounded = step.add("Max", {y, step.number(ElementType::float32, least, "least")}, {}, "bounded");
  step.emit("Cast", {bounded}, {step.output(0)}, {{"to", static_cast<std::int64_t>(type)}});
  step.note("computed in float32");
}

void register_max(StepRegistry& registry) {
  const StepRegistry::Names op = {"MaxPool"};
  registry.change(op, 8, compatible("indices are new"), adapt("no indices, or windows laid out", without_indices));
  registry.change(op, 10, compatible("ceil_mode and dilations are new"),
                  adapt("no ceil_mode, no dilations", without_dilations));
  const Way wording = compatible("only the specification text differs");
  registry.change(op, 11, wording, wording);
  registry.change(op, 12, compatible("more types"),
                  adapt("8-bit integers are computed in floating point", without_bytes));
  registry.change(op, 22,
                  adapt("nothing; refused where the declared size counts windows behind the image", ceil_from_22),
                  adapt("ceil_mode counts windows after the image", ceil_before_22));
}

// ---- Lp norms

bool is_whole(float p) { return p == static_cast<float>(static_cast<std::int64_t>(p)); }

/// With another p than a whole number: the norm of p = 1 over |x| to the power p, and its root; in float64, which powers do not overflow.
void whole_p(Step& step) {
  const float p = step.real("p", 2);
  if (!(p > 0 && p < 1e6F)) refuse("p is not a positive number");
  if (is_whole(p)) return step.set({"p", static_cast<std::int64_t>(p)});
  const ElementType type = step.need_elem(step.input(0)), real = ElementType::float64;
  const Attr broadcast{"broadcast", std::int64_t{1}};
  const ValueId wide = step.add("Cast", {step.input(0)}, {{"to", std::string("DOUBLE")}}, "wide");
  const ValueId sizes = step.add("Abs", {wide}, {}, "sizes");
  step.set_input(0, step.add("Pow", {sizes, step.number(real, double{p}, "p")}, {broadcast}, "powers"));
  step.set({"p", std::int64_t{1}});
  const ValueId sum = step.value("sum"), exponent = step.number(real, 1 / double{p}, "exponent");
  step.set_output(0, sum);
  step.then();
  const ValueId root = step.add("Pow", {sum, exponent}, {broadcast}, "root");
  const std::string name = type == ElementType::float64 ? "DOUBLE" : type == ElementType::float32 ? "FLOAT" : "FLOAT16";
  step.emit("Cast", {root}, {step.output(0)}, {{"to", name}});
  step.note("p is not an integer: rewritten using powers");
}

void real_p(Step& step) { step.set({"p", static_cast<float>(step.integer("p", 2))}); }

void register_lp(StepRegistry& registry) {
  registry.change({"LpPool"}, 2, adapt("p is an integer", whole_p), adapt("p is a floating-point number", real_p));
  const Way wording = compatible("only the specification text differs");
  registry.change({"LpPool"}, 11, wording, wording);
  registry.change({"LpPool"}, 18, compatible("ceil_mode and dilations are new"),
                  adapt("no ceil_mode, no dilations", without_dilations));
  registry.change({"LpPool"}, 22,
                  adapt("nothing; refused where the declared size counts windows behind the image", ceil_from_22),
                  compatible("fewer types"));
  registry.change({"GlobalLpPool"}, 2, adapt("p is an integer", whole_p),
                  adapt("p is a floating-point number", real_p));
  registry.types({"GlobalLpPool", "GlobalAveragePool", "GlobalMaxPool"}, {22});
}

}  // namespace

void register_pool(StepRegistry& registry) {
  register_average(registry);
  register_max(registry);
  register_lp(registry);
  registry.introduced({"MaxUnpool"}, 9, never("no older operator writes values to computed positions"));
  const Way wording = compatible("only the specification text differs");
  registry.change({"MaxUnpool"}, 11, wording, wording);
  registry.types({"MaxUnpool"}, {22});
}

}  // namespace onnxkit::opset
