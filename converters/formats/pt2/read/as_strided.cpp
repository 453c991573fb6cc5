// Views that address the elements of a tensor's storage by strides.
#include <algorithm>
#include <numeric>
#include <set>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// The axes of a tensor from the outermost to the innermost in its storage; nothing where elements lie apart or overlap.
std::optional<std::vector<std::int64_t>> storage_order(const foreign::TensorType& type) {
  if (!type.shape || type.strides.size() != type.shape->size()) return {};
  std::vector<std::int64_t> order(type.strides.size());
  std::iota(order.begin(), order.end(), 0);
  const auto is_one = [&](std::int64_t axis) { return (*type.shape)[static_cast<std::size_t>(axis)].constant == 1; };
  const auto stride = [&](std::int64_t axis) { return type.strides[static_cast<std::size_t>(axis)]; };
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return stride(a) > stride(b); });
  std::int64_t inside = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    if (is_one(*axis)) continue;
    if (stride(*axis) != inside) return {};
    const std::int64_t size = (*type.shape)[static_cast<std::size_t>(*axis)].constant;
    // Behind an open size no stride is a constant.
    if (size < 0 || __builtin_mul_overflow(inside, size, &inside)) inside = -1;
  }
  return order;
}

/// The places in the storage that a view reads, row by row; nothing where they are too many.
std::optional<std::vector<std::int64_t>> places_of(const std::vector<std::int64_t>& sizes,
                                                   const std::vector<std::int64_t>& strides, std::int64_t offset) {
  constexpr std::int64_t most = 1 << 20;
  std::vector<std::int64_t> places = {offset};
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::int64_t size = sizes[axis];
    if (size < 0 || size > most || static_cast<std::int64_t>(places.size()) * size > most) return {};
    std::vector<std::int64_t> more;
    for (const std::int64_t place : places)
      for (std::int64_t i = 0; i < size; ++i) {
        std::int64_t step = 0, sum = 0;
        if (__builtin_mul_overflow(i, strides[axis], &step) || __builtin_add_overflow(place, step, &sum)) return {};
        more.push_back(sum);
      }
    places = std::move(more);
  }
  return places;
}

/// Whether a view with these strides reads places 0, 1, 2 ...; one size may be open where it is the outermost.
bool is_contiguous(const foreign::Shape& sizes, const std::vector<std::int64_t>& strides) {
  std::int64_t inside = 1;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    const foreign::Dim size = sizes[axis];
    if (size.is(1)) continue;
    if (strides[axis] != inside) return false;
    if (!size.is_constant() || __builtin_mul_overflow(inside, size.constant(), &inside)) inside = -1;
  }
  return true;
}

/// Sizes that are not 1, of the axes in this order.
foreign::Shape without_ones(const foreign::Shape& sizes) {
  foreign::Shape kept;
  std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(kept),
               [](const foreign::Dim& size) { return !size.is(1); });
  return kept;
}

/// Only elements of the tensor itself are there, not what else lies in its storage.
void map_as_strided(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const foreign::TensorType* const type = call.declared_type("self");
  const auto order = type ? storage_order(*type) : std::nullopt;
  const std::vector<std::int64_t> strides = call.integers("stride");
  const Val sizes = call.sizes("size");
  const foreign::Shape known = onnx.symbolic_integers(sizes);
  if (!order || order->size() != call.rank(x))
    return call.refuse("the strides of the tensor leave gaps or are not constant");
  if (known.size() != strides.size()) return call.refuse("a stride for each size is wanted");
  std::int64_t offset = 0;
  if (__builtin_sub_overflow(call.integer("storage_offset", type->storage_offset), type->storage_offset, &offset))
    return call.refuse("the view begins outside of the storage");
  const Val stored = onnx.transpose(x, *order);
  const foreign::Shape* const shape = onnx.shape(stored);
  if (offset == 0 && is_contiguous(known, strides) && shape && without_ones(*shape) == without_ones(known))
    return call.result(onnx.emit("Reshape", {stored, sizes}));
  const auto constant = onnx.constant_integers(sizes);
  const auto count = onnx.element_count(x);
  const auto places = constant && count ? places_of(*constant, strides, offset) : std::nullopt;
  if (!places) return call.refuse("the sizes are not constant, or too large");
  const bool is_inside =
      std::all_of(places->begin(), places->end(), [&](std::int64_t at) { return at >= 0 && at < *count; });
  if (!is_inside) return call.refuse("the view reads elements of the storage that are none of the tensor");
  const Val taken =
      onnx.emit("Gather", {onnx.reshape(stored, {-1}), onnx.integers(*places)}, {{"axis", std::int64_t{0}}});
  call.result(onnx.emit("Reshape", {taken, sizes}));
}

/// A tensor with those elements replaced that a view with these strides reads.
void map_as_strided_scatter(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const foreign::TensorType* const type = call.declared_type("self");
  const auto order = type ? storage_order(*type) : std::nullopt;
  const auto count = onnx.element_count(x);
  const std::vector<std::int64_t> sizes = call.integers("size"), strides = call.integers("stride");
  if (!order || !count || order->size() != call.rank(x) || sizes.size() != strides.size())
    return call.refuse("the strides of the tensor leave gaps or are not constant");
  std::int64_t offset = 0;
  if (__builtin_sub_overflow(call.integer("storage_offset", type->storage_offset), type->storage_offset, &offset))
    return call.refuse("the view begins outside of the storage");
  const auto places = places_of(sizes, strides, offset);
  if (!places) return call.refuse("the sizes are too large");
  const std::set<std::int64_t> apart(places->begin(), places->end());
  if (apart.size() != places->size()) return call.refuse("elements of the view overlap");
  if (!apart.empty() && (*apart.begin() < 0 || *apart.rbegin() >= *count))
    return call.refuse("the view has elements of the storage that are none of the tensor");
  const Val stored = onnx.transpose(x, *order);
  const Val source = onnx.reshape(onnx.cast(call.tensor("src"), onnx.elem(x)), {-1});
  const Val written = onnx.emit("ScatterElements", {onnx.reshape(stored, {-1}), onnx.integers(*places), source});
  std::vector<std::int64_t> back(order->size());
  for (std::size_t i = 0; i < order->size(); ++i)
    back[static_cast<std::size_t>((*order)[i])] = static_cast<std::int64_t>(i);
  call.result(onnx.transpose(onnx.emit("Reshape", {written, onnx.emit("Shape", {stored})}), back));
}

}  // namespace

void register_as_strided(Mappings& mappings);
void register_as_strided(Mappings& mappings) {
  mappings.add({"aten.as_strided.default", "aten.as_strided_copy.default"}, map_as_strided);
  mappings.add("aten.as_strided_scatter.default", map_as_strided_scatter);
}

}  // namespace onnxkit::pt2
