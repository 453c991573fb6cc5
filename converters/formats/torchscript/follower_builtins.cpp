// What code calls besides operators: conversions of numbers, questions about tensors and about how the code is run.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "converters/formats/torchscript/follower.h"
#include "converters/formats/torchscript/numbers.h"
#include "libonnxkit/base/checked.h"

namespace onnxkit::torchscript {

namespace {

using foreign::Argument;
using Kind = Item::Kind;

}  // namespace

/// What code asks about how it is run, and of all tensors alike.
std::optional<bool> Follower::state_of_run(std::string_view path) {
  if (path == "torch.is_grad_enabled") return true;
  constexpr std::array<std::string_view, 11> no = {
      "torch.is_autocast_enabled", "torch.is_autocast_cpu_enabled", "ops.prim.is_nested", "ops.prim.is_cuda",
      "ops.prim.is_quantized", "ops.prim.is_sparse", "ops.prim.is_mkldnn", "ops.prim.is_meta", "ops.prim.is_sparse_csr",
      // Fused operators give what the plain ones do; ONNX lacks their masks, and tensors of rows of several lengths.
      "__torch__.torch.backends.mha.get_fastpath_enabled", "torch._nested_tensor_from_mask_left_aligned"};
  return std::find(no.begin(), no.end(), path) != no.end() ? std::optional(false) : std::nullopt;
}

Item Follower::converted(std::string_view op, const Item& item, Kind kind) {
  if (item.is_known() || item.kind != Kind::tensor) return refuse("a conversion to a number has no tensor");
  std::vector<Argument> arguments;
  arguments.push_back(writer_.argument("a", item));
  return writer_.node(op, std::move(arguments), kind);
}

/// A number as a tensor without axes, from which the number can be had back.
Item Follower::tensor_of_number(const Item& number) {
  std::vector<Argument> arguments;
  arguments.push_back(writer_.argument("a", number));
  const std::string_view op = number.kind == Kind::real ? "prim.NumToTensor.float" : "prim.NumToTensor.Scalar";
  const Item tensor = writer_.node(op, std::move(arguments), Kind::tensor);
  numbers_.emplace(std::pair(tensor.graph, tensor.id), number);
  return tensor;
}

/// torch.tensor of a number or of a list of numbers, whose element type follows from them where none is given.
std::optional<Item> Follower::tensor_of(const std::vector<NamedItem>& arguments, int depth) {
  constexpr int deepest = 16;  // a list may hold itself
  if (depth > deepest) return std::nullopt;
  const Item& data = arguments.front().item;
  const bool is_list = data.kind == Kind::list && !data.items->empty();
  const Item& first = is_list ? data.items->front() : data;
  if (!first.is_number() && !is_list) return std::nullopt;
  const auto given = std::find_if(arguments.begin(), arguments.end(),
                                  [](const NamedItem& argument) { return argument.name == "dtype"; });
  Item type = given == arguments.end() ? Item() : given->item;
  if (type.kind == Kind::none && !first.items)
    type = Item::of_integer(*scalar_type_of(first.kind == Kind::integer ? ElementType::int64
                                            : first.kind == Kind::real  ? ElementType::float32
                                                                        : ElementType::boolean));
  if (!is_list) return aten("scalar_tensor", {{{}, data}, {"dtype", type}});
  Items parts;
  for (const Item& item : *data.items) {
    auto part = tensor_of({{{}, item}, {"dtype", type}}, depth + 1);
    if (!part) return std::nullopt;
    parts.push_back(*std::move(part));
  }
  return aten("stack", {{{}, Item::of_items(Kind::list, std::move(parts))}, {{}, Item::of_integer(0)}});
}

/// torch.as_tensor of a tensor, which keeps its type where none is given.
Item Follower::of_data(const std::vector<NamedItem>& arguments) {
  const auto given = std::find_if(arguments.begin(), arguments.end(),
                                  [](const NamedItem& argument) { return argument.name == "dtype"; });
  const Item type = given != arguments.end()                            ? given->item
                    : arguments.size() > 1 && arguments[1].name.empty() ? arguments[1].item
                                                                        : Item();
  return type.kind == Kind::integer ? aten("to", {{{}, arguments[0].item}, {{}, type}}) : arguments[0].item;
}

std::optional<Item> Follower::builtin(std::string_view path, const std::vector<NamedItem>& arguments) {
  const auto at = [&](std::size_t i) { return i < arguments.size() ? arguments[i].item : Item(); };
  const bool is_implicit =
      path == "annotate" && at(1).kind == Kind::tensor && (at(0).text == "int" || at(0).text == "float");
  if (is_implicit) return number_from(at(0).text, at(1));
  if (path == "annotate" || path == "unchecked_cast" || path == "ops.prim.unchecked_cast") return at(1);
  if (path == "uninitialized") return Item::of_kind(Kind::absent);
  if (path == "ops.prim.device") return Item::of_device("cpu");  // all tensors are where the file was loaded
  if (path == "torch.device") return Item::of_device(at(0).kind == Kind::text ? at(0).text : "cpu");
  if (path == "torch.Size") return known_result("list", items_of(arguments));
  if (path == "fork" || path == "torch.wait") return at(0);
  if (path == "sorted") return known_result(path, items_of(arguments));
  if (path == "str") return known_result(path, items_of(arguments)).value_or(Item::of_kind(Kind::unknown));
  if ((path == "torch.dict" || path == "dict") && arguments.empty()) return Item::of_items(Kind::dict, {});
  if (path == "torch.dict" || path == "dict") return known_result("dict", items_of(arguments));
  if (path == "torch.list" || path == "list") return known_result("list", items_of(arguments));
  if (path == "getattr" && at(1).kind == Kind::text) return attribute(at(0), at(1).text);
  if (path == "ops.prim.data" || path == "ops.prim.unchecked_unwrap_optional" || path == "torch._unwrap_optional")
    return at(0);
  if (path == "ops.prim.type" && at(0).kind == Kind::device)
    return Item::of_text(at(0).text.substr(0, at(0).text.find(':')));
  if (path == "ops.prim.requires_grad") return Item::of_boolean(is_stored(at(0)));
  if ((path == "torch.tensor" || path == "torch.as_tensor") && !arguments.empty() && at(0).kind != Kind::tensor)
    return tensor_of(arguments);
  if (path == "torch.as_tensor" && !arguments.empty()) return of_data(arguments);
  if (path == "torch.warn" || path == "torch._assert" || path == "print") return Item();
  if (path == "ops.prim.RaiseException") return refuse("the code of the model ends with an error");
  if (path == "ops.prim.NumToTensor" || path == "torch.scalar_tensor") {
    if (path == "torch.scalar_tensor" || !at(0).is_number() || at(0).kind == Kind::real) return std::nullopt;
    return tensor_of_number(at(0));
  }
  if (path == "range" || path == "torch.__range__") {
    Items passes;
    const Item limit = at(0);
    constexpr std::int64_t most = 100'000;
    if (!limit.is_known() || limit.kind != Kind::integer || arguments.size() != 1 || limit.integer > most)
      return refuse("a loop has a number of passes that only a run can tell");
    for (std::int64_t i = 0; i < limit.integer; ++i) passes.push_back(Item::of_integer(i));
    return Item::of_items(Kind::list, std::move(passes));
  }
  if (auto typed = of_type(path, items_of(arguments))) return typed;
  return number_from(path, at(0));
}

/// int(), float() and bool().
std::optional<Item> Follower::number_from(std::string_view path, const Item& from) {
  const bool is_integer = path == "int", is_real = path == "float", is_boolean = path == "bool";
  if (!is_integer && !is_real && !is_boolean) return std::nullopt;
  if (from.is_number() && from.is_known()) {
    if (is_real) return Item::of_real(from.as_real());
    if (is_boolean) return Item::of_boolean(from.as_real() != 0);
    if (from.kind != Kind::real) return Item::of_integer(from.integer);
    if (!(std::abs(from.real) < 0x1p63)) return refuse("a real number becomes an integer that has no place in 64 bits");
    return Item::of_integer(static_cast<std::int64_t>(from.real));
  }
  if (from.kind == (is_integer ? Kind::integer : Kind::real) && !is_boolean) return from;
  if (from.is_number() && from.kind != Kind::boolean && !is_boolean) {  // without a tensor between
    std::vector<Argument> given;
    given.push_back(writer_.argument("a", from));
    return writer_.node(is_integer ? "math.trunc" : "sym_float", std::move(given),
                        is_integer ? Kind::integer : Kind::real);
  }
  if (auto known = known_number(from, is_integer ? Kind::integer : is_real ? Kind::real : Kind::boolean)) return known;
  const auto made_of = numbers_.find({from.graph, from.id});
  if (made_of != numbers_.end() && is_integer && made_of->second.kind == Kind::integer) return made_of->second;
  return number_of(from.is_number() ? tensor_of_number(from) : from, is_integer ? Kind::integer
                                                                     : is_real  ? Kind::real
                                                                                : Kind::boolean);
}

const foreign::Node* Follower::producer(const Item& tensor) const {
  if (!tensor.graph) return nullptr;
  const auto& nodes = tensor.graph->nodes;
  const auto found = std::find_if(nodes.rbegin(), nodes.rend(), [&](const foreign::Node& node) {
    return std::find(node.outputs.begin(), node.outputs.end(), tensor.id) != node.outputs.end();
  });
  return found == nodes.rend() ? nullptr : &*found;
}

/// The tensor that it is: what an operator in place gives is the tensor that it writes to.
Item Follower::written(Item tensor) const {
  for (const foreign::Node* node = producer(tensor); node && KnownTypes::is_in_place(node->op);
       node = producer(tensor)) {
    const Argument* self = node->find("self");
    if (!self || !self->as<foreign::ValueId>()) break;
    tensor.id = *self->as<foreign::ValueId>();
  }
  return tensor;
}

bool Follower::is_stored(const Item& tensor) const {
  const auto& tensors = model_.graph.tensors;
  return tensor.graph == &model_.graph &&
         std::any_of(tensors.begin(), tensors.end(),
                     [&](const foreign::Tensor& stored) { return stored.value == tensor.id; });
}

KnownTypes& Follower::types() {
  if (!types_) types_.emplace(model_, writer_);
  return *types_;
}

Item Follower::sizes_of(const Item& tensor, const std::vector<std::int64_t>& sizes) {
  Items items;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const Item at = Item::of_integer(static_cast<std::int64_t>(axis));
    const std::vector<NamedItem> of_axis = {{{}, tensor}, {{}, at}};
    items.push_back(sizes[axis] >= 0 ? Item::of_integer(sizes[axis]) : writer_.call("size", of_axis));
  }
  return Item::of_items(Kind::list, std::move(items));
}

