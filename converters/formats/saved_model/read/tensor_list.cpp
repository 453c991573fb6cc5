// Lists of tensors, as tensors with a first axis for the elements. Loops that write an element in each pass gather them instead.
#include <algorithm>

#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

/// A list as a tensor; refuses one whose elements have unknown sizes.
Val elements(Call& call) {
  const Val list = call.tensor("input_handle");
  if (!call.onnx.type(list).is_tensor()) call.refuse("the sizes of the list's elements are not known");
  return list;
}

void map_from_tensor(Call& call) { call.result(call.tensor("tensor")); }

/// Zeros, or, where their sizes are not known, something that is no tensor, which only loops that write elements in order may be given.
Val reserved(Call& call, Val count, ElementType elem, const std::optional<std::vector<std::int64_t>>& sizes) {
  auto& onnx = call.onnx;
  if (!sizes || std::any_of(sizes->begin(), sizes->end(), [](std::int64_t size) { return size < 0; }))
    return onnx.emit("SequenceEmpty", {}, {{"dtype", static_cast<std::int64_t>(elem)}});
  return onnx.emit("Expand", {onnx.scalar(elem, 0), onnx.joined({count, onnx.integers(*sizes)})});
}

/// A list of so many elements, or of none.
void map_reserve(Call& call) {
  const ElementType elem = call.elem("element_dtype");
  if (elem == ElementType::undefined) return call.refuse("it is not a list of tensors");
  auto sizes = call.onnx.constant_integers(call.tensor("element_shape"));
  if (call.onnx.rank(call.tensor("element_shape")) == 0) sizes.reset();
  const Val count = call.has("num_elements") ? as_sizes(call, "num_elements") : call.onnx.integers({0});
  call.result(reserved(call, count, elem, sizes));
}

/// An array of TensorFlow 1: its handle, and the flow, which orders what is done with it. Both stand for the elements.
void map_array(Call& call) {
  const foreign::Argument* given = call.argument("element_shape");
  std::optional<std::vector<std::int64_t>> sizes;
  if (given && given->as<foreign::Argument::List>()) sizes = call.integers("element_shape");
  const Val list = reserved(call, as_sizes(call, "num_elements"), call.elem("dtype"), sizes);
  call.results({list, list});
}

void map_get_item(Call& call) {
  call.result(call.onnx.emit("Gather", {elements(call), call.tensor("index")}, {{"axis", std::int64_t{0}}}));
}
void map_gather_items(Call& call) {
  call.result(call.onnx.emit("Gather", {elements(call), call.tensor("indices")}, {{"axis", std::int64_t{0}}}));
}

void map_set_item(Call& call) {
  auto& onnx = call.onnx;
  const Val list = elements(call), place = onnx.reshape(onnx.cast(call.tensor("index"), ElementType::int64), {1, 1});
  call.result(onnx.emit("ScatterND", {list, place, onnx.unsqueeze(call.tensor("item"), {0})}));
}

void map_scatter(Call& call) {
  auto& onnx = call.onnx;
  const Val list = elements(call), places = onnx.unsqueeze(onnx.cast(call.tensor("indices"), ElementType::int64), {1});
  call.result(onnx.emit("ScatterND", {list, places, call.tensor("tensor")}));
}

void map_push_back(Call& call) {
  auto& onnx = call.onnx;
  const Val list = elements(call), item = onnx.unsqueeze(call.tensor("tensor"), {0});
  call.result(onnx.emit("Concat", {list, item}, {{"axis", std::int64_t{0}}}));
}

void map_stack(Call& call) { call.result(elements(call)); }

void map_length(Call& call) {
  auto& onnx = call.onnx;
  const Val size = onnx.reshape(onnx.size_of(elements(call), 0), std::vector<std::int64_t>());
  call.result(onnx.cast(size, ElementType::int32));
}

}  // namespace

void register_tensor_list(Mappings& mappings);
void register_tensor_list(Mappings& mappings) {
  mappings.add("TensorListFromTensor", {"tensor", "element_shape"}, map_from_tensor);
  mappings.add("TensorListReserve", {"element_shape", "num_elements"}, map_reserve);
  mappings.add("EmptyTensorList", {"element_shape", "max_num_elements"}, map_reserve);
  mappings.add("TensorListGetItem", {"input_handle", "index", "element_shape"}, map_get_item);
  mappings.add("TensorListGather", {"input_handle", "indices", "element_shape"}, map_gather_items);
  mappings.add("TensorListSetItem", {"input_handle", "index", "item"}, map_set_item);
  mappings.add("TensorListPushBack", {"input_handle", "tensor"}, map_push_back);
  mappings.add("TensorListStack", {"input_handle", "element_shape"}, map_stack);
  mappings.add("TensorListLength", {"input_handle"}, map_length);
  mappings.add("TensorArrayV3", {"num_elements"}, map_array, {"handle", "flow"});
  mappings.add("TensorArrayReadV3", {"handle", "index", "input_handle"}, map_get_item);
  mappings.add("TensorArrayGatherV3", {"handle", "indices", "input_handle"}, map_gather_items);
  mappings.add("TensorArrayWriteV3", {"handle", "index", "item", "input_handle"}, map_set_item);
  mappings.add("TensorArrayScatterV3", {"handle", "indices", "tensor", "input_handle"}, map_scatter);
  mappings.add("TensorArraySizeV3", {"handle", "input_handle"}, map_length);
}

}  // namespace onnxkit::saved_model
