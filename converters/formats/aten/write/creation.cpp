// Tensors made of numbers.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "converters/formats/aten/lower.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::aten {
namespace {

/// Constants whose content inference does not follow: real numbers and large tensors.
void map_constant(WriteCall& call) {
  if (call.has_attribute("value")) return call.result(call.tensor_attribute("value"));
  if (call.has_attribute("value_float"))
    return call.result(call.scalar(ElementType::float32, call.real("value_float", 0)));
  if (call.has_attribute("value_int"))
    return call.result(call.scalar(ElementType::int64, static_cast<double>(call.integer("value_int", 0))));
  if (call.has_attribute("value_ints"))
    return call.result(call.integers_tensor(ElementType::int64, call.integers("value_ints")));
  if (!call.has_attribute("value_floats")) return call.refuse("its content is not a tensor of numbers");
  const std::vector<double> values = call.reals("value_floats");
  call.result(call.reals_tensor(ElementType::float32, {static_cast<Int>(values.size())}, values));
}

/// The number that fills the tensor, where a double holds it and PyTorch fills with it.
std::optional<double> small_number(const WriteCall& call) {
  const ElementType elem = call.output_type().elem;
  const ir::Tensor* tensor = call.node.find_attribute("value")->tensor();
  const bool is_plain = elem == ElementType::boolean || elem == ElementType::float32 || elem == ElementType::float64 ||
                        elem == ElementType::int32 || elem == ElementType::int64;
  if (!tensor || tensor->is_external() || !is_plain) return std::nullopt;
  auto reader = ir::ElementReader::open(*tensor);
  double value = 0;
  if (!reader || reader->count() != 1 || reader->read(std::span(&value, 1)) != 1) return std::nullopt;
  constexpr double most_exact = 9007199254740992;
  return elem == ElementType::int64 && std::abs(value) >= most_exact ? std::nullopt : std::optional(value);
}

void map_constant_of_shape(WriteCall& call) {
  const Type& type = call.output_type();
  const bool is_known = type.shape && are_computable(call, *type.shape);
  const Given::Mixed sizes = is_known ? size_arguments(call, *type.shape) : integer_arguments(call, 0);
  if (!call.has_attribute("value"))
    return call.result(
        call.emit("aten.full.default", {{"size", sizes}, {"fill_value", 0.0}, {"dtype", ElementType::float32}}, type));
  if (const auto number_there = small_number(call))
    return call.result(
        call.emit("aten.full.default",
                  {{"size", sizes}, number("fill_value", type.elem, *number_there), {"dtype", type.elem}}, type));
  const ValueId value = call.tensor_attribute("value");
  if (value == ValueId::none) return;
  if (type.elem == ElementType::undefined) return call.refuse("the type of its elements is not known");
  const Type one = Type::tensor(type.elem, {Dim(1)});
  const ValueId flat = call.emit("aten.reshape.default", {{"self", value}, {"shape", Ints{1}}}, one);
  const ValueId scalar = select(call, flat, 0, 0);
  call.result(call.emit("aten.expand.default", {{"self", scalar}, {"size", sizes}}, type));
}

/// Integers where start, limit and delta are; real numbers are computed as ONNX does, start + place * delta.
void map_range(WriteCall& call) {
  const ElementType elem = call.elem(0);
  if (is_integer(elem)) {
    std::vector<Given> given = {{"start", Int{0}}, {"end", Int{0}}, {"step", Int{1}}, {"dtype", elem}};
    for (std::size_t i = 0; i < 3; ++i)
      std::visit([&](auto value) { given[i].value = value; }, integer_argument(call, i));
    return call.result(call.emit("aten.arange.start_step", given, call.output_type()));
  }
  const Type whole = Type::tensor(ElementType::int64, {});
  const Type real = Type::tensor(elem, {});
  const ValueId start = call.input(0), limit = call.input(1), delta = call.input(2);
  const ValueId span = binary(call, "aten.sub.Tensor", limit, start, real);
  const ValueId places = unary(call, "aten.ceil.default", binary(call, "aten.div.Tensor", span, delta, real));
  const ValueId count = item(call, cast(call, clamp(call, places, 0, 9e15), ElementType::int64), Dim());
  const ValueId place = call.emit("aten.arange.start_step",
                                  {{"start", Int{0}}, {"end", count}, {"step", Int{1}}, {"dtype", ElementType::int64}},
                                  with_elem(call.output_type(), ElementType::int64));
  const ValueId steps = binary(call, "aten.mul.Tensor", cast(call, place, elem), delta, call.output_type());
  call.result(binary(call, "aten.add.Tensor", steps, start, call.output_type()));
}

void map_eye_like(WriteCall& call) {
  if (call.rank(0) != 2) return call.refuse("its input is not a matrix");
  const Shape& shape = *call.shape(0);
  const ValueId row = reshape(call, count_up(call, shape[0]), {shape[0], Dim(1)});
  const ValueId column = reshape(call, count_up(call, shape[1]), {Dim(1), shape[1]});
  const ValueId diagonal = add_number(call, row, static_cast<double>(call.integer("k", 0)));
  const Type type = call.output_type();
  const ValueId hits = binary(call, "aten.eq.Tensor", diagonal, column, with_elem(type, ElementType::boolean));
  call.result(cast(call, hits, type.elem));
}

void map_trilu(WriteCall& call) {
  Given diagonal{"diagonal", Int{0}};
  if (call.has(1)) std::visit([&](auto value) { diagonal.value = value; }, integer_argument(call, 1));
  const bool is_upper = call.integer("upper", 1) != 0;
  call.result(call.emit(is_upper ? "aten.triu.default" : "aten.tril.default", {{"self", call.input(0)}, diagonal},
                        call.output_type()));
}

/// Indices outside of the depth switch nothing on.
void map_one_hot(WriteCall& call) {
  const std::size_t rank = call.rank(0) + 1;
  const Int axis = call.axis("axis", -1, rank);
  const Shape& out = call.output_type().shape ? *call.output_type().shape : Shape(rank);
  if (call.refused()) return;
  const Dim size = out.size() == rank ? out[static_cast<std::size_t>(axis)] : Dim();
  Given depth{"other", Int{0}};
  if (is_computable(call, size)) {
    std::visit([&](auto value) { depth.value = value; }, size_argument(call, size));
  } else {
    depth.value = item(call, cast(call, call.input(1), ElementType::int64), size);
  }
  Given end = depth;
  end.name = "end";
  const ValueId indices = cast(call, call.input(0), ElementType::int64);
  const Type type = call.type_of(indices);
  const ValueId shifted = call.emit("aten.add.Scalar", {{"self", indices}, depth}, type);
  const ValueId from_start = where(call, compare_number(call, "aten.lt.Scalar", indices, 0), shifted, indices, type);
  ValueId places =
      call.emit("aten.arange.start_step", {{"start", Int{0}}, end, {"step", Int{1}}, {"dtype", ElementType::int64}},
                Type::tensor(ElementType::int64, {size}));
  Ints behind;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < rank; ++i)
    behind.push_back(static_cast<Int>(behind.size()) + 1);
  places = unsqueeze(call, places, behind);
  const ValueId hits = binary(call, "aten.eq.Tensor", unsqueeze(call, from_start, {axis}), places,
                              with_elem(call.output_type(), ElementType::boolean));
  const ValueId off = select(call, call.input(2), 0, 0), on = select(call, call.input(2), 0, 1);
  call.result(where(call, hits, on, off, call.output_type()));
}

