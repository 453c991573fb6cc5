#include "converters/formats/torchscript/graph_writer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace onnxkit::torchscript {
namespace {

using foreign::Argument;
using foreign::Graph;
using foreign::Node;
using foreign::ValueId;
using Kind = Item::Kind;
using TypeKind = ArgumentType::Kind;

/// By number of c10::ScalarType; undefined for those that ONNX lacks.
constexpr std::array scalar_types = {
    ElementType::uint8,     ElementType::int8,      ElementType::int16,      ElementType::int32,
    ElementType::int64,     ElementType::float16,   ElementType::float32,    ElementType::float64,
    ElementType::undefined, ElementType::complex64, ElementType::complex128, ElementType::boolean,
    ElementType::undefined, ElementType::undefined, ElementType::undefined,  ElementType::bfloat16};

ElementType elem_of_scalar_type(std::int64_t code) {
  const bool is_known = code >= 0 && code < static_cast<std::int64_t>(scalar_types.size());
  return is_known ? scalar_types[static_cast<std::size_t>(code)] : ElementType::undefined;
}

/// Whether an item may be given for a single thing of this kind; `converts` allows what PyTorch turns into it.
bool is_of_kind(const Item& item, TypeKind kind, bool converts) {
  const bool is_tensor = item.kind == Kind::tensor;
  switch (kind) {
    case TypeKind::tensor:
      return is_tensor;
    case TypeKind::integer:
    case TypeKind::elem:
      return item.kind == Kind::integer || (converts && is_tensor);
    case TypeKind::real:
      return item.kind == Kind::real || (converts && (item.kind == Kind::integer || is_tensor));
    case TypeKind::number:
      return item.kind == Kind::integer || item.kind == Kind::real || (converts && (item.is_number() || is_tensor));
    case TypeKind::boolean:
      return item.kind == Kind::boolean || (converts && is_tensor);
    case TypeKind::text:
      return item.kind == Kind::text;
    case TypeKind::device:
      return item.kind == Kind::device || item.kind == Kind::none;
    default:
      return item.kind == Kind::none || item.is_number() || item.kind == Kind::device;
  }
}

bool accepts(const ArgumentType& type, const Item& item, bool converts) {
  if (item.kind == Kind::none) return type.is_optional || type.kind == TypeKind::ignored;
  if (!type.is_list) return is_of_kind(item, type.kind, converts);
  if (item.kind != Kind::list) return type.takes_one && is_of_kind(item, type.kind, converts);
  return std::all_of(item.items->begin(), item.items->end(), [&](const Item& each) {
    return (each.kind == Kind::none && type.has_optional_items) || is_of_kind(each, type.kind, converts);
  });
}

/// Which argument of the schema each of the call is; nothing when they do not fit.
bool fits(const Schema& schema, std::span<const NamedItem> given, bool converts) {
  std::vector<bool> is_given(schema.arguments.size(), false);
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::size_t place = i;
    if (!given[i].name.empty()) {
      const auto found = std::find_if(schema.arguments.begin(), schema.arguments.end(),
                                      [&](const SchemaArgument& argument) { return argument.name == given[i].name; });
      place = static_cast<std::size_t>(found - schema.arguments.begin());
    }
    if (place >= schema.arguments.size() || is_given[place]) return false;
    const SchemaArgument& argument = schema.arguments[place];
    if (given[i].name.empty() && argument.is_keyword_only) return false;
    if (!accepts(argument.type, given[i].item, converts)) return false;
    is_given[place] = true;
  }
  for (std::size_t i = 0; i < schema.arguments.size(); ++i)
    if (!is_given[i] && !schema.arguments[i].has_default) return false;
  return true;
}

bool is_number_text(const Item& item, std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && item.as_real() == value;
}

bool equals_default(const Item& item, std::string_view text) {
  if (!item.is_known()) return false;
  if (item.kind == Kind::none) return text.empty() || text == "None";
  if (item.kind == Kind::boolean) return text == (item.integer != 0 ? "True" : "False");
  if (item.kind == Kind::text) return text.size() >= 2 && text.substr(1, text.size() - 2) == item.text;
  if (item.is_number()) return is_number_text(item, text);
  if (item.kind != Kind::list) return false;
  const bool is_list = text.starts_with('[') && text.ends_with(']');
  std::string_view left = is_list ? text.substr(1, text.size() - 2) : text;
  for (const Item& each : *item.items) {
    const std::size_t end = std::min(left.find(','), left.size());
    if (left.empty() || !equals_default(each, left.substr(0, end))) return false;
    if (!is_list) continue;
    left.remove_prefix(std::min(end + 1, left.size()));
    left.remove_prefix(std::min(left.find_first_not_of(' '), left.size()));
  }
  return is_list ? left.empty() : !item.items->empty();
}

}  // namespace

