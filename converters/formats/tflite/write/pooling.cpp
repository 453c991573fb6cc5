// Pooling, with channels last.
#include <algorithm>
#include <limits>

#include "converters/formats/tflite/windows.h"

namespace onnxkit::to_tflite {
namespace {

ValueId pool(WriteCall& call, std::string_view op, ValueId x, const Windows& windows, Padding padding) {
  return call.emit(op,
                   {{"input", x},
                    {"padding", std::int64_t{padding}},
                    {"stride_w", windows.strides[1]},
                    {"stride_h", windows.strides[0]},
                    {"filter_width", windows.kernel[1]},
                    {"filter_height", windows.kernel[0]}},
                   images_of(call.output_type()));
}

std::optional<Windows> windows_of_pool(WriteCall& call) {
  return pool_windows(call, 2, "it does not pool over one or two axes");
}

void map_max_pool(WriteCall& call) {
  const auto windows = windows_of_pool(call);
  if (!windows) return;
  if (call.elem(0) != ElementType::float32 && !windows->is_same &&
      std::any_of(windows->begins.begin(), windows->begins.end(), [](std::int64_t b) { return b != 0; }))
    return call.refuse("integers cannot be padded there");
  Padding padding = valid;
  const ValueId x = padded(call, call.input(0), *windows, std::numeric_limits<float>::lowest(), padding);
  give_spatial(call,
               pool(call, "MAX_POOL_2D", with_two_spatial_axes(call, x), with_two_spatial_axes(*windows), padding));
}

void map_average_pool(WriteCall& call) {
  const auto windows = windows_of_pool(call);
  if (!windows) return;
  const bool counts_pads = call.integer("count_include_pad", 0) != 0;
  const bool has_pads = windows->has_pads();
  Windows explicit_windows = *windows;
  if (counts_pads && has_pads) explicit_windows.is_same = false;
  Padding padding = valid;
  const ValueId x = padded(call, call.input(0), explicit_windows, 0, padding);
  ValueId mean =
      pool(call, "AVERAGE_POOL_2D", with_two_spatial_axes(call, x), with_two_spatial_axes(*windows), padding);
  if (padding == valid && has_pads) mean = counted_mean(call, mean, *windows, counts_pads);
  give_spatial(call, mean);
}

/// (sum of |x|^p)^(1/p), of a mean of the powers.
void map_lp_pool(WriteCall& call) {
  const auto windows = windows_of_pool(call);
  if (!windows) return;
  const std::int64_t p = call.integer("p", 2);
  if (p < 1) return call.refuse("its power is not positive");
  ValueId powers = unary(call, "ABS", call.input(0));
  if (p == 2) powers = unary(call, "SQUARE", powers);
  if (p > 2) powers = binary(call, "POW", powers, static_cast<double>(p));
  Windows stated = *windows;
  stated.is_same = false;
  Padding padding = valid;
  const ValueId x = padded(call, powers, stated, 0, padding);
  const ValueId mean =
      pool(call, "AVERAGE_POOL_2D", with_two_spatial_axes(call, x), with_two_spatial_axes(*windows), padding);
  double elements = 1;
  for (const std::int64_t size : windows->kernel) elements *= static_cast<double>(size);
  ValueId sum = binary(call, "MUL", mean, elements);
  if (p == 2) sum = unary(call, "SQRT", sum);
  if (p > 2) sum = binary(call, "POW", sum, 1 / static_cast<double>(p));
  give_spatial(call, sum);
}

/// The spatial axes [from, from + windows' own) of five as those of images: others join the batch, or stand for columns.
Windows part_of_windows(const Windows& whole, std::size_t from, std::size_t count) {
  const auto taken = [&](const Ints& list) {
    return Ints(list.begin() + static_cast<std::ptrdiff_t>(from),
                list.begin() + static_cast<std::ptrdiff_t>(from + count));
  };
  return {.kernel = taken(whole.kernel),
          .strides = taken(whole.strides),
          .dilations = taken(whole.dilations),
          .begins = taken(whole.begins),
          .ends = taken(whole.ends)};
}

/// The greatest of a box is that of the greatest of its planes: first over [N D, H, W, C], then over [N, D, H W, C].
void map_max_pool3d(WriteCall& call) {
  const Ints kernel = call.integers("kernel_shape");
  if (kernel.size() != 3 || !call.shape(0) || !call.output_type().shape)
    return call.refuse("it does not pool over three axes");
  const Windows windows = windows_of(call, kernel);
  if (std::any_of(windows.dilations.begin(), windows.dilations.end(), [](std::int64_t d) { return d != 1; }))
    call.refuse("windows of pooling have no dilations there");
  if (call.elem(0) != ElementType::float32) call.refuse("it pools other elements than float32");
  if (windows.is_same && windows.ends == Ints(3, 0) && windows.begins == Ints(3, 0) && !known_sizes(call.type(0)))
    call.refuse("its sizes are not known");
  const Shape &in = *call.shape(0), &out = *call.output_type().shape;
  for (std::size_t a = 1; a < 5; ++a)
    if (!in[a].is_constant() || !out[a].is_constant()) return call.refuse("its sizes are not known");
  if (call.refused()) return;
  Windows stated = windows;
  stated.is_same = false;
  Padding padding = valid;
  const ValueId x = padded(call, call.input(0), stated, std::numeric_limits<float>::lowest(), padding);
  const Shape whole = *call.type_of(x).shape;
  const auto pooled = [&](ValueId from, const Shape& images, Shape result, const Windows& own) {
    const ValueId image = reshape(call, from, images);
    return call.emit("MAX_POOL_2D",
                     {{"input", image},
                      {"padding", std::int64_t{valid}},
                      {"stride_w", own.strides[1]},
                      {"stride_h", own.strides[0]},
                      {"filter_width", own.kernel[1]},
                      {"filter_height", own.kernel[0]}},
                     Type::tensor(ElementType::float32, std::move(result)));
  };
  const Dim planes = in[0].is_constant() ? Dim(in[0].constant() * whole[1].constant()) : Dim();
  const ValueId flat = pooled(x, {planes, whole[2], whole[3], whole[4]}, {planes, out[2], out[3], whole[4]},
                              part_of_windows(windows, 1, 2));
  const Dim columns(out[2].constant() * out[3].constant());
  Windows deep = part_of_windows(windows, 0, 1);
  deep.kernel.push_back(1);
  deep.strides.push_back(1);
  const ValueId deepest = pooled(flat, {in[0], whole[1], columns, whole[4]}, {in[0], out[1], columns, whole[4]}, deep);
  call.result(reshape(call, deepest, out));
}

}  // namespace

void register_pooling(Writers& writers);
void register_pooling(Writers& writers) {
  for (const std::string_view op : {"onnxkit.channels_last::MaxPool1D", "onnxkit.channels_last::MaxPool2D"})
    writers.add(op, map_max_pool);
  for (const std::string_view op : {"onnxkit.channels_last::AveragePool1D", "onnxkit.channels_last::AveragePool2D"})
    writers.add(op, map_average_pool);
  for (const std::string_view op : {"onnxkit.channels_last::LpPool1D", "onnxkit.channels_last::LpPool2D"})
    writers.add(op, map_lp_pool);
  writers.add("onnxkit.channels_last::MaxPool3D", map_max_pool3d);
}

}  // namespace onnxkit::to_tflite
