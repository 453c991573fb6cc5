// Stored tensors: a known element type, possible sizes, values in one field that fits the type, as many as the shape says.
#include <fmt/core.h>

#include "checker/rule_registry.h"
#include "checker/tensor_walk.h"
#include "libonnxkit/base/checked.h"
#include "libonnxkit/ir/tensor_data.h"

namespace onnxkit::checker {
namespace {

using ir::TypedField;

std::string shape_text(std::span<const std::int64_t> dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", dims[i]);
  return text + "]";
}

bool check_storage(RuleContext& context, const ir::Tensor& tensor, ElementType type, const Place& place) {
  std::string used;
  int fields = 0;
  const auto count_field = [&](std::string_view name) {
    used += fmt::format("{}{}", used.empty() ? "" : " and ", name);
    ++fields;
  };
  if (tensor.raw_data.present() && !(tensor.is_external() && tensor.raw_data.empty())) count_field("raw_data");
  TypedField misplaced = TypedField::none;
  for (const TypedField field : ir::all_typed_fields) {
    if (!ir::has_entries(tensor, field)) continue;
    count_field(ir::to_string(field));
    if (field != ir::typed_field_of(type)) misplaced = field;
  }
  if (fields > 1 || (fields == 1 && tensor.is_external())) {
    context.error("tensor-storage", place, "the values are stored more than once", "one field",
                  tensor.is_external() ? used + " and external data" : used);
    return false;
  }
  if (misplaced != TypedField::none) {
    context.error("tensor-storage", place,
                  fmt::format("values of type {} do not belong into {}", name_of(type), ir::to_string(misplaced)),
                  fmt::format("{} or raw_data", ir::to_string(ir::typed_field_of(type))), ir::to_string(misplaced));
    return false;
  }
  if (type == ElementType::string && tensor.raw_data.present() && !tensor.raw_data.empty()) {
    context.error("tensor-storage", place, "strings have no raw form", "string_data", "raw_data");
    return false;
  }
  if (type == ElementType::string && tensor.is_external()) {
    context.error("tensor-storage", place, "strings cannot be external data", "string_data");
    return false;
  }
  return true;
}

void check_size(RuleContext& context, const ir::Tensor& tensor, ElementType type, std::int64_t count,
                const Place& place) {
  const std::string shape = fmt::format("{} {}", name_of(type), shape_text(tensor.dims));
  if (tensor.raw_data.present() && type != ElementType::string) {
    const auto bytes = ir::expected_bytes(type, count);
    if (bytes && *bytes == tensor.raw_data.size()) return;
    if (!tensor.raw_data.empty() || count > 0) {
      context.error("tensor-size", place, "raw_data does not fit the shape",
                    bytes ? fmt::format("{} bytes for {}", *bytes, shape) : "a shape that can be stored",
                    fmt::format("{} bytes", tensor.raw_data.size()));
      return;
    }
  }
  const TypedField field = ir::typed_field_of(type);
  const auto expected = type == ElementType::string ? std::optional(static_cast<std::uint64_t>(count))
                                                    : ir::expected_entries(type, count);
  const auto found = field == TypedField::string_data ? std::optional<std::uint64_t>(tensor.string_data.size())
                                                      : ir::entry_count(tensor, field);
  if (!found) {
    context.error("tensor-size", place, fmt::format("{} is malformed", ir::to_string(field)),
                  fmt::format("whole values of {}", shape));
  } else if (!expected || *expected != *found) {
    context.error("tensor-size", place, fmt::format("{} does not fit the shape", ir::to_string(field)),
                  expected ? fmt::format("{} values for {}", *expected, shape) : "a shape that can be stored",
                  fmt::format("{} values", *found));
  }
}

void check_tensor(RuleContext& context, const ir::Tensor& tensor, const Place& place) {
  const ElementType type = ir::element_type_of(tensor);
  if (type == ElementType::undefined) {
    context.error("tensor-type", place, "the tensor has no known element type", "a TensorProto.DataType",
                  tensor.data_type ? std::to_string(*tensor.data_type) : "nothing");
    return;
  }
  if (tensor.segment) {
    context.error("tensor-segment", place, "the tensor is stored in segments, which nothing can join",
                  "a tensor in one piece");
    return;
  }
  const auto count = ir::element_count(tensor);
  if (!count) {
    context.error("tensor-dims", place, "a size is negative, or all of them together are too large",
                  "sizes of 0 or more whose product fits 63 bits", shape_text(tensor.dims));
    return;
  }
  if (check_storage(context, tensor, type, place) && !tensor.is_external())
    check_size(context, tensor, type, *count, place);
}

void check_sparse(RuleContext& context, const ir::SparseTensor& sparse, const Place& place) {
  const auto fail = [&](std::string message, std::string expected = {}, std::string found = {}) {
    context.error("sparse-tensor", place, std::move(message), std::move(expected), std::move(found));
  };
  if (!sparse.values || !sparse.indices) return fail("a sparse tensor has values and indices");
  const auto before = context.sink.error_count();
  check_tensor(context, *sparse.values, place);
  check_tensor(context, *sparse.indices, place);
  if (context.sink.error_count() > before) return;
  const std::vector<std::int64_t>& values_shape = sparse.values->dims;
  const std::vector<std::int64_t>& indices_shape = sparse.indices->dims;
  if (values_shape.size() != 1) return fail("the values are a vector", "rank 1", shape_text(values_shape));
  if (ir::element_type_of(*sparse.indices) != ElementType::int64) {
    return fail("indices are int64", "int64", std::string(name_of(ir::element_type_of(*sparse.indices))));
  }
  const auto total = checked_element_count(sparse.dims);
  if (!total) return fail("the dense shape is impossible", "sizes of 0 or more", shape_text(sparse.dims));
  const auto rank = static_cast<std::int64_t>(sparse.dims.size());
  const bool linear = indices_shape.size() == 1;
  const bool tuples = indices_shape.size() == 2 && indices_shape[1] == rank;
  if (!linear && !tuples) {
    return fail("indices are a vector, or one tuple of as many numbers as the shape has axes for each value",
                fmt::format("[{0}] or [{0}, {1}]", values_shape[0], rank), shape_text(indices_shape));
  }
  if (indices_shape[0] != values_shape[0]) {
    return fail("each value has one index", fmt::format("{} indices", values_shape[0]),
                std::to_string(indices_shape[0]));
  }
  if (sparse.indices->is_external()) return;
  auto reader = ir::ElementReader::open(*sparse.indices);
  if (!reader) return fail("the indices cannot be read");
  std::vector<std::int64_t> tuple(linear ? 1 : sparse.dims.size());
  std::int64_t last = -1;
  for (std::int64_t i = 0; i < indices_shape[0]; ++i) {
    if (reader->read(tuple) != tuple.size()) return fail("the indices cannot be read");
    std::int64_t flat = 0;
    for (std::size_t k = 0; k < tuple.size(); ++k) {
      const std::int64_t size = linear ? *total : sparse.dims[k];
      if (tuple[k] < 0 || tuple[k] >= size) {
        return fail(fmt::format("index {} of value {} is out of range", tuple[k], i), fmt::format("0 to {}", size - 1),
                    std::to_string(tuple[k]));
      }
      flat = linear ? tuple[k] : flat * size + tuple[k];
    }
    if (flat <= last)
      return fail(fmt::format("the index of value {} does not ascend", i), "ascending indices, each once");
    last = flat;
  }
}

void check_tensors(RuleContext& context) {
  for_each_tensor(
      context, [&](const ir::Tensor& tensor, const Place& place) { check_tensor(context, tensor, place); },
      [&](const ir::SparseTensor& sparse, const Place& place) { check_sparse(context, sparse, place); });
}

}  // namespace

void register_tensors(RuleRegistry& registry) { registry.add(Stage::structure, check_tensors); }

}  // namespace onnxkit::checker
