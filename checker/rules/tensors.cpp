// Stored tensors: a known element type, possible sizes, values in one field that fits the type, as many as the shape says.
#include <fmt/core.h>

#include "checker/for_each_tensor.h"
#include "checker/rule_registry.h"
#include "libonnxkit/base/checked.h"
#include "libonnxkit/ir/tensor/sparse.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::checker {
namespace {

using ir::TypedField;

std::string shape_text(std::span<const std::int64_t> dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", dims[i]);
  return text + "]";
}

bool check_storage(RuleContext& context, const ir::Tensor& tensor, ElementType type, const TensorLocation& location) {
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
    context.error("tensor-storage", location, "the values are stored in several fields", "one field",
                  tensor.is_external() ? used + " and external data" : used);
    return false;
  }
  if (misplaced != TypedField::none) {
    context.error("tensor-storage", location,
                  fmt::format("values of type {} must not be stored in {}", name_of(type), ir::to_string(misplaced)),
                  fmt::format("{} or raw_data", ir::to_string(ir::typed_field_of(type))), ir::to_string(misplaced));
    return false;
  }
  if (type == ElementType::string && tensor.raw_data.present() && !tensor.raw_data.empty()) {
    context.error("tensor-storage", location, "strings cannot be stored in raw_data", "string_data", "raw_data");
    return false;
  }
  if (type == ElementType::string && tensor.is_external()) {
    context.error("tensor-storage", location, "strings cannot be external data", "string_data");
    return false;
  }
  return true;
}

void check_size(RuleContext& context, const ir::Tensor& tensor, ElementType type, std::int64_t count,
                const TensorLocation& location) {
  const std::string shape = fmt::format("{} {}", name_of(type), shape_text(tensor.dims));
  if (tensor.raw_data.present() && type != ElementType::string) {
    const auto bytes = ir::expected_bytes(type, count);
    if (bytes && *bytes == tensor.raw_data.size()) return;
    if (!tensor.raw_data.empty() || count > 0) {
      context.error("tensor-size", location, "the size of raw_data does not match the shape",
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
    context.error("tensor-size", location, fmt::format("{} is malformed", ir::to_string(field)),
                  fmt::format("whole values of {}", shape));
  } else if (!expected || *expected != *found) {
    context.error("tensor-size", location,
                  fmt::format("the length of {} does not match the shape", ir::to_string(field)),
                  expected ? fmt::format("{} values for {}", *expected, shape) : "a shape that can be stored",
                  fmt::format("{} values", *found));
  }
}

void check_tensor_tensors(RuleContext& context, const ir::Tensor& tensor, const TensorLocation& location) {
  const ElementType type = ir::element_type_of(tensor);
  if (type == ElementType::undefined) {
    context.error("tensor-type", location, "the tensor has an unknown element type", "a TensorProto.DataType",
                  tensor.data_type ? std::to_string(*tensor.data_type) : "nothing");
    return;
  }
  if (tensor.segment) {
    context.error("tensor-segment", location, "the tensor is stored in segments, which is not supported",
                  "a tensor in one piece");
    return;
  }
  const auto count = ir::element_count(tensor);
  if (!count) {
    context.error("tensor-dims", location, "a size is negative, or the product of the sizes is too large",
                  "sizes of 0 or more whose product fits 63 bits", shape_text(tensor.dims));
    return;
  }
  if (check_storage(context, tensor, type, location) && !tensor.is_external())
    check_size(context, tensor, type, *count, location);
}

void check_sparse(RuleContext& context, const ir::SparseTensor& sparse, const TensorLocation& location) {
  const auto before = context.collector.error_count();
  if (sparse.values && sparse.indices) {
    check_tensor_tensors(context, *sparse.values, location);
    check_tensor_tensors(context, *sparse.indices, location);
  }
  if (context.collector.error_count() > before) return;
  const auto report = [&](const Error& error) {
    const Diagnostic& d = error.diagnostic;
    context.error("sparse-tensor", location, d.message, d.expected, d.found);
  };
  if (const Result<void> shapes = ir::check_sparse_shapes(sparse); !shapes) return report(shapes.error());
  if (sparse.indices->is_external()) return;
  if (const auto positions = ir::sparse_positions(sparse); !positions) report(positions.error());
}

void check_tensors(RuleContext& context) {
  for_each_tensor(
      context,
      [&](const ir::Tensor& tensor, const TensorLocation& location) {
        check_tensor_tensors(context, tensor, location);
      },
      [&](const ir::SparseTensor& sparse, const TensorLocation& location) { check_sparse(context, sparse, location); });
}

}  // namespace

void register_tensors(RuleRegistry& registry) { registry.add(Stage::structure, check_tensors); }

}  // namespace onnxkit::checker
