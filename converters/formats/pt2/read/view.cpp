// Other shapes of the same elements.
#include <algorithm>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// A reshape with sizes that may be values. With one size that is no number and no -1, that one is -1, which runtimes infer without
/// computing sizes.
Val reshaped(Call& call, Val x, std::string_view name) {
  auto& onnx = call.onnx;
  const foreign::Argument* given = call.argument(name);
  const foreign::Argument::List* list = given ? given->as<foreign::Argument::List>() : nullptr;
  if (!list) {
    call.refuse("the sizes are no list");
    return x;
  }
  std::vector<std::int64_t> sizes;
  std::size_t open = 0;
  bool has_zero = false;
  for (const foreign::Argument& item : *list) {
    const std::int64_t* constant = item.as<std::int64_t>();
    sizes.push_back(constant ? *constant : -1);
    open += sizes.back() == -1 ? 1 : 0;
    has_zero = has_zero || sizes.back() == 0;
  }
  if (open <= 1 && !has_zero) return onnx.reshape(x, sizes);
  return onnx.emit("Reshape", {x, call.sizes(name)}, {{"allowzero", std::int64_t{has_zero ? 1 : 0}}});
}

void map_view(Call& call) {
  if (call.has("dtype") && call.elem("dtype") == call.onnx.elem(call.tensor("self")))
    return call.result(call.tensor("self"));
  if (call.has("dtype")) return call.refuse("a view of the bytes as another type");
  call.result(reshaped(call, call.tensor("self"), call.has("shape") ? "shape" : "size"));
}

void map_reshape_as(Call& call) {
  const Val sizes = call.onnx.emit("Shape", {call.tensor("other")});
  call.result(call.onnx.emit("Reshape", {call.tensor("self"), sizes}));
}

/// Axes from start to end become one.
void map_flatten(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  const std::int64_t start = call.axis("start_dim", 0, rank), end = call.axis("end_dim", -1, rank);
  if (rank == 0) return call.result(onnx.reshape(x, {1}));
  if (start == 1 && end + 1 == static_cast<std::int64_t>(rank))
    return call.result(onnx.emit("Flatten", {x}, {{"axis", std::int64_t{1}}}));
  std::vector<Val> sizes;
  for (std::int64_t axis = 0; axis < start; ++axis) sizes.push_back(onnx.size_of(x, axis));
  sizes.push_back(onnx.integers({-1}));
  for (std::int64_t axis = end + 1; axis < static_cast<std::int64_t>(rank); ++axis)
    sizes.push_back(onnx.size_of(x, axis));
  call.result(onnx.emit("Reshape", {x, onnx.joined(sizes)}));
}

void map_unflatten(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  const std::int64_t split = call.axis("dim", 0, rank);
  std::vector<Val> sizes;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(rank); ++axis)
    sizes.push_back(axis == split ? call.sizes("sizes") : onnx.size_of(x, axis));
  call.result(onnx.emit("Reshape", {x, onnx.joined(sizes)}));
}

void map_permute(Call& call) {
  const Val x = call.tensor("self");
  call.result(call.onnx.transpose(x, call.axes("dims", call.rank(x))));
}

/// Two axes change places; `t` has two at most.
void map_transpose(Call& call) {
  const Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  if (rank < 2) return call.result(x);
  std::vector<std::int64_t> order;
  for (std::size_t axis = 0; axis < rank; ++axis) order.push_back(static_cast<std::int64_t>(axis));
  const char* const a = call.has("axis0") ? "axis0" : "dim0";
  const char* const b = call.has("axis1") ? "axis1" : "dim1";
  std::swap(order[static_cast<std::size_t>(call.axis(a, 0, rank))],
            order[static_cast<std::size_t>(call.axis(b, 1, rank))]);
  call.result(call.onnx.transpose(x, order));
}

void map_unsqueeze(Call& call) {
  const Val x = call.tensor("self");
  call.result(call.onnx.unsqueeze(x, {call.axis("dim", 0, call.rank(x) + 1)}));
}