std::optional<std::int64_t> scalar_type_of(ElementType type) {
  const auto found = std::find(scalar_types.begin(), scalar_types.end(), type);
  if (type == ElementType::undefined || found == scalar_types.end()) return std::nullopt;
  return found - scalar_types.begin();
}

const Schema* GraphWriter::overload(std::string_view name, std::span<const NamedItem> arguments) const {
  for (const bool converts : {false, true})
    for (const Schema& schema : schemas_.of(name))
      if (fits(schema, arguments, converts)) return &schema;
  return nullptr;
}

bool GraphWriter::takes(std::string_view name, std::span<const NamedItem> arguments) const {
  const auto overloads = schemas_.of(name);
  return std::any_of(overloads.begin(), overloads.end(),
                     [&](const Schema& schema) { return fits(schema, arguments, false); });
}

foreign::ValueId GraphWriter::here(const Item& item) {
  ValueId id = item.id;
  const Graph* owner = item.graph;
  // From the graph that owns the value inwards.
  const auto begin = std::find_if(frames_.begin(), frames_.end(), [&](const Frame& f) { return f.graph == owner; });
  if (begin == frames_.end()) return ValueId::none;
  for (auto frame = begin + 1; frame < frames_.end(); ++frame) {
    const auto [known, is_new] = frame->inputs.try_emplace({owner, id}, ValueId::none);
    if (is_new) {
      known->second = frame->graph->add_value(owner->name_of(id));
      frame->graph->values[foreign::index_of(known->second)].is_number = owner->values[foreign::index_of(id)].is_number;
      frame->graph->inputs.push_back(known->second);
      frame->captured.push_back(Item::of_value(item.kind, *owner, id));
    }
    owner = frame->graph;
    id = known->second;
  }
  return id;
}

void GraphWriter::open(Graph& body, Items captured, std::size_t first) {
  Frame& frame = frames_.emplace_back(Frame{&body, {}, {}});
  for (std::size_t i = 0; i < captured.size(); ++i)
    frame.inputs.emplace(std::pair(captured[i].graph, captured[i].id), body.inputs[first + i]);
  frame.captured = std::move(captured);
}

Items GraphWriter::close() {
  Items captured = std::move(frames_.back().captured);
  frames_.pop_back();
  return captured;
}

Argument GraphWriter::argument(std::string_view name, const Item& item) {
  Argument made;
  made.name = name;
  if (!item.is_known()) {
    made.content = here(item);
  } else if (item.kind == Kind::integer) {
    made.content = item.integer;
  } else if (item.kind == Kind::real) {
    made.content = item.real;
  } else if (item.kind == Kind::boolean) {
    made.content = item.integer != 0;
  } else if (item.kind == Kind::text) {
    made.content = keep(item.text);
  } else if (item.kind == Kind::list || item.kind == Kind::tuple) {
    Argument::List list;
    for (const Item& each : *item.items) list.push_back(argument({}, each));
    made.content = std::move(list);
  }
  return made;
}

/// Nothing for an argument that says as much as its absence.
std::optional<Argument> GraphWriter::typed_argument(const SchemaArgument& wanted, const Item& item) {
  const TypeKind kind = wanted.type.kind;
  if (kind == TypeKind::ignored || kind == TypeKind::device) return std::nullopt;
  if (wanted.has_default && equals_default(item, wanted.fallback)) return std::nullopt;
  Argument made = argument(wanted.name, item);
  if (kind == TypeKind::elem && item.kind == Kind::integer && item.is_known())
    made.content = elem_of_scalar_type(item.integer);
  if (kind == TypeKind::real && item.kind == Kind::integer && item.is_known()) made.content = item.as_real();
  return made;
}

Node& GraphWriter::add_node(std::string_view op) {
  std::string_view stem = op.substr(0, op.rfind('.'));
  stem = stem.substr(stem.rfind('.') + 1);
  while (stem.starts_with('_')) stem.remove_prefix(1);
  while (stem.ends_with('_')) stem.remove_suffix(1);
  if (stem.empty()) stem = "node";
  const std::size_t count = names_[std::string(stem)]++;
  Node& made = frames_.back().graph->nodes.emplace_back();
  made.op = keep(op);
  made.name = keep(count == 0 ? std::string(stem) : fmt::format("{}_{}", stem, count));
  made.scope = scope_;
  made.source = source_;
  return made;
}

