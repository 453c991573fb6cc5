#include "converters/formats/torchscript/inputs.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "converters/formats/torchscript/set_values.h"

namespace onnxkit::torchscript {
namespace {

using foreign::ValueId;
using Kind = Item::Kind;

bool is_tensor_type(const Expression& type) {
  if (type.kind == Expression::Kind::name) return type.text == "Tensor";
  return type.kind == Expression::Kind::none;  // a parameter without a type is a tensor
}

/// Whether a type is one of this container: "List[...]".
bool is_container(const Expression& type, std::string_view name) {
  return type.kind == Expression::Kind::item && type.parts[0].text == name;
}

/// The types in its brackets.
std::vector<const Expression*> types_inside(const Expression& type) {
  if (type.parts[1].kind != Expression::Kind::tuple) return {&type.parts[1]};
  std::vector<const Expression*> types;
  for (const Expression& part : type.parts[1].parts) types.push_back(&part);
  return types;
}

/// "1,3,224,224" as the caller gave it.
Result<foreign::TensorType> asked_type(std::string_view input, const InputShape& shape, const TracedInput* traced,
                                       StringPool& strings) {
  foreign::TensorType type;
  type.elem = shape.type != ElementType::undefined ? shape.type : traced ? traced->elem : ElementType::float32;
  type.shape.emplace();
  for (const std::string& size : shape.sizes) {
    foreign::Size& axis = type.shape->emplace_back();
    std::int64_t number = 0;
    const auto read = std::from_chars(size.data(), size.data() + size.size(), number);
    const bool is_number = read.ec == std::errc() && read.ptr == size.data() + size.size();
    if (size.empty() || (is_number && number < 0))
      return make_error("usage", fmt::format("the shape of input {} has a size {}", quote(input), quote(size)));
    if (is_number) {
      axis.constant = number;
    } else {
      axis.expression = strings.keep(size).view();
    }
  }
  if (traced && traced->dims.size() != type.shape->size()) {
    Error error = make_error("usage", fmt::format("input {} has another number of axes", quote(input)));
    error.diagnostic.expected = std::to_string(traced->dims.size());
    error.diagnostic.found = std::to_string(type.shape->size());
    return error;
  }
  return type;
}

foreign::TensorType traced_type(const TracedInput& traced) {
  foreign::TensorType type;
  type.elem = traced.elem;
  type.shape.emplace();
  for (const std::int64_t size : traced.dims) type.shape->push_back({.constant = std::max<std::int64_t>(size, 0)});
  return type;
}

Error unknown_shape(std::string_view input) {
  Error error = make_error("not-supported", fmt::format("the file does not say the shape of input {}", quote(input)));
  error.diagnostic.help = fmt::format("onnxkit convert --input-shape {}=1,3,224,224 sets it", without_controls(input));
  return error;
}

Error unknown_parts(std::string_view input, std::string_view first) {
  Error error =
      make_error("not-supported", fmt::format("the file does not say which tensors input {} has", quote(input)));
  error.diagnostic.help = fmt::format("onnxkit convert --input-shape {0}.{1}=1,3,224,224 names one and sets its shape",
                                      without_controls(input), first);
  return error;
}

}  // namespace

bool Inputs::is_asked_for(std::string_view name) const {
  return shapes_.contains(std::string(name)) || !asked_parts(name).empty();
}

std::vector<std::string> Inputs::asked_parts(std::string_view name) const {
  std::vector<std::string> parts;
  const std::string before = fmt::format("{}.", name);
  for (auto shape = shapes_.lower_bound(before); shape != shapes_.end() && shape->first.starts_with(before); ++shape) {
    const std::string_view rest = std::string_view(shape->first).substr(before.size());
    const std::string part(rest.substr(0, rest.find('.')));
    if (parts.empty() || parts.back() != part) parts.push_back(part);
  }
  return parts;
}

/// Names are checked first, since a wrong one often explains what is missing elsewhere.
Result<void> Inputs::check_names(const Function& forward) const {
  for (const auto& [name, shape] : shapes_) {
    std::size_t place = 0;
    const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), place);
    const bool is_place =
        fault == std::errc() && end == name.data() + name.size() && place + 1 < forward.parameters.size();
    const std::string_view wanted = std::string_view(name).substr(0, name.find('.'));
    const bool is_known = is_place || std::any_of(forward.parameters.begin(), forward.parameters.end(),
                                                  [&](const Function::Parameter& p) { return p.name == wanted; });
    if (!is_known && !attribute_at(name).exists())
      return make_error("unknown-input", fmt::format("the model has no input {}", quote(name)));
  }
  return {};
}

