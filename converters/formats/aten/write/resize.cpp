// Resizing and sampling.
#include <algorithm>
#include <limits>
#include <optional>

#include "converters/formats/aten/lower.h"
#include "converters/opset/compose/sampling.h"

namespace onnxkit::aten {
namespace {

/// Which axes change, and how.
struct Resizing {
  Ints axes;
  std::vector<double> scales;  ///< empty where sizes are given
  bool has_sizes = false;
};

bool find_axes(WriteCall& call, Resizing& resizing) {
  const std::size_t rank = call.rank(0);
  Ints axes = WriteCall::from_start(call.integers("axes"), rank);
  if (axes.empty())
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<Int>(i));
  resizing.has_sizes = call.has(3);
  const auto scales = call.has(2) ? call.known_reals(2) : std::optional(std::vector<double>());
  if (!resizing.has_sizes && (!scales || scales->size() != axes.size())) {
    call.refuse("its scales are computed while the model runs", "make them constant, or give sizes");
    return false;
  }
  const Type& out = call.output_type();
  if (!out.shape || out.shape->size() != rank) {
    call.refuse("the sizes of its result are not known");
    return false;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    if (axis >= rank) continue;
    const bool stays = resizing.has_sizes ? (*out.shape)[axis] == (*call.shape(0))[axis] : (*scales)[i] == 1;
    if (stays && call.text("coordinate_transformation_mode") != "tf_crop_and_resize") continue;
    resizing.axes.push_back(axes[i]);
    if (!resizing.has_sizes) resizing.scales.push_back((*scales)[i]);
  }
  return true;
}

/// The operator of PyTorch that does just this; empty where none does.
std::string_view upsampling(WriteCall& call, std::size_t spatial, bool& aligns) {
  const std::string_view mode = call.text("mode", "nearest");
  const std::string_view place = call.text("coordinate_transformation_mode", "half_pixel");
  if (call.integer("antialias", 0) != 0 || call.integer("exclude_outside", 0) != 0 ||
      call.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    return {};
  if (mode == "nearest") {
    const std::string_view rounding = call.text("nearest_mode", "round_prefer_floor");
    constexpr std::string_view plain[] = {"aten.upsample_nearest1d.vec", "aten.upsample_nearest2d.vec",
                                          "aten.upsample_nearest3d.vec"};
    constexpr std::string_view exact[] = {"aten._upsample_nearest_exact1d.vec", "aten._upsample_nearest_exact2d.vec",
                                          "aten._upsample_nearest_exact3d.vec"};
    if (place == "asymmetric" && rounding == "floor") return plain[spatial - 1];
    return place == "half_pixel" && rounding == "round_prefer_ceil" ? exact[spatial - 1] : std::string_view();
  }
  aligns = place == "align_corners";
  const Shape& out = *call.output_type().shape;
  const bool is_larger_than_one =
      std::all_of(out.begin() + 2, out.end(), [](Dim size) { return size.is_constant() && size.constant() > 1; });
  if (!aligns && place != "half_pixel" && !(place == "pytorch_half_pixel" && is_larger_than_one)) return {};
  if (mode == "cubic")
    return spatial == 2 && call.real("cubic_coeff_a", -0.75) == -0.75 ? "aten.upsample_bicubic2d.vec" : "";
  constexpr std::string_view linear[] = {"aten.upsample_linear1d.vec", "aten.upsample_bilinear2d.vec",
                                         "aten.upsample_trilinear3d.vec"};
  return mode == "linear" ? linear[spatial - 1] : std::string_view();
}

/// The last axes of a tensor of three, four or five, whole.
bool resize_by_operator(WriteCall& call, const Resizing& resizing) {
  const std::size_t rank = call.shape(0)->size();
  if (rank < 3 || rank > 5 || !is_floating(call.elem(0)) || resizing.axes.empty() || resizing.axes.front() < 2)
    return false;
  bool aligns = false;
  const std::size_t spatial = rank - 2;
  const std::string_view op = upsampling(call, spatial, aligns);
  if (op.empty()) return false;
  std::vector<Given> given = {{"input", call.input(0)}};
  if (resizing.has_sizes) {
    const Shape sizes(call.output_type().shape->begin() + 2, call.output_type().shape->end());
    if (!are_computable(call, sizes)) {
      if (call.has_attribute("axes") || call.size(3, 0) != static_cast<Int>(rank)) return false;
      Given::Mixed all = integer_arguments(call, 3);
      all.erase(all.begin(), all.begin() + 2);
      given.push_back({"output_size", all});
    } else {
      given.push_back({"output_size", size_arguments(call, sizes)});
    }
  } else {
    given.push_back({"output_size", {}});
  }
  if (op.find("nearest") == op.npos) given.push_back({"align_corners", aligns});
  if (resizing.has_sizes) given.push_back({"scale_factors", {}});
  if (!resizing.has_sizes) {
    std::vector<double> factors(spatial, 1);
    for (std::size_t i = 0; i < resizing.axes.size(); ++i)
      factors[static_cast<std::size_t>(resizing.axes[i]) - 2] = resizing.scales[i];
    given.push_back({"scale_factors", factors});
  }
  call.result(call.emit(op, std::move(given), call.output_type()));
  return true;
}

std::optional<opset::SamplingRules> rules_of(WriteCall& call) {
  using Mode = opset::SamplingRules::Mode;
  using Rounding = opset::SamplingRules::Rounding;
  opset::SamplingRules rules;
  const std::string_view mode = call.text("mode", "nearest"),
                         rounding = call.text("nearest_mode", "round_prefer_floor");
  rules.mode = mode == "nearest" ? Mode::nearest : mode == "linear" ? Mode::linear : Mode::cubic;
  rules.coordinates = call.text("coordinate_transformation_mode", "half_pixel");
  rules.rounding = rounding == "floor"               ? Rounding::floor
                   : rounding == "ceil"              ? Rounding::ceil
                   : rounding == "round_prefer_ceil" ? Rounding::prefer_ceil
                                                     : Rounding::prefer_floor;
  rules.antialias = call.integer("antialias", 0) != 0;
  rules.exclude_outside = call.integer("exclude_outside", 0) != 0;
  rules.cubic_a = call.real("cubic_coeff_a", -0.75);
  rules.extrapolation = call.real("extrapolation_value", 0);
  return rules;
}

/// One axis by a stored table: which element each place takes, or a matrix of weights.
ValueId resize_axis(WriteCall& call, ValueId x, const opset::SampledAxis& sampled, const opset::SamplingRules& rules,
                    Int axis) {
  const auto table = opset::tap_table(sampled, rules);
  if (!table || std::any_of(table->begin(), table->end(), [](const opset::Taps& taps) { return taps.outside; })) {
    call.refuse(table ? "it looks at places outside of its input" : "the table of its weights would be too large");
    return x;
  }
  Type type = call.type_of(x);
  (*type.shape)[static_cast<std::size_t>(axis)] = Dim(sampled.new_size);
  if (rules.mode == opset::SamplingRules::Mode::nearest) {
    Ints places;
    for (const opset::Taps& taps : *table) places.push_back(taps.from.front());
    return call.emit("aten.index_select.default",
                     {{"self", x}, {"dim", axis}, {"index", call.integers_tensor(ElementType::int64, places)}}, type);
  }
  std::vector<double> weights(static_cast<std::size_t>(sampled.size * sampled.new_size), 0);
  for (std::size_t place = 0; place < table->size(); ++place)
    for (std::size_t k = 0; k < (*table)[place].from.size(); ++k)
      weights[static_cast<std::size_t>((*table)[place].from[k] * sampled.new_size) + place] +=
          (*table)[place].weights[k];
  const ValueId matrix = call.reals_tensor(call.elem(0), {sampled.size, sampled.new_size}, weights);
  const Type moved = Type::tensor(type.elem);
  const auto last = static_cast<Int>(type.shape->size()) - 1;
  const ValueId turned = call.emit("aten.transpose.int", {{"self", x}, {"dim0", axis}, {"dim1", last}}, moved);
  const ValueId product = binary(call, "aten.matmul.default", turned, matrix, moved);
  return call.emit("aten.transpose.int", {{"self", product}, {"dim0", axis}, {"dim1", last}}, type);
}

void map_resize(WriteCall& call) {
  Resizing resizing;
  if (!find_axes(call, resizing)) return;
  if (resize_by_operator(call, resizing)) return;
  const auto rules = rules_of(call);
  if (rules->crops() || (!is_floating(call.elem(0)) && rules->mode != opset::SamplingRules::Mode::nearest))
    return call.refuse("no operator of PyTorch resizes in this way");
  if (call.text("keep_aspect_ratio_policy", "stretch") != "stretch" && !resizing.has_sizes)
    return call.refuse("its policy needs sizes");
  ValueId x = call.input(0);
  for (std::size_t i = 0; i < resizing.axes.size() && !call.refused(); ++i) {
    const auto axis = static_cast<std::size_t>(resizing.axes[i]);
    const auto size = call.size(0, axis);
    const Dim new_size = (*call.output_type().shape)[axis];
    if (!size || !new_size.is_constant() || *size == 0)
      return call.refuse("no operator of PyTorch resizes in this way, and the sizes of its input are not known");
    opset::SampledAxis sampled{.size = *size, .new_size = new_size.constant()};
    sampled.scale =
        resizing.has_sizes ? static_cast<double>(sampled.new_size) / static_cast<double>(*size) : resizing.scales[i];
    if (resizing.has_sizes && call.text("keep_aspect_ratio_policy", "stretch") != "stretch") {
      double scale = 0;  // one for all axes
      const bool is_larger = call.text("keep_aspect_ratio_policy") == "not_larger";
      for (std::size_t k = 0; k < resizing.axes.size(); ++k) {
        const auto asked = call.known_integers(3);
        const auto old = call.size(0, static_cast<std::size_t>(resizing.axes[k]));
        if (!asked || !old || asked->size() != resizing.axes.size()) return call.refuse("its policy needs known sizes");
        const double one = static_cast<double>((*asked)[k]) / static_cast<double>(*old);
        scale = k == 0 ? one : is_larger ? std::min(scale, one) : std::max(scale, one);
      }
      sampled.scale = scale;
    }
    x = resize_axis(call, x, sampled, *rules, resizing.axes[i]);
  }
  call.result(x == call.input(0) ? unary(call, "aten.clone.default", x) : x);
}

void map_grid_sample(WriteCall& call) {
  const std::string_view mode = call.text("mode", "linear"), padding = call.text("padding_mode", "zeros");
  const Int kind = mode == "nearest" ? 1 : mode == "cubic" || mode == "bicubic" ? 2 : 0;
  const std::size_t rank = call.rank(0);
  if (rank < 4 || rank > 5 || (rank == 5 && kind == 2))
    return call.refuse("PyTorch samples grids of two axes, and of three by nearest and linear");
  call.result(call.emit("aten.grid_sampler.default",
                        {{"input", call.input(0)},
                         {"grid", call.input(1)},
                         {"interpolation_mode", kind},
                         {"padding_mode", padding == "zeros"    ? Int{0}
                                          : padding == "border" ? Int{1}
                                                                : Int{2}},
                         {"align_corners", call.integer("align_corners", 0) != 0}},
                        call.output_type()));
}

void map_affine_grid(WriteCall& call) {
  call.result(call.emit("aten.affine_grid_generator.default",
                        {{"theta", call.input(0)},
                         {"size", integer_arguments(call, 1)},
                         {"align_corners", call.integer("align_corners", 0) != 0}},
                        call.output_type()));
}

}  // namespace

void register_resize(Writers& writers);
void register_resize(Writers& writers) {
  writers.add("Resize", map_resize);
  writers.add("GridSample", map_grid_sample);
  writers.add("AffineGrid", map_affine_grid);
}

}  // namespace onnxkit::aten
