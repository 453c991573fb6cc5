#include "converters/foreign/call.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "converters/foreign/complex_numbers.h"
#include "converters/foreign/import.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::foreign {

bool Call::has(std::string_view name) const {
  const Argument* given = node.find(name);
  return given && !given->is_none();
}

Val Call::value_of(const Argument& argument) {
  const ValueId* id = argument.as<ValueId>();
  if (!id || *id == ValueId::none) return {};
  const Val value = importer_.value(graph_, *id);
  if (!value) refuse(fmt::format("nothing computes its argument {}", quote(graph_.name_of(*id))));
  const bool is_complex = static_cast<bool>(importer_.imaginary(graph_, *id));
  if (is_complex && importer_.part() == ComplexPart::none)
    refuse(fmt::format("its argument {} holds complex numbers", quote(graph_.name_of(*id))));
  return value;
}

/// The imaginary part of real numbers beside complex ones is 0. What an operator is given under other names tells places or sizes.
Val Call::part_at_hand(std::string_view name, const Argument& argument, Val value) {
  constexpr std::array<std::string_view, 5> operands = {"self", "other", "src", "values", "tensors"};
  const ValueId* id = argument.as<ValueId>();
  const bool is_real = value && id && !importer_.imaginary(graph_, *id);
  if (importer_.part() != ComplexPart::imaginary || !is_real) return value;
  if (std::ranges::find(operands, name) == operands.end()) return value;
  return onnx.emit("Expand", {onnx.scalar(onnx.elem(value), 0), onnx.emit("Shape", {value})});
}

std::vector<Val> Call::values_of(const Argument& argument) {
  std::vector<Val> values;
  if (const Argument::List* list = argument.as<Argument::List>())
    for (const Argument& item : *list) values.push_back(value_of(item));
  return values;
}

Val Call::tensor(std::string_view name) {
  const Argument* given = node.find(name);
  if (!given || given->is_none()) return {};
  const Val value = value_of(*given);
  if (!value) refuse(fmt::format("argument {} is not a tensor", quote(name)));
  return part_at_hand(name, *given, value);
}

Complex Call::complex(std::string_view name) {
  const Argument* given = node.find(name);
  return given && given->as<ValueId>() ? complex(*given) : Complex{tensor(name), {}};
}

Complex Call::complex(const Argument& argument) {
  const ValueId* id = argument.as<ValueId>();
  const bool is_whole = importer_.part() == ComplexPart::none;
  if (id && is_whole && importer_.imaginary(graph_, *id))
    return {importer_.value(graph_, *id), importer_.imaginary(graph_, *id)};
  return {value_of(argument), {}};
}

std::vector<Val> Call::tensors(std::string_view name) {
  const Argument* given = node.find(name);
  std::vector<Val> values = given ? values_of(*given) : std::vector<Val>();
  const auto* list = given ? given->as<Argument::List>() : nullptr;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = part_at_hand(name, (*list)[i], values[i]);
  return values;
}

std::int64_t Call::integer(std::string_view name, std::int64_t fallback) {
  const Argument* given = node.find(name);
  if (!given || given->is_none()) return fallback;
  if (const std::int64_t* constant = given->as<std::int64_t>()) return *constant;
  if (const bool* constant = given->as<bool>()) return *constant ? 1 : 0;
  if (given->as<ValueId>()) {
    if (const auto known = onnx.constant_integers(value_of(*given)); known && known->size() == 1) return known->front();
  }
  refuse(fmt::format("argument {} is not constant", quote(name)));
  return fallback;
}

std::vector<std::int64_t> Call::integers(std::string_view name, std::vector<std::int64_t> fallback) {
  const Argument* given = node.find(name);
  if (!given || given->is_none()) return fallback;
  if (const std::int64_t* constant = given->as<std::int64_t>()) return {*constant};
  const Argument::List* list = given->as<Argument::List>();
  std::vector<std::int64_t> values;
  if (list) {
    for (const Argument& item : *list) {
      if (const std::int64_t* constant = item.as<std::int64_t>()) {
        values.push_back(*constant);
      } else if (const auto known = onnx.constant_integers(value_of(item)); known && known->size() == 1) {
        values.push_back(known->front());
      }
    }
  }
  if (!list || values.size() != list->size()) {
    refuse(fmt::format("argument {} is not constant", quote(name)));
    return fallback;
  }
  return values;
}