/// Through objects of modules.
containers::Pickle Inputs::attribute_at(std::string_view path) const {
  containers::Pickle at = module_.root();
  while (true) {
    const std::string_view name = path.substr(0, path.find('.'));
    at = at.state()[name];
    if (name.size() == path.size() || !at.exists()) return at;
    path.remove_prefix(name.size() + 1);
  }
}

/// The value that was given for an argument; nothing where none was.
Result<std::optional<Item>> Inputs::set_argument(const Function::Parameter& parameter) {
  const auto given = values_.find(std::string(parameter.name));
  if (given == values_.end()) return std::optional<Item>();
  auto value = value_of_type(parameter.type, given->second);
  if (!value)
    return make_error("usage",
                      fmt::format("{} is not a value of argument {}", quote(given->second), quote(parameter.name)));
  has_containers_ = true;
  write_value(structure_, *value);
  used_.insert(given->first);
  return value;
}

/// Buffers become inputs of the shapes that are asked for, other attributes have the values that are given.
Result<void> Inputs::read_attributes(const Function& forward) {
  const auto is_argument = [&](const std::string& name) {
    return used_.contains(name) || std::any_of(forward.parameters.begin(), forward.parameters.end(),
                                               [&](const auto& p) { return p.name == name; });
  };
  containers::JsonWriter json;
  json.open_object();
  for (const auto& [path, shape] : shapes_) {
    const containers::Pickle stored = attribute_at(path);
    if (is_argument(path) || !stored.exists()) continue;
    if (!stored.is_none() && !stored.callee().global().value_or("").starts_with("torch._utils."))
      return make_error("usage", fmt::format("attribute {} of the module is not a tensor", quote(path)));
    auto type = asked_type(path, shape, nullptr, *model_.strings);
    if (!type) return std::move(type).error();
    const ValueId id = model_.graph.add_value(writer_.keep(path), *std::move(type));
    model_.graph.inputs.push_back(id);
    attributes_.emplace(path, Item::of_value(Kind::tensor, model_.graph, id));
    json.member(path, path);
    used_.insert(path);
  }
  for (const auto& [path, text] : values_) {
    if (is_argument(path)) continue;
    auto value = set_attribute(path);
    if (!value) return std::move(value).error();
    write_value(json.key(path), *value);
    attributes_.emplace(path, *std::move(value));
  }
  if (!attributes_.empty()) attribute_structure_ = json.close_object().text();
  return {};
}

Result<Item> Inputs::set_attribute(const std::string& path) {
  const containers::Pickle stored = attribute_at(path);
  if (!stored.exists())
    return make_error("unknown-input", fmt::format("the model has no argument or attribute {}", quote(path)));
  Item like = Item::of_kind(Kind::unknown);
  if (stored.boolean())
    like.kind = Kind::boolean;
  else if (stored.integer())
    like.kind = Kind::integer;
  else if (stored.real())
    like.kind = Kind::real;
  else if (stored.text())
    like.kind = Kind::text;
  const std::string& text = values_.at(path);
  auto value = value_like(like, text);
  if (!value) return make_error("usage", fmt::format("{} is not a value of attribute {}", quote(text), quote(path)));
  return *std::move(value);
}

std::vector<ValueId> Inputs::state() const {
  std::vector<ValueId> inputs;
  for (const auto& [path, item] : attributes_)
    if (item.kind == Kind::tensor) inputs.push_back(item.id);
  return inputs;
}

Result<std::vector<NamedItem>> Inputs::read(const Function& forward) {
  if (auto known = check_names(forward); !known) return std::move(known).error();
  std::vector<NamedItem> arguments;
  structure_.open_object().key("args").open_array();
  for (std::size_t i = 1; i < forward.parameters.size(); ++i) {
    const Function::Parameter& parameter = forward.parameters[i];
    const Expression* type = &parameter.type;
    auto set = set_argument(parameter);
    if (!set) return std::move(set).error();
    if (*set) {
      arguments.push_back({parameter.name, **std::move(set)});
      continue;
    }
    const bool is_optional = is_container(*type, "Optional");
    if (is_optional && parameter.has_fallback && !is_asked_for(parameter.name)) {
      structure_.null();
      continue;
    }
    if (is_optional) type = &type->parts[1];
    const bool has_tensors = is_tensor_type(*type) || is_container(*type, "Tuple") || is_container(*type, "List") ||
                             is_container(*type, "Dict");
    if (!has_tensors && parameter.has_fallback) {
      structure_.null();
      continue;
    }
    const TracedInput* traced = i - 1 < module_.traced_inputs.size() ? &module_.traced_inputs[i - 1] : nullptr;
    auto item = item_of(*type, std::string(parameter.name), std::to_string(i - 1), traced);
    if (!item) return std::move(item).error();
    arguments.push_back({parameter.name, *std::move(item)});
  }
  structure_.close_array().key("kwargs").open_object().close_object().close_object();
  if (auto read = read_attributes(forward); !read) return std::move(read).error();
  for (const auto& [name, shape] : shapes_)
    if (!used_.contains(name))
      return make_error("unknown-input", fmt::format("the model has no input {}", quote(name)));
  return arguments;
}

