// Constant: a tensor in every version, of real numbers until 8; a sparse tensor from 11 on; numbers and strings in attributes from 12 on.
#include <algorithm>

#include <fmt/core.h>

#include "converters/opset/compose/old_constant.h"
#include "converters/opset/engine/steps.h"
#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::opset {
namespace {

/// The model states such a tensor itself, so that it may be larger than what a step makes up.
constexpr std::int64_t largest_dense = std::int64_t{1} << 28;

const ir::Tensor* value_of(const Step& step) {
  const ir::Attribute* value = step.node().find_attribute("value");
  return value ? value->tensor() : nullptr;
}

void to_real_constant(Step& step) {
  const ir::Tensor* value = value_of(step);
  if (!value) refuse_unknown("the function's caller sets attribute value");
  if (fits_old_constant(ir::element_type_of(*value))) return;
  write_old_constant(step, *value, step.output(0));
  step.replace();
  step.note("a Cast of floating-point numbers");
}

/// Row-major positions of the elements that are there; a list of positions or of coordinates says which.
std::vector<std::int64_t> positions(const ir::SparseTensor& sparse, std::int64_t count) {
  auto reader = sparse.indices ? ir::ElementReader::open(*sparse.indices) : std::nullopt;
  if (!reader || ir::element_type_of(*sparse.indices) != ElementType::int64)
    refuse("the positions of the sparse tensor cannot be read");
  std::vector<std::int64_t> read(static_cast<std::size_t>(reader->count()));
  if (reader->read(read) != read.size()) refuse("the positions of the sparse tensor cannot be read");
  const std::size_t rank = sparse.indices->dims.size() == 2 ? sparse.dims.size() : 1;
  if (rank == 0 || read.size() % rank != 0) refuse("the positions of the sparse tensor do not match its shape");
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < read.size(); i += rank) {
    std::int64_t at = read[i];
    for (std::size_t k = 1; k < rank; ++k) {
      if (read[i + k] < 0 || read[i + k] >= sparse.dims[k]) at = -1;
      at = at < 0 ? -1 : at * sparse.dims[k] + read[i + k];
    }
    if (at < 0 || at >= count) refuse("a position of the sparse tensor is outside its shape");
    result.push_back(at);
  }
  return result;
}

/// All elements written down; those that are not there are 0.
ir::Tensor dense(Step& step, const ir::SparseTensor& sparse) {
  const auto count = checked_element_count(sparse.dims);
  if (!count || *count > largest_dense) refuse("the sparse tensor is too large to write with all its zeros");
  const ElementType type = sparse.values ? ir::element_type_of(*sparse.values) : ElementType::undefined;
  auto reader = sparse.values ? ir::ElementReader::open(*sparse.values) : std::nullopt;
  const auto width = static_cast<std::size_t>(storage_bits(type) / 8);
  if (!reader || width == 0) refuse("the values of the sparse tensor cannot be read");
  const std::vector<std::int64_t> indices = positions(sparse, *count);
  std::vector<std::byte> given((static_cast<std::size_t>(reader->count()) + 8) * width);
  if (indices.size() != static_cast<std::size_t>(reader->count()) || reader->read_raw(given) < indices.size() * width)
    refuse("the sparse tensor has different numbers of values and positions");
  std::string bytes(static_cast<std::size_t>(*count) * width, '\0');
  for (std::size_t i = 0; i < indices.size(); ++i) {
    for (std::size_t k = 0; k < width; ++k)
      bytes[static_cast<std::size_t>(indices[i]) * width + k] = static_cast<char>(given[i * width + k]);
  }
  ir::Tensor tensor;
  tensor.dims = sparse.dims;
  tensor.data_type = static_cast<std::int32_t>(type);
  tensor.raw_data = step.keep(bytes);
  return tensor;
}

void to_dense(Step& step) {
  const ir::Attribute* attribute = step.node().find_attribute("sparse_value");
  if (!attribute) return;
  const auto* held = attribute->as<std::unique_ptr<ir::SparseTensor>>();
  if (!held || !*held) refuse_unknown("the function's caller sets attribute sparse_value");
  step.set_attribute(step.attribute("value", dense(step, **held)));
  step.remove("sparse_value");
}

template <class Values>
ir::Tensor tensor_of(Step& step, ElementType type, std::vector<std::int64_t> dims, const Values& values) {
  ir::Tensor tensor;
  tensor.dims = std::move(dims);
  tensor.data_type = static_cast<std::int32_t>(type);
  tensor.raw_data =
      step.keep({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(typename Values::value_type)});
  return tensor;
}

ir::Tensor text_tensor(std::vector<std::int64_t> dims, std::vector<Text> texts) {
  ir::Tensor tensor;
  tensor.dims = std::move(dims);
  tensor.data_type = static_cast<std::int32_t>(ElementType::string);
  tensor.string_data = std::move(texts);
  return tensor;
}

/// The number, string or list of one attribute as a tensor.
ir::Tensor as_tensor(Step& step, const ir::Attribute& attribute) {
  const std::string_view name = attribute.name;
  const auto many = [](const auto& list) { return std::vector<std::int64_t>{static_cast<std::int64_t>(list.size())}; };
  if (name == "value_int")
    return tensor_of(step, ElementType::int64, {}, std::vector<std::int64_t>{step.integer(name)});
  if (name == "value_float") return tensor_of(step, ElementType::float32, {}, std::vector<float>{step.real(name)});
  if (name == "value_ints") {
    const auto& values = *step.list_as_written<std::int64_t>(name);
    return tensor_of(step, ElementType::int64, many(values), values);
  }
  if (name == "value_floats") {
    const auto& values = *step.list_as_written<float>(name);
    return tensor_of(step, ElementType::float32, many(values), values);
  }
  if (name == "value_string") return text_tensor({}, {step.keep(step.string(name))});
  const auto& texts = *step.list_as_written<Text>(name);
  return text_tensor(many(texts), texts);
}

void to_tensor(Step& step) {
  for (const ir::Attribute& attribute : step.node().attributes) {
    const std::string_view name = attribute.name;
    if (!name.starts_with("value_")) continue;
    step.set_attribute(step.attribute("value", as_tensor(step, attribute)));
    step.remove(name);
    step.note(fmt::format("{} rewritten as a tensor", name));
    return;
  }
}

}  // namespace

void register_constant(StepRegistry& registry) {
  registry.change({"Constant"}, 9, compatible("more types are allowed"),
                  adapt("rewritten as floating-point numbers, other types by Cast", to_real_constant));
  registry.change({"Constant"}, 11, compatible("a sparse tensor is also allowed"),
                  adapt("a sparse tensor is rewritten with its zeros", to_dense));
  registry.change({"Constant"}, 12, compatible("numbers and strings are also allowed"),
                  adapt("the value is rewritten as a tensor", to_tensor));
  registry.types({"Constant"}, {13, 19, 21, 23, 24, 25});
}

}  // namespace onnxkit::opset
