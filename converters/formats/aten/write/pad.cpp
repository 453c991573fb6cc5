// Padding, and what is cut or laid out by windows.
#include <algorithm>

#include "converters/formats/aten/lower.h"
#include "converters/formats/aten/padding.h"

namespace onnxkit::aten {
namespace {

struct Pads {
  Ints begins, ends;  ///< one for each axis
};

bool find_pads(WriteCall& call, Pads& pads) {
  const std::size_t rank = call.rank(0);
  const auto given = call.known_integers(1);
  if (!given) return false;
  Ints axes;
  for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<Int>(i));
  if (call.has(3)) axes = WriteCall::from_start(call.constant_integers(3), rank);
  pads.begins.assign(rank, 0);
  pads.ends.assign(rank, 0);
  if (given->size() != 2 * axes.size()) {
    call.refuse("its pads do not fit its axes");
    return true;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    if (axis >= rank) continue;
    pads.begins[axis] = (*given)[i];
    pads.ends[axis] = (*given)[axes.size() + i];
  }
  return true;
}

/// In PyTorch's order, last axis first.
Given::Mixed pads_in_order(WriteCall& call) {
  Given::Mixed given = integer_arguments(call, 1), pad;
  const std::size_t count = given.size() / 2;
  for (std::size_t i = count; i-- > 0;) {
    pad.push_back(given[i]);
    pad.push_back(given[count + i]);
  }
  return pad;
}

/// Zeros padded around a tensor of true, so that any value can stand there.
void pad_with_value(WriteCall& call, const Given::Mixed& pad) {
  const ElementType elem = call.elem(0);
  const auto value = call.has(2) ? call.known_real(2) : std::optional(0.0);
  if (value)
    return call.result(call.emit("aten.constant_pad_nd.default",
                                 {{"self", call.input(0)}, {"pad", pad}, number("value", elem, *value)},
                                 call.output_type()));
  const ValueId wide = call.emit("aten.constant_pad_nd.default",
                                 {{"self", call.input(0)}, {"pad", pad}, number("value", elem, 0)}, call.output_type());
  const ValueId ones = call.emit("aten.ones_like.default", {{"self", call.input(0)}, {"dtype", ElementType::boolean}},
                                 with_elem(call.type(0), ElementType::boolean));
  const ValueId inside = call.emit("aten.constant_pad_nd.default", {{"self", ones}, {"pad", pad}, {"value", Int{0}}},
                                   with_elem(call.output_type(), ElementType::boolean));
  call.result(where(call, inside, wide, call.input(2), call.output_type()));
}

/// The element that place p of an axis takes, p counted from its old start.
Int source_of(Int p, Int size, std::string_view mode) {
  if (mode == "edge") return std::clamp<Int>(p, 0, size - 1);
  if (mode == "wrap") return ((p % size) + size) % size;
  if (size == 1) return 0;
  const Int period = 2 * (size - 1);
  const Int place = ((p % period) + period) % period;
  return place < size ? place : period - place;
}

void pad_by_places(WriteCall& call, const Pads& pads, std::string_view mode) {
  ValueId x = call.input(0);
  for (std::size_t axis = 0; axis < pads.begins.size(); ++axis) {
    if (pads.begins[axis] == 0 && pads.ends[axis] == 0) continue;
    const auto size = call.size(0, axis);
    if (!size || *size == 0) return call.refuse("it repeats elements of an axis of unknown size");
    Ints places;
    for (Int p = -pads.begins[axis]; p < *size + pads.ends[axis]; ++p) places.push_back(source_of(p, *size, mode));
    Type type = call.type_of(x);
    (*type.shape)[axis] = Dim(static_cast<Int>(places.size()));
    x = call.emit(
        "aten.index_select.default",
        {{"self", x}, {"dim", static_cast<Int>(axis)}, {"index", call.integers_tensor(ElementType::int64, places)}},
        type);
  }
  call.result(x == call.input(0) ? unary(call, "aten.clone.default", x) : x);
}

/// PyTorch repeats elements of the last one to three axes of a tensor that has one or two more.
bool pad_by_operator(WriteCall& call, const Pads& pads, std::string_view mode) {
  const std::size_t rank = pads.begins.size();
  if (rank < 3 || rank > 5 || !is_floating(call.elem(0))) return false;
  Ints pad;
  for (std::size_t axis = rank; axis-- > 0;) {
    const bool is_padded = pads.begins[axis] != 0 || pads.ends[axis] != 0;
    if (axis < 2 && is_padded) return false;
    if (pads.begins[axis] < 0 || pads.ends[axis] < 0) return false;
    const auto size = call.size(0, axis);
    const Int most = std::max(pads.begins[axis], pads.ends[axis]);
    if (mode != "edge" && is_padded && size && most >= *size) return false;
    if (axis >= 2) pad.insert(pad.end(), {pads.begins[axis], pads.ends[axis]});
  }
  const std::string_view name = mode == "edge" ? "replicate" : mode == "wrap" ? "circular" : "reflect";
  call.result(
      call.emit("aten.pad.default", {{"self", call.input(0)}, {"pad", pad}, {"mode", name}}, call.output_type()));
  return true;
}

void map_pad(WriteCall& call) {
  const std::string_view mode = call.text("mode", "constant");
  Pads pads;
  const bool is_known = find_pads(call, pads);
  if (call.refused()) return;
  if (!is_known && (mode != "constant" || call.has(3)))
    return call.refuse("its pads are computed while the model runs", "make them constant");
  if (!is_known) return pad_with_value(call, pads_in_order(call));
  if (mode == "constant") {
    Given::Mixed pad;
    for (std::size_t axis = pads.begins.size(); axis-- > 0;) {
      pad.emplace_back(pads.begins[axis]);
      pad.emplace_back(pads.ends[axis]);
    }
    return pad_with_value(call, pad);
  }
  if (!pad_by_operator(call, pads, mode)) pad_by_places(call, pads, mode);
}

void map_col2im(WriteCall& call) {
  const auto image = call.known_integers(1), block = call.known_integers(2);
  if (!image || !block || image->size() != 2 || block->size() != 2)
    return call.refuse("PyTorch lays out windows of two axes, of known sizes");
  const Ints pads = call.integers("pads", Ints(4, 0));
  if (pads.size() != 4) return call.refuse("its pads do not fit its axes");
  if (pads[0] != pads[2] || pads[1] != pads[3]) return call.refuse("its pads differ at the two ends");
  call.result(call.emit("aten.col2im.default",
                        {{"self", call.input(0)},
                         {"output_size", *image},
                         {"kernel_size", *block},
                         {"dilation", call.integers("dilations", Ints(2, 1))},
                         {"padding", Ints{pads[0], pads[1]}},
                         {"stride", call.integers("strides", Ints(2, 1))}},
                        call.output_type()));
}

/// Of an odd difference the greater half is behind.
void map_center_crop_pad(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const auto sizes = call.known_integers(1);
  if (!sizes) return call.refuse("its sizes are computed while the model runs", "make them constant");
  Ints axes = WriteCall::from_start(call.integers("axes"), rank);
  if (axes.empty())
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<Int>(i));
  Ints pad(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size() && i < sizes->size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    const auto size = axis < rank ? call.size(0, axis) : std::nullopt;
    if (!size) return call.refuse("an axis that it cuts or pads has an unknown size");
    const Int more = (*sizes)[i] - *size;
    const Int before = more >= 0 ? more / 2 : -((-more) / 2);
    pad[2 * (rank - 1 - axis)] = before;
    pad[2 * (rank - 1 - axis) + 1] = more - before;
  }
  call.result(call.emit("aten.constant_pad_nd.default",
                        {{"self", call.input(0)}, {"pad", pad}, number("value", call.elem(0), 0)}, call.output_type()));
}

}  // namespace

void register_pad(Writers& writers);
void register_pad(Writers& writers) {
  writers.add("Pad", map_pad);
  writers.add("Col2Im", map_col2im);
  writers.add("CenterCropPad", map_center_crop_pad);
}

}  // namespace onnxkit::aten