/// What code that was not traced asks for before it runs.
std::optional<Item> Follower::of_type(std::string_view name, const Items& items) {
  if (name == "ops.prim.dtype" && !items.empty() && items.front().kind == Kind::packed)
    return of_type(name, {items.front().items->front()});
  const bool asks_type = name == "ops.prim.dtype" || name == "is_floating_point" || name == "is_complex";
  const bool asks_sizes = name == "dim" || name == "size" || name == "len" || name == "numel";
  if ((!asks_type && !asks_sizes) || items.empty()) return std::nullopt;
  const Item& tensor = items.front();
  if (tensor.kind != Kind::tensor || tensor.is_known()) return std::nullopt;
  if (asks_type) {
    const ElementType elem = types().elem(tensor);
    const auto code = scalar_type_of(elem);
    if (!code) return std::nullopt;
    if (name == "is_complex")
      return Item::of_boolean(elem == ElementType::complex64 || elem == ElementType::complex128);
    return name == "is_floating_point" ? Item::of_boolean(is_floating(elem)) : Item::of_integer(*code);
  }
  const bool is_one = items.size() > 1;
  if (is_one && (!module_.traced_inputs.empty() || !items[1].is_known())) return std::nullopt;
  const auto sizes = types().sizes(tensor);
  if (!sizes) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(sizes->size());
  ++told_.ranks;
  if (name == "dim") return Item::of_integer(rank);
  ++told_.sizes;
  if (name == "numel") {
    std::optional<std::int64_t> count = 1;
    for (const std::int64_t size : *sizes) count = count && size >= 0 ? checked_mul(*count, size) : std::nullopt;
    return count && module_.traced_inputs.empty() ? std::optional(Item::of_integer(*count)) : std::nullopt;
  }
  const Item all = name != "len" && !is_one ? sizes_of(tensor, *sizes) : Item();
  if (all.items) return all;
  const std::int64_t axis = name == "len" ? 0 : items[1].integer < 0 ? items[1].integer + rank : items[1].integer;
  if (axis < 0 || axis >= rank) return std::nullopt;
  if ((*sizes)[static_cast<std::size_t>(axis)] < 0)
    return name == "len" ? std::optional(aten("size", {{{}, tensor}, {{}, Item::of_integer(0)}})) : std::nullopt;
  return Item::of_integer((*sizes)[static_cast<std::size_t>(axis)]);
}

}  // namespace onnxkit::torchscript
