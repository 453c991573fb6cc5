// Pools.
#include <algorithm>
#include <limits>
#include <string>

#include "converters/formats/aten/lower.h"
#include "converters/formats/aten/padding.h"
#include "onnxkit/element_type.h"

namespace onnxkit::aten {
namespace {

std::string pool_name(std::string_view stem, std::size_t spatial, std::string_view end = "") {
  return std::string("aten.") + std::string(stem) + std::to_string(spatial) + "d" + std::string(end) + ".default";
}

std::size_t spatial_rank(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  if (rank < 3 || rank > 5) call.refuse("PyTorch pools over one, two or three axes");
  return rank < 3 ? 1 : rank - 2;
}

/// PyTorch pads a pool by at most half of its window.
bool fits_pool(const Window& window) {
  for (std::size_t i = 0; i < window.kernel.size(); ++i)
    if (window.begins[i] != window.ends[i] || window.begins[i] < 0 || 2 * window.begins[i] > window.kernel[i])
      return false;
  return true;
}

/// Pads where the pool cannot, and sets the padding that is left.
ValueId prepared(WriteCall& call, ValueId x, Window& window, double value) {
  if (fits_pool(window)) return x;
  x = constant_pad(call, x, window.begins, window.ends, value);
  window.begins.assign(window.begins.size(), 0);
  window.ends = window.begins;
  return x;
}

double least(ElementType elem) {
  if (elem == ElementType::int8) return -128;
  if (elem == ElementType::uint8) return 0;
  return -std::numeric_limits<double>::infinity();
}

/// PyTorch counts places in one plane, ONNX in the whole tensor.
ValueId places_in_tensor(WriteCall& call, ValueId places, std::size_t spatial) {
  const Shape& shape = *call.shape(0);
  Dim plane = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) plane = call.dims().mul(plane, shape[i]);
  const Dim planes = call.dims().mul(shape[0], shape[1]);
  const ValueId which = count_up(call, planes);
  Shape lifted = {shape[0], shape[1]};
  lifted.insert(lifted.end(), spatial, Dim(1));
  Given by{"other", Int{0}};
  std::visit([&](auto value) { by.value = value; }, size_argument(call, plane));
  const ValueId begins = call.emit("aten.mul.Scalar", {{"self", reshape(call, which, lifted)}, by},
                                   Type::tensor(ElementType::int64, lifted));
  return binary(call, "aten.add.Tensor", places, begins, call.output_type(1));
}

void map_max_pool(WriteCall& call) {
  const std::size_t spatial = spatial_rank(call);
  Window window = window_of(call, spatial, 0);
  if (call.refused()) return;
  const bool wants_places = call.has_output(1);
  if (wants_places && (call.integer("storage_order", 0) != 0 || !fits_pool(window)))
    return call.refuse("its places are counted in a way that PyTorch does not count them");
  const ElementType elem = call.elem(0);
  ValueId x = prepared(call, call.input(0), window, least(elem));
  if (!is_floating(elem)) x = cast(call, x, ElementType::float32);  // PyTorch pools real numbers
  const std::vector<Given> given = {{"self", x},
                                    {"kernel_size", window.kernel},
                                    {"stride", window.strides},
                                    {"padding", window.begins},
                                    {"dilation", window.dilations},
                                    {"ceil_mode", call.integer("ceil_mode", 0) != 0}};
  if (!wants_places) {
    const Type type = with_elem(call.output_type(), call.type_of(x).elem);
    return call.result(cast(call, call.emit(call.keep(pool_name("max_pool", spatial)), given, type), elem));
  }
  const std::string name = pool_name("max_pool", spatial, "_with_indices");
  const std::vector<ValueId> found =
      call.emit_many(spatial == 1 ? std::string_view("aten.max_pool1d_with_indices.default") : call.keep(name), given,
                     {with_elem(call.output_type(), call.type_of(x).elem), call.output_type(1)});
  call.results({cast(call, found[0], elem), places_in_tensor(call, found[1], spatial)});
}

ValueId average(WriteCall& call, ValueId x, const Window& window, bool counts_padding) {
  const std::size_t spatial = window.kernel.size();
  return call.emit(call.keep(pool_name("avg_pool", spatial)),
                   {{"self", x},
                    {"kernel_size", window.kernel},
                    {"stride", window.strides},
                    {"padding", window.begins},
                    {"ceil_mode", call.integer("ceil_mode", 0) != 0},
                    {"count_include_pad", counts_padding}},
                   with_elem(call.output_type(), call.type_of(x).elem));
}

/// The sums over windows, dilated and incomplete ones too: a convolution with ones of each channel by itself. `value` is what the padding counts.
ValueId window_sums(WriteCall& call, ValueId x, const Window& window, double value) {
  const std::size_t spatial = window.kernel.size();
  const Shape& in = *call.shape(0);
  const Shape& out = *call.output_type().shape;
  const ElementType elem = call.elem(0);
  Ints more(spatial, 0);  // behind the padding, where the last window is incomplete
  for (std::size_t i = 0; i < spatial; ++i) {
    if (!in[i + 2].is_constant() || !out[i + 2].is_constant()) {
      if (call.integer("ceil_mode", 0) != 0) call.refuse("incomplete windows over an axis of unknown size");
      continue;
    }
    const Int reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const Int there = in[i + 2].constant() + window.begins[i] + window.ends[i];
    more[i] = std::max<Int>((out[i + 2].constant() - 1) * window.strides[i] + reach - there, 0);
  }
  Shape planes(call.type_of(x).shape->begin(), call.type_of(x).shape->end());
  planes[0] = call.dims().mul(planes[0], planes[1]);
  planes[1] = Dim(1);
  x = constant_pad(call, reshape(call, x, planes), window.begins, window.ends, value);
  if (std::any_of(more.begin(), more.end(), [](Int size) { return size > 0; }))
    x = constant_pad(call, x, Ints(spatial, 0), more, 0);
  Shape weight = {Dim(1), Dim(1)};
  for (const Int size : window.kernel) weight.emplace_back(size);
  Shape sums(out.begin(), out.end());
  sums[0] = planes[0];
  sums[1] = Dim(1);
  return call.emit("aten.convolution.default",
                   {{"input", x},
                    {"weight", full(call, weight, 1, elem)},
                    {"bias", {}},
                    {"stride", window.strides},
                    {"padding", Ints(spatial, 0)},
                    {"dilation", window.dilations},
                    {"transposed", false},
                    {"output_padding", Ints(spatial, 0)},
                    {"groups", Int{1}}},
                   Type::tensor(elem, sums));
}

/// What PyTorch's pools lack: a share of the sums. Elements behind the padding never count.
void average_by_sums(WriteCall& call, const Window& window, bool counts_padding) {
  if (!call.shape(0) || !call.output_type().shape) return call.refuse("the rank of its result is not known");
  const ValueId sums = window_sums(call, call.input(0), window, 0);
  Shape plane(call.shape(0)->begin(), call.shape(0)->end());
  plane[0] = plane[1] = 1;
  const ValueId counts = window_sums(call, full(call, plane, 1, call.elem(0)), window, counts_padding ? 1 : 0);
  if (call.refused()) return;
  const ValueId shares = binary(call, "aten.div.Tensor", sums, counts, call.type_of(sums));
  call.result(reshape(call, shares, *call.output_type().shape));
}

void map_average_pool(WriteCall& call) {
  const std::size_t spatial = spatial_rank(call);
  Window window = window_of(call, spatial, 0);
  if (call.refused()) return;
  const bool counts_padding = call.integer("count_include_pad", 0) != 0;
  const bool is_dilated = std::any_of(window.dilations.begin(), window.dilations.end(), [](Int d) { return d != 1; });
  if (!is_dilated && fits_pool(window)) return call.result(average(call, call.input(0), window, counts_padding));
  average_by_sums(call, window, counts_padding);
}

Ints spatial_axes(std::size_t rank) {
  Ints axes;
  for (std::size_t i = 2; i < rank; ++i) axes.push_back(static_cast<Int>(i));
  return axes;
}

void map_global_average_pool(WriteCall& call) {
  call.result(reduce(call, "aten.mean.dim", call.input(0), spatial_axes(call.rank(0)), true));
}
void map_global_max_pool(WriteCall& call) {
  call.result(reduce(call, "aten.amax.default", call.input(0), spatial_axes(call.rank(0)), true));
}

ValueId to_power(WriteCall& call, ValueId x, double exponent) {
  const Type type = call.type_of(x);
  return call.emit("aten.pow.Tensor_Scalar", {{"self", x}, {"exponent", exponent}}, type);
}

void map_global_lp_pool(WriteCall& call) {
  const auto p = static_cast<double>(call.integer("p", 2));
  const ValueId powers = to_power(call, unary(call, "aten.abs.default", call.input(0)), p);
  const ValueId sum = reduce(call, "aten.sum.dim_IntList", powers, spatial_axes(call.rank(0)), true);
  call.result(to_power(call, sum, 1 / p));
}

/// The sum over a window is its average times its places.
void map_lp_pool(WriteCall& call) {
  const std::size_t spatial = spatial_rank(call);
  Window window = window_of(call, spatial, 0);
  if (call.refused()) return;
  const auto p = static_cast<double>(call.integer("p", 2));
  if (std::any_of(window.dilations.begin(), window.dilations.end(), [](Int d) { return d != 1; }) ||
      call.integer("ceil_mode", 0) != 0) {
    if (!call.shape(0) || !call.output_type().shape) return call.refuse("the rank of its result is not known");
    const ValueId powers = to_power(call, unary(call, "aten.abs.default", call.input(0)), p);
    const ValueId sums = window_sums(call, powers, window, 0);
    if (call.refused()) return;
    return call.result(to_power(call, reshape(call, sums, *call.output_type().shape), 1 / p));
  }
  double places = 1;
  for (const Int size : window.kernel) places *= static_cast<double>(size);
  ValueId x = to_power(call, unary(call, "aten.abs.default", call.input(0)), p);
  x = prepared(call, x, window, 0);
  x = multiply_number(call, average(call, x, window, true), places);
  call.result(to_power(call, x, 1 / p));
}

/// Elements put where a pool found them, in a tensor of zeros.
void map_max_unpool(WriteCall& call) {
  const Type& type = call.output_type();
  if (call.has(2) || !type.shape || !are_computable(call, *type.shape))
    return call.refuse("the sizes of its result are given at run time");
  if (!call.shape(0)) return call.refuse("the rank of its input is not known");
  Dim count = 1, given = 1;
  for (const Dim size : *type.shape) count = call.dims().mul(count, size);
  for (const Dim size : *call.shape(0)) given = call.dims().mul(given, size);
  const ValueId flat = full(call, {count}, 0, call.elem(0));
  const ValueId filled = call.emit("aten.scatter.src",
                                   {{"self", flat},
                                    {"dim", Int{0}},
                                    {"index", reshape(call, call.input(1), {given})},
                                    {"src", reshape(call, call.input(0), {given})}},
                                   Type::tensor(call.elem(0), {count}));
  call.result(reshape(call, filled, *type.shape));
}

}  // namespace

void register_pooling(Writers& writers);
void register_pooling(Writers& writers) {
  writers.add("MaxPool", map_max_pool);
  writers.add("AveragePool", map_average_pool);
  writers.add("GlobalAveragePool", map_global_average_pool);
  writers.add("GlobalMaxPool", map_global_max_pool);
  writers.add("GlobalLpPool", map_global_lp_pool);
  writers.add("LpPool", map_lp_pool);
  writers.add("MaxUnpool", map_max_unpool);
}

}  // namespace onnxkit::aten