Result<Item> Inputs::item_of(const Expression& type, const std::string& name, std::string_view place,
                             const TracedInput* traced) {
  if (is_tensor_type(type)) return tensor_of(name, place, traced);
  if (type.kind == Expression::Kind::item) return items_of(type, name, traced);
  Error error = make_error("not-supported", fmt::format("input {} is not a tensor", quote(name)));
  error.diagnostic.help = fmt::format("onnxkit convert --set {}=VALUE gives it a value", without_controls(name));
  return error;
}

Result<Item> Inputs::tensor_of(const std::string& name, std::string_view place, const TracedInput* traced) {
  if (traced && traced->kind != Kind::tensor) traced = nullptr;
  auto asked = shapes_.find(name);
  if (asked == shapes_.end() && !place.empty()) asked = shapes_.find(std::string(place));
  if (asked == shapes_.end() && !traced) return unknown_shape(name);
  auto type = asked == shapes_.end() ? Result<foreign::TensorType>(traced_type(*traced))
                                     : asked_type(name, asked->second, traced, *model_.strings);
  if (!type) return std::move(type).error();
  if (asked != shapes_.end()) used_.insert(asked->first);
  for (std::size_t axis = 0; traced && axis < traced->dims.size(); ++axis) {
    const std::string_view size = (*type->shape)[axis].expression;
    if (size.empty() || !named_sizes_.insert(size).second) continue;
    traced_sizes_ += fmt::format("{}{}={}", traced_sizes_.empty() ? "" : ",", size, traced->dims[axis]);
  }
  const ValueId id = model_.graph.add_value(writer_.keep(name), *std::move(type));
  model_.graph.inputs.push_back(id);
  structure_.value(name);
  return Item::of_value(Kind::tensor, model_.graph, id);
}

/// A tuple says how many tensors it has; of lists and dictionaries the trace does, or who asks for the shapes.
Result<Item> Inputs::items_of(const Expression& type, const std::string& name, const TracedInput* traced) {
  const Kind kind = is_container(type, "Tuple")  ? Kind::tuple
                    : is_container(type, "List") ? Kind::list
                    : is_container(type, "Dict") ? Kind::dict
                                                 : Kind::unknown;
  if (traced && traced->kind != kind) traced = nullptr;
  const std::vector<const Expression*> types = types_inside(type);
  std::vector<std::string> parts;
  if (kind == Kind::dict) {
    if (types.size() != 2 || types[0]->text != "str")
      return make_error("not-supported",
                        fmt::format("input {} is a dictionary with keys that are not text", quote(name)));
    parts = traced ? traced->keys : asked_parts(name);
    if (parts.empty()) return unknown_parts(name, "KEY");
  } else if (kind == Kind::tuple || kind == Kind::list) {
    const std::size_t count = kind == Kind::tuple ? types.size()
                              : traced            ? traced->parts.size()
                                                  : asked_parts(name).size();
    if (count == 0 || types.empty()) return unknown_parts(name, "0");
    for (std::size_t i = 0; i < count; ++i) parts.push_back(std::to_string(i));
  } else {
    return make_error("not-supported",
                      fmt::format("input {} is neither a tensor nor a container of tensors", quote(name)));
  }
  has_containers_ = true;
  kind == Kind::dict ? structure_.open_object() : structure_.open_array();
  Items items;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (kind == Kind::dict) {
      structure_.key(parts[i]);
      items.push_back(Item::of_text(parts[i]));
    }
    auto item = item_of(kind == Kind::tuple ? *types[i] : *types.back(), fmt::format("{}.{}", name, parts[i]), {},
                        traced && i < traced->parts.size() ? &traced->parts[i] : nullptr);
    if (!item) return item;
    items.push_back(*std::move(item));
  }
  kind == Kind::dict ? structure_.close_object() : structure_.close_array();
  return Item::of_items(kind, std::move(items));
}

}  // namespace onnxkit::torchscript