/// Only axes of size 1 go; others stay.
void map_squeeze(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  std::vector<std::int64_t> gone;
  const bool has_axes = call.has("dim");
  if (has_axes && call.integers("dim").empty()) return call.result(x);  // no axes, not all
  for (const std::int64_t axis : call.axes("dim", rank)) {
    const auto size = onnx.size(x, static_cast<std::size_t>(axis));
    if (!size && has_axes) return call.refuse("whether an axis is squeezed depends on its size, which is not known");
    if (size == 1 && rank > 0) gone.push_back(axis);
  }
  call.result(onnx.squeeze(x, gone));
}

/// The last two axes change places; other forms turn all axes around.
template <bool only_last>
void map_turned(Call& call) {
  const Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  std::vector<std::int64_t> order;
  for (std::size_t axis = 0; axis < rank; ++axis) order.push_back(static_cast<std::int64_t>(axis));
  if (only_last && rank < 2) return call.refuse("a matrix has two axes at least");
  std::reverse(only_last ? order.end() - 2 : order.begin(), order.end());
  call.result(call.onnx.transpose(x, order));
}

/// Some axes go to other places; those that stay keep their order.
void map_movedim(Call& call) {
  const Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  const std::vector<std::int64_t> from = call.axes("source", rank), to = call.axes("destination", rank);
  if (from.size() != to.size()) call.refuse("a place for each axis is wanted");
  if (call.refused()) return;
  std::vector<std::int64_t> order(rank, -1);
  for (std::size_t i = 0; i < from.size() && rank > 0; ++i) order[static_cast<std::size_t>(to[i])] = from[i];
  std::int64_t next = 0;
  for (std::int64_t& axis : order) {
    if (axis >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    axis = next++;
  }
  call.result(call.onnx.transpose(x, order));
}

void map_ravel(Call& call) { call.result(call.onnx.reshape(call.tensor("self"), {-1})); }

/// Axes of size 1 until there are so many; a vector becomes a row, and a plane gets its third axis behind.
template <std::size_t least>
void map_atleast(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  if (rank >= least) return call.result(x);
  std::vector<std::int64_t> added;
  if (rank == 0)
    for (std::size_t axis = 0; axis < least; ++axis) added.push_back(static_cast<std::int64_t>(axis));
  if (rank == 1) added = least == 2 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{0, 2};
  if (rank == 2) added = {2};
  call.result(onnx.unsqueeze(x, added));
}

/// Each tensor as large as all of them broadcast.
void map_broadcast_tensors(Call& call) {
  auto& onnx = call.onnx;
  const std::vector<Val> tensors = call.tensors("tensors");
  std::vector<Val> zeros;
  for (const Val x : tensors) {
    const Val sizes = onnx.emit("Shape", {x});
    zeros.push_back(onnx.emit("Expand", {onnx.scalar(ElementType::float32, 0), sizes}));
  }
  if (zeros.empty()) return call.refuse("there is nothing to broadcast");
  const Val shape = onnx.emit("Shape", {onnx.emit("Sum", zeros)});
  std::vector<Val> results;
  for (const Val x : tensors) results.push_back(onnx.emit("Expand", {x, shape}));
  call.results(results);
}

/// As repeat, where fewer repetitions than axes leave the first axes alone.
void map_tile(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const foreign::Argument* given = call.argument("dims");
  const foreign::Argument::List* list = given ? given->as<foreign::Argument::List>() : nullptr;
  const std::size_t rank = call.rank(x);
  if (!list) return call.refuse("the repetitions are no list");
  std::vector<std::int64_t> added;
  for (std::size_t axis = rank; axis < list->size(); ++axis) added.push_back(static_cast<std::int64_t>(axis - rank));
  const std::vector<std::int64_t> once(rank > list->size() ? rank - list->size() : 0, 1);
  if (list->empty()) return call.result(x);
  call.result(onnx.emit("Tile", {onnx.unsqueeze(x, added), onnx.joined({onnx.integers(once), call.sizes("dims")})}));
}

void map_expand(Call& call) {
  auto& onnx = call.onnx;
  const foreign::Argument* given = call.argument("size");
  const foreign::Argument::List* list = given ? given->as<foreign::Argument::List>() : nullptr;
  const Val x = call.tensor("self");
  if (!list) return call.refuse("the sizes are no list");
  // Where a size is -1 the axis stays; Expand takes 1 for that.
  foreign::Argument::List sizes;
  std::vector<Val> parts;
  std::size_t index = 0;
  const Val all = call.sizes("size");
  const auto known = onnx.constant_integers(all);
  if (known) {
    std::vector<std::int64_t> kept = *known;
    for (std::int64_t& size : kept) size = size == -1 ? 1 : size;
    return call.result(onnx.emit("Expand", {x, onnx.integers(kept)}));
  }
  for (const foreign::Argument& item : *list) {
    const std::int64_t* constant = item.as<std::int64_t>();
    const auto place = static_cast<std::int64_t>(index++);
    if (constant) {
      parts.push_back(onnx.integers({*constant == -1 ? 1 : *constant}));
    } else {
      parts.push_back(onnx.emit("Slice", {all, onnx.integers({place}), onnx.integers({place + 1})}));
    }
  }
  call.result(onnx.emit("Expand", {x, onnx.joined(parts)}));
}

void map_expand_as(Call& call) {
  call.result(call.onnx.emit("Expand", {call.tensor("self"), call.onnx.emit("Shape", {call.tensor("other")})}));
}

/// The source in the type and the sizes of what it is written to.
void map_copy(Call& call) {
  auto& onnx = call.onnx;
  const Val self = call.tensor("self");
  const Val source = onnx.cast(call.tensor("src"), onnx.elem(self));
  const auto* from = onnx.shape(source);
  const auto* to = onnx.shape(self);
  if (from && to && *from == *to) return call.result(source);
  call.result(onnx.emit("Expand", {source, onnx.emit("Shape", {self})}));
}

/// Repetitions along each axis; more of them than axes add axes in front.
void map_repeat(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  const foreign::Argument* given = call.argument("repeats");
  const foreign::Argument::List* list = given ? given->as<foreign::Argument::List>() : nullptr;
  const std::size_t rank = call.rank(x);
  std::vector<std::int64_t> added;
  for (std::size_t axis = rank; list && axis < list->size(); ++axis)
    added.push_back(static_cast<std::int64_t>(axis - rank));
  call.result(onnx.emit("Tile", {onnx.unsqueeze(x, added), call.sizes("repeats")}));
}

}  // namespace

