// Images of other sizes, and samples between pixels.
#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

struct Interpolation {
  std::string mode, coordinates, nearest = "floor";
  double cubic = -0.75;
  bool antialias = false;
};

/// Batch and channels stay; the others take the sizes or the factors that are given.
void resize(Call& call, const Interpolation& how) {
  auto& onnx = call.onnx;
  const Val x = call.tensor(call.has("input") ? "input" : "self");
  const std::size_t rank = call.rank(x);
  if (rank < 3) return call.refuse("the input has no spatial axes");
  std::vector<ir::Attr> attributes = {{"mode", how.mode}, {"coordinate_transformation_mode", how.coordinates}};
  if (how.mode == "nearest") attributes.push_back({"nearest_mode", how.nearest});
  if (how.mode == "cubic") attributes.push_back({"cubic_coeff_a", static_cast<float>(how.cubic)});
  if (how.antialias)
    attributes.insert(attributes.end(), {{"antialias", std::int64_t{1}}, {"exclude_outside", std::int64_t{1}}});
  std::vector<double> factors = call.reals("scale_factors");
  if (call.has("output_size")) {
    const Val kept = onnx.emit("Shape", {x}, {{"start", std::int64_t{0}}, {"end", std::int64_t{2}}});
    const Val sizes = onnx.joined({kept, call.sizes("output_size")});
    return call.result(onnx.emit("Resize", {x, {}, {}, sizes}, attributes));
  }
  if (factors.size() + 2 != rank) return call.refuse("a factor for each spatial axis is wanted");
  factors.insert(factors.begin(), {1, 1});
  const Val scales = onnx.reals(ElementType::float32, {static_cast<std::int64_t>(rank)}, factors);
  call.result(onnx.emit("Resize", {x, {}, scales}, attributes));
}

std::string coordinates_of(Call& call) { return call.flag("align_corners", false) ? "align_corners" : "half_pixel"; }

void map_linear_resize(Call& call) { resize(call, {.mode = "linear", .coordinates = coordinates_of(call)}); }
void map_cubic(Call& call) { resize(call, {.mode = "cubic", .coordinates = coordinates_of(call)}); }
void map_nearest(Call& call) { resize(call, {.mode = "nearest", .coordinates = "asymmetric"}); }
void map_exact_nearest(Call& call) {
  resize(call, {.mode = "nearest", .coordinates = "half_pixel", .nearest = "round_prefer_ceil"});
}
/// With aligned corners PyTorch changes the distance of windows only, not where the first one begins.
void smooth(Call& call, const Interpolation& how) {
  if (call.flag("align_corners", false))
    return call.refuse("its windows with aligned corners are not those of ONNX's Resize",
                       "align_corners=False has a counterpart");
  resize(call, how);
}
void map_smooth_linear(Call& call) { smooth(call, {.mode = "linear", .coordinates = "half_pixel", .antialias = true}); }
void map_smooth_cubic(Call& call) {
  smooth(call, {.mode = "cubic", .coordinates = "half_pixel", .cubic = -0.5, .antialias = true});
}

void map_grid_sampler(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input");
  constexpr std::int64_t opset_of_volumes = 20;
  const bool is_volume = call.rank(x) == 5;
  if (is_volume && !call.has_opset(opset_of_volumes)) return;
  constexpr const char* modes[][2] = {{"bilinear", "linear"}, {"nearest", "nearest"}, {"bicubic", "cubic"}};
  constexpr const char* paddings[] = {"zeros", "border", "reflection"};
  const std::int64_t mode = call.integer("interpolation_mode", 0), padding = call.integer("padding_mode", 0);
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2) return call.refuse("a mode that is not known");
  const std::int64_t aligned = call.flag("align_corners", false) ? 1 : 0;
  call.result(onnx.emit("GridSample", {x, call.tensor("grid")},
                        {{"mode", std::string(modes[mode][call.opset() >= opset_of_volumes ? 1 : 0])},
                         {"padding_mode", std::string(paddings[padding])},
                         {"align_corners", aligned}}));
}

}  // namespace

void register_resize(Mappings& mappings);
void register_resize(Mappings& mappings) {
  mappings.add(
      {"aten.upsample_linear1d.vec", "aten.upsample_bilinear2d.vec", "aten.upsample_trilinear3d.vec",
       "aten.upsample_linear1d.default", "aten.upsample_bilinear2d.default", "aten.upsample_trilinear3d.default"},
      map_linear_resize);
  mappings.add({"aten.upsample_bicubic2d.vec", "aten.upsample_bicubic2d.default"}, map_cubic);
  mappings.add(
      {"aten.upsample_nearest1d.vec", "aten.upsample_nearest2d.vec", "aten.upsample_nearest3d.vec",
       "aten.upsample_nearest1d.default", "aten.upsample_nearest2d.default", "aten.upsample_nearest3d.default"},
      map_nearest);
  mappings.add({"aten._upsample_nearest_exact1d.vec", "aten._upsample_nearest_exact2d.vec",
                "aten._upsample_nearest_exact3d.vec", "aten._upsample_nearest_exact2d.default"},
               map_exact_nearest);
  mappings.add({"aten._upsample_bilinear2d_aa.vec", "aten._upsample_bilinear2d_aa.default"}, map_smooth_linear);
  mappings.add({"aten._upsample_bicubic2d_aa.vec", "aten._upsample_bicubic2d_aa.default"}, map_smooth_cubic);
  mappings.add({"aten.grid_sampler.default", "aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default"},
               map_grid_sampler);
}

}  // namespace onnxkit::pt2