void window_function(WriteCall& call, std::string_view op, std::vector<Given> more) {
  const ElementType elem = call.output_type().elem;
  std::vector<Given> given = {{"window_length", Int{0}}, {"periodic", call.integer("periodic", 1) != 0}};
  std::visit([&](auto value) { given[0].value = value; }, integer_argument(call, 0));
  given.insert(given.end(), more.begin(), more.end());
  given.push_back({"dtype", elem});
  call.result(call.emit(op, std::move(given), call.output_type()));
}
void map_hann_window(WriteCall& call) { window_function(call, "aten.hann_window.periodic", {}); }
void map_blackman_window(WriteCall& call) { window_function(call, "aten.blackman_window.periodic", {}); }
void map_hamming_window(WriteCall& call) {
  window_function(call, "aten.hamming_window.periodic_alpha_beta", {{"alpha", 25.0 / 46}, {"beta", 21.0 / 46}});
}

}  // namespace

void register_creation(Writers& writers);
void register_creation(Writers& writers) {
  writers.add("Constant", map_constant);
  writers.add("ConstantOfShape", map_constant_of_shape);
  writers.add("Range", map_range);
  writers.add("EyeLike", map_eye_like);
  writers.add("Trilu", map_trilu);
  writers.add("OneHot", map_one_hot);
  writers.add("HannWindow", map_hann_window);
  writers.add("BlackmanWindow", map_blackman_window);
  writers.add("HammingWindow", map_hamming_window);
}

}  // namespace onnxkit::aten