void register_view(Mappings& mappings);
void register_view(Mappings& mappings) {
  mappings.add({"aten.view.default", "aten.reshape.default", "aten._unsafe_view.default", "aten.view_copy.default",
                "aten.view.dtype"},
               map_view);
  mappings.add({"aten.reshape_as.default", "aten.view_as.default"}, map_reshape_as);
  mappings.add({"aten.mT.default", "aten.mH.default", "aten.adjoint.default"}, map_turned<true>);
  mappings.add({"aten.numpy_T.default", "aten.matrix_H.default"}, map_turned<false>);
  mappings.add({"aten.movedim.int", "aten.movedim.intlist", "aten.moveaxis.int", "aten.moveaxis.intlist"}, map_movedim);
  mappings.add("aten.ravel.default", map_ravel);
  mappings.add("aten.atleast_1d.default", map_atleast<1>);
  mappings.add("aten.atleast_2d.default", map_atleast<2>);
  mappings.add("aten.atleast_3d.default", map_atleast<3>);
  mappings.add("aten.broadcast_tensors.default", map_broadcast_tensors);
  mappings.add("aten.tile.default", map_tile);
  mappings.add("aten.flatten.using_ints", map_flatten);
  mappings.add("aten.unflatten.int", map_unflatten);
  mappings.add({"aten.permute.default", "aten.permute_copy.default"}, map_permute);
  mappings.add({"aten.transpose.int", "aten.t.default", "aten.swapaxes.default", "aten.swapdims.default",
                "aten.transpose_copy.int", "aten.t_copy.default"},
               map_transpose);
  mappings.add({"aten.unsqueeze.default", "aten.unsqueeze_copy.default"}, map_unsqueeze);
  mappings.add({"aten.squeeze.default", "aten.squeeze.dim", "aten.squeeze.dims", "aten.squeeze_copy.default",
                "aten.squeeze_copy.dim", "aten.squeeze_copy.dims"},
               map_squeeze);
  mappings.add({"aten.expand.default", "aten.expand_copy.default", "aten.broadcast_to.default"}, map_expand);
  mappings.add("aten.expand_as.default", map_expand_as);
  mappings.add("aten.copy.default", map_copy);
  mappings.add("aten.repeat.default", map_repeat);
}

}  // namespace onnxkit::pt2
