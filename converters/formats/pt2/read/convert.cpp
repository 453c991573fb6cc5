// The same numbers as another type, on another device.
#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

void map_to(Call& call) {
  const Val x = call.tensor(call.has("self") ? "self" : "a");
  ElementType type = call.elem("dtype");
  if (call.has("other")) type = call.onnx.elem(call.tensor("other"));
  call.result(type == ElementType::undefined ? x : call.onnx.cast(x, type));
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