double Call::real(std::string_view name, double fallback) {
  const Argument* given = node.find(name);
  if (!given || given->is_none()) return fallback;
  if (const double* constant = given->as<double>()) return *constant;
  return static_cast<double>(integer(name, 0));
}

std::vector<double> Call::reals(std::string_view name) {
  std::vector<double> values;
  const Argument* given = node.find(name);
  const Argument::List* list = given ? given->as<Argument::List>() : nullptr;
  if (!list) return values;
  for (const Argument& item : *list) {
    if (const double* constant = item.as<double>()) values.push_back(*constant);
    if (const std::int64_t* constant = item.as<std::int64_t>()) values.push_back(static_cast<double>(*constant));
  }
  if (values.size() != list->size()) refuse(fmt::format("argument {} is not constant", quote(name)));
  return values;
}

bool Call::flag(std::string_view name, bool fallback) {
  const Argument* given = node.find(name);
  if (!given || given->is_none()) return fallback;
  if (const bool* constant = given->as<bool>()) return *constant;
  return integer(name, fallback ? 1 : 0) != 0;
}

std::string_view Call::text(std::string_view name, std::string_view fallback) {
  const Argument* given = node.find(name);
  const std::string_view* constant = given ? given->as<std::string_view>() : nullptr;
  return constant ? *constant : fallback;
}

ElementType Call::elem(std::string_view name, ElementType fallback) {
  const Argument* given = node.find(name);
  const ElementType* constant = given ? given->as<ElementType>() : nullptr;
  return constant ? at_hand(*constant) : fallback;
}

std::int64_t Call::axis(std::string_view name, std::int64_t fallback, std::size_t rank) {
  const std::int64_t given = integer(name, fallback);
  const auto axes = static_cast<std::int64_t>(rank == 0 ? 1 : rank);  // a scalar counts as a vector of one
  if (given >= -axes && given < axes) return given < 0 ? given + axes : given;
  refuse(fmt::format("argument {} is {}, but there are {} axes", quote(name), given, rank));
  return 0;
}

std::vector<std::int64_t> Call::axes(std::string_view name, std::size_t rank) {
  std::vector<std::int64_t> given = integers(name);
  const auto count = static_cast<std::int64_t>(rank == 0 ? 1 : rank);
  if (given.empty())
    for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(rank); ++axis) given.push_back(axis);
  for (std::int64_t& axis : given) {
    if (axis < -count || axis >= count) refuse(fmt::format("argument {} names axis {} of {}", quote(name), axis, rank));
    if (axis < 0) axis += count;
  }
  return given;
}

Val Call::as_size(const Argument& argument) {
  if (const std::int64_t* constant = argument.as<std::int64_t>()) return onnx.integers({*constant});
  const Val value = value_of(argument);
  if (!value) {
    refuse("a size is neither a number nor a value");
    return onnx.integers({1});
  }
  if (const auto known = onnx.constant_integers(value); known && known->size() == 1) return onnx.integers(*known);
  const Val whole = onnx.cast(value, ElementType::int64);
  return onnx.rank(whole) == 0 ? onnx.reshape(whole, {1}) : whole;
}

Val Call::sizes(std::string_view name) {
  const Argument* given = node.find(name);
  const Argument::List* list = given ? given->as<Argument::List>() : nullptr;
  if (!list) {
    if (given && given->as<std::int64_t>()) return as_size(*given);
    refuse(fmt::format("argument {} is not a list of sizes", quote(name)));
    return onnx.integers({1});
  }
  std::vector<Val> parts;
  for (const Argument& item : *list) parts.push_back(as_size(item));
  return onnx.joined(parts);
}

Val Call::size(std::string_view name, std::int64_t fallback) {
  const Argument* given = node.find(name);
  if (!given || given->is_none()) return onnx.integers({fallback});
  return as_size(*given);
}

Val Call::number(std::string_view name, ElementType type, double fallback) {
  const Argument* given = node.find(name);
  if (!given || given->is_none()) return onnx.scalar(type, fallback);
  const bool is_imaginary = importer_.part() == ComplexPart::imaginary;
  if (const auto* constant = given->as<std::complex<double>>()) {
    if (importer_.part() == ComplexPart::none) refuse(fmt::format("argument {} is a complex number", quote(name)));
    return onnx.scalar(type, is_imaginary ? constant->imag() : constant->real());
  }
  const auto* id = given->as<ValueId>();
  if (is_imaginary && (!id || !importer_.imaginary(graph_, *id))) return onnx.scalar(type, 0);
  if (const std::int64_t* constant = given->as<std::int64_t>()) return onnx.scalar_integer(type, *constant);
  if (const double* constant = given->as<double>()) return onnx.scalar(type, *constant);
  if (const bool* constant = given->as<bool>()) return onnx.scalar(type, *constant ? 1 : 0);
  return onnx.cast(tensor(name), type);
}

