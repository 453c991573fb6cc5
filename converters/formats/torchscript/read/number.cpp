// Numbers between tensors and the language, and operators that go by another name in .pt2.
#include "converters/formats/torchscript/mappings.h"

namespace onnxkit::torchscript {
namespace {

using foreign::Call;
using foreign::Val;

/// A number, which is a vector of one, as a tensor without axes.
void map_number_to_tensor(Call& call) {
  const foreign::Argument* given = call.argument("a");
  if (const std::int64_t* constant = given ? given->as<std::int64_t>() : nullptr)
    return call.result(call.onnx.scalar_integer(ElementType::int64, *constant));
  if (const double* constant = given ? given->as<double>() : nullptr)
    return call.result(call.onnx.scalar(ElementType::float32, *constant));
  if (const bool* constant = given ? given->as<bool>() : nullptr)
    return call.result(call.onnx.scalar(ElementType::boolean, *constant ? 1 : 0));
  const Val computed = given ? call.value_of(*given) : Val();
  if (computed && call.onnx.elem(computed) != ElementType::int64) {
    const bool is_fraction = call.onnx.elem(computed) == ElementType::float64;
    const Val number = is_fraction ? call.onnx.cast(computed, ElementType::float32) : computed;
    return call.result(call.onnx.reshape(number, std::initializer_list<std::int64_t>{}));
  }
  const Val number = call.size("a", 0);
  if (const auto known = call.onnx.constant_integers(number); known && known->size() == 1)
    return call.result(call.onnx.scalar_integer(ElementType::int64, known->front()));
  call.result(call.onnx.reshape(number, std::initializer_list<std::int64_t>{}));
}

/// A real number as a tensor from which it can be had back, so in double.
void map_real_to_tensor(Call& call) {
  const Val number = call.number("a", ElementType::float64);
  call.result(call.onnx.reshape(number, std::initializer_list<std::int64_t>{}));
}

/// The only element of a tensor as a number; a constant where it is known.
void map_tensor_to_integer(Call& call) {
  auto& onnx = call.onnx;
  const Val x = onnx.cast(call.tensor("a"), ElementType::int64);
  if (const auto known = onnx.constant_integers(x); known && known->size() == 1)
    return call.result(onnx.integers(*known));
  call.result(onnx.reshape(x, {1}));
}

void map_tensor_to_real(Call& call) {
  call.result(call.onnx.reshape(call.onnx.cast(call.tensor("a"), ElementType::float64), {1}));
}

void map_tensor_to_boolean(Call& call) {
  call.result(call.onnx.reshape(call.onnx.cast(call.tensor("a"), ElementType::boolean), {1}));
}

/// How many elements a tensor has.
void map_element_count(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  if (const auto known = onnx.element_count(x)) return call.result(onnx.integers({*known}));
  call.result(onnx.reshape(onnx.emit("Size", {x}), {1}));
}

}  // namespace

void register_number(Mappings& mappings);
void register_number(Mappings& mappings) {
  mappings.add("prim.NumToTensor.Scalar", map_number_to_tensor);
  mappings.add("prim.NumToTensor.float", map_real_to_tensor);
  mappings.add("prim.Int.Tensor", map_tensor_to_integer);
  mappings.add("prim.Float.Tensor", map_tensor_to_real);
  mappings.add("prim.Bool.Tensor", map_tensor_to_boolean);
  mappings.add("aten.numel.default", map_element_count);
  mappings.add_as("aten._convolution.default", "aten.convolution.default");
  mappings.add_as("aten._convolution.deprecated", "aten.convolution.default");
  mappings.add_as("aten._convolution_mode.default", "aten.conv2d.padding");
  mappings.add_as("aten.__or__.Tensor", "aten.bitwise_or.Tensor");
  mappings.add_as("aten.__xor__.Tensor", "aten.bitwise_xor.Tensor");
  mappings.add_as("aten.to.prim_Device", "aten.to.dtype");
  mappings.add_as("aten.to.prim_dtype", "aten.to.dtype");
  mappings.add_as("aten.feature_dropout.default", "aten.dropout.default");
}

}  // namespace onnxkit::torchscript