Item GraphWriter::node(std::string_view op, std::vector<Argument> arguments, Kind kind) {
  Node& made = add_node(op);
  made.arguments = std::move(arguments);
  const ValueId id = frames_.back().graph->add_value(made.name);
  frames_.back().graph->values[foreign::index_of(id)].is_number = kind != Kind::tensor;
  made.outputs = {id};
  return Item::of_value(kind, graph(), id);
}

Items GraphWriter::node_of_tensors(std::string_view op, std::vector<Argument> arguments, std::size_t results) {
  Node& made = add_node(op);
  made.arguments = std::move(arguments);
  const std::size_t index = graph().nodes.size() - 1;
  Items values;
  for (std::size_t i = 0; i < results; ++i) values.push_back(result_of({.kind = TypeKind::tensor}, index));
  return values;
}

Item GraphWriter::unmapped(std::string_view name, std::span<const NamedItem> arguments) {
  std::vector<Argument> given;
  for (const NamedItem& each : arguments)
    if (each.item.kind == Kind::tensor) given.push_back(argument(each.name, each.item));
  const bool is_known = !schemas_.of(name).empty();
  const std::string_view domain = name.find('.') == name.npos ? "aten." : "";
  Item result = node(fmt::format("{}{}.{}", domain, name, is_known ? "with these arguments" : "default"),
                     std::move(given), Kind::tensor);
  result.node = graph().nodes.size() - 1;
  result.may_be_several = true;
  return result;
}

Item GraphWriter::result_of(const ArgumentType& type, std::size_t index) {
  Graph& target = *frames_.back().graph;
  if (type.is_list) {
    Item item = Item::of_kind(Kind::unsplit);
    item.graph = &target;
    item.node = index;
    return item;
  }
  const std::size_t place = target.nodes[index].outputs.size();
  const std::string_view stem = target.nodes[index].name;
  const ValueId id = target.add_value(place == 0 ? stem : keep(fmt::format("{}.{}", stem, place)));
  target.nodes[index].outputs.push_back(id);
  const Kind kind = type.kind == TypeKind::integer   ? Kind::integer
                    : type.kind == TypeKind::boolean ? Kind::boolean
                    : type.kind == TypeKind::tensor  ? Kind::tensor
                                                     : Kind::real;
  target.values[foreign::index_of(id)].is_number = kind != Kind::tensor;
  return Item::of_value(kind, target, id);
}

Item GraphWriter::call(std::string_view name, std::span<const NamedItem> arguments) {
  const Schema* schema = overload(name, arguments);
  if (!schema) return unmapped(name, arguments);
  std::vector<Argument> given;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto wanted =
        arguments[i].name.empty()
            ? schema->arguments.begin() + static_cast<std::ptrdiff_t>(i)
            : std::find_if(schema->arguments.begin(), schema->arguments.end(),
                           [&](const SchemaArgument& argument) { return argument.name == arguments[i].name; });
    if (auto made = typed_argument(*wanted, arguments[i].item)) given.push_back(*std::move(made));
  }
  const bool is_size = schema->name == "size" && schema->overload == "int";
  const std::string_view domain = schema->name.find('.') == schema->name.npos ? "aten." : "";
  Node& made = add_node(is_size ? "aten.sym_size.int" : fmt::format("{}{}.{}", domain, schema->name, schema->overload));
  made.arguments = std::move(given);
  const std::size_t index = graph().nodes.size() - 1;
  Items results;
  for (const ArgumentType& type : schema->results) results.push_back(result_of(type, index));
  return results.size() == 1 ? results.front() : Item::of_items(Kind::tuple, std::move(results));
}

Items GraphWriter::split(const Item& unsplit, std::size_t count) {
  const auto frame =
      std::find_if(frames_.begin(), frames_.end(), [&](const Frame& f) { return f.graph == unsplit.graph; });
  Items parts;
  if (frame == frames_.end()) return parts;
  Graph& owner = *frame->graph;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<ValueId>& outputs = owner.nodes[unsplit.node].outputs;
    if (i == outputs.size()) {
      const ValueId id = owner.add_value(keep(fmt::format("{}.{}", owner.nodes[unsplit.node].name, i)));
      outputs.push_back(id);
    }
    parts.push_back(Item::of_value(Kind::tensor, owner, owner.nodes[unsplit.node].outputs[i]));
  }
  return parts;
}

}  // namespace onnxkit::torchscript
