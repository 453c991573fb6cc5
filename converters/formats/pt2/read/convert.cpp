// The same numbers as another type, on another device.
#include "converters/foreign/complex_numbers.h"
#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Complex;
using foreign::Val;

void map_to(Call& call) {
  auto& onnx = call.onnx;
  const Complex x = call.complex(call.has("self") ? "self" : "a");
  ElementType type = call.elem("dtype");
  if (call.has("other")) {
    const Complex other = call.complex("other");
    type = other.imaginary ? foreign::complex_type_of(onnx.elem(other.real)) : onnx.elem(other.real);
  }
  if (type == ElementType::undefined) return call.result(x);
  if (type == ElementType::boolean && x.imaginary)
    return call.result(onnx.emit("Or", {onnx.cast(x.real, type), onnx.cast(x.imaginary, type)}));
  const ElementType part = foreign::part_type_of(type);
  const Val real = onnx.cast(x.real, part);
  if (part == type) return call.result(real);  // without the imaginary part, as in PyTorch
  call.result(with_both_parts(onnx, {real, x.imaginary ? onnx.cast(x.imaginary, part) : Val{}}));
}

template <ElementType type>
void map_fixed(Call& call) {
  call.result(call.onnx.cast(call.tensor("self"), type));
}

}  // namespace

void register_convert(Mappings& mappings);
void register_convert(Mappings& mappings) {
  mappings.add({"aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten.to.other", "aten._to_copy.default",
                "aten.type_as.default"},
               map_to);
  mappings.add("prims.convert_element_type.default", map_to);
  mappings.add("aten.float.default", map_fixed<ElementType::float32>);
}

}  // namespace onnxkit::pt2