Complex Call::complex_number(std::string_view name, ElementType part) {
  const Argument* given = node.find(name);
  const auto* constant = given ? given->as<std::complex<double>>() : nullptr;
  if (!constant) return {number(name, part), {}};
  return {onnx.scalar(part, constant->real()), onnx.scalar(part, constant->imag())};
}

std::size_t Call::rank(Val value) {
  if (const auto known = onnx.rank(value)) return *known;
  refuse("the rank of an argument is not known");
  return 0;
}

void Call::results(const std::vector<Val>& values) {
  if (values.size() < node.outputs.size()) return refuse("the mapping gives fewer results than the node has");
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (const ElementType type = values[i] ? onnx.elem(values[i]) : ElementType::undefined; type != part_type_of(type))
      refuse("it gives complex numbers, which its form in ONNX does not");
    importer_.set_value(graph_, node.outputs[i], values[i]);
    if (values[i] && !refused() && importer_.part() == ComplexPart::none)
      onnx.name_value(values[i], graph_.name_of(node.outputs[i]));
  }
}

void Call::result(const Complex& value) {
  if (!value.imaginary || refused()) return result(value.real);
  if (node.outputs.empty()) return;
  // The declared type counts: what is written in place keeps its own.
  const ElementType declared = part_type_of(declared_elem());
  const ElementType type = is_floating(declared) ? declared : onnx.elem(value.real);
  importer_.set_complex(graph_, node.outputs.front(), {onnx.cast(value.real, type), onnx.cast(value.imaginary, type)});
}

const TensorType* Call::declared_type(std::size_t output) const {
  if (output >= node.outputs.size() || node.outputs[output] == ValueId::none) return nullptr;
  const auto& type = graph_.values[index_of(node.outputs[output])].type;
  return type ? &*type : nullptr;
}

const Value* Call::declared(std::string_view argument_name) const {
  const Argument* given = node.find(argument_name);
  return given ? declared(*given) : nullptr;
}

const Value* Call::declared(const Argument& item) const {
  const ValueId* id = item.as<ValueId>();
  return id && *id != ValueId::none ? &graph_.values[index_of(*id)] : nullptr;
}

const Tensor* Call::stored(std::string_view argument_name) const {
  const Argument* given = node.find(argument_name);
  const ValueId* id = given ? given->as<ValueId>() : nullptr;
  if (!id || *id == ValueId::none) return nullptr;
  const auto found = std::find_if(graph_.tensors.begin(), graph_.tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.value == *id; });
  return found == graph_.tensors.end() ? nullptr : &*found;
}

bool Call::is_output(std::size_t output) const {
  if (output >= node.outputs.size()) return false;
  return std::any_of(graph_.outputs.begin(), graph_.outputs.end(),
                     [&](const Output& other) { return other.value == node.outputs[output]; });
}

const Value* Call::declared_output(std::size_t output) const {
  if (output >= node.outputs.size() || node.outputs[output] == ValueId::none) return nullptr;
  return &graph_.values[index_of(node.outputs[output])];
}

const TensorType* Call::declared_type(std::string_view name) const {
  const Value* value = declared(name);
  return value && value->type ? &*value->type : nullptr;
}

ElementType Call::declared_elem(std::size_t output) const {
  const TensorType* type = declared_type(output);
  return type ? at_hand(type->elem) : ElementType::undefined;
}

ElementType Call::at_hand(ElementType elem) const {
  return importer_.part() == ComplexPart::none ? elem : part_type_of(elem);
}

void Call::refuse(std::string reason, std::string help) { importer_.refuse(std::move(reason), std::move(help)); }
std::int64_t Call::opset() const { return importer_.opset(); }
bool Call::has_opset(std::int64_t opset) {
  if (importer_.opset() >= opset) return true;
  importer_.need_opset(opset);
  refuse(fmt::format("it needs an operator of opset {}", opset));
  return false;
}
bool Call::refused() const { return importer_.refused(); }

std::vector<Val> Call::inlined(const Graph& body, std::vector<Val> inputs) {
  return importer_.import_inlined(body, std::move(inputs));
}

}  // namespace onnxkit::foreign
