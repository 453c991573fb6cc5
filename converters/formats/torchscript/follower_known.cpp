// Tensors of a few numbers that the code makes of sizes and constants: what they hold is followed, so that sizes computed with them stay known.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "converters/formats/torchscript/follower.h"

namespace onnxkit::torchscript {
namespace {

using foreign::Argument;
using foreign::ValueId;
using Kind = Item::Kind;
using Numbers = std::vector<double>;

constexpr std::size_t most_numbers = 16;

/// In the element type, whose digits they have; nothing where these are not followed.
std::optional<Numbers> as_type(Numbers numbers, ElementType elem) {
  constexpr double most = 0x1p53;
  for (double& number : numbers) {
    if (elem == ElementType::float32) {
      number = static_cast<double>(static_cast<float>(number));
    } else if (elem == ElementType::int64) {
      number = std::trunc(number);
      if (!(std::abs(number) < most)) return std::nullopt;
    } else if (elem != ElementType::float64) {
      return std::nullopt;
    }
  }
  return numbers;
}

std::optional<double> of_one(std::string_view op, double x) {
  if (op == "reciprocal") return 1 / x;
  if (op == "ceil") return std::ceil(x);
  if (op == "floor") return std::floor(x);
  if (op == "neg") return -x;
  const bool keeps = op == "to" || op == "float" || op == "long" || op == "scalar_tensor" || op == "detach";
  return keeps ? std::optional(x) : std::nullopt;
}

std::optional<double> of_two(std::string_view op, double a, double b) {
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul") return a * b;
  if (op == "div") return a / b;
  if (op == "min" || op == "minimum") return std::min(a, b);
  return op == "max" || op == "maximum" ? std::optional(std::max(a, b)) : std::nullopt;
}

/// Element by element; a number without axes goes with all of the other ones.
std::optional<Numbers> combined(std::string_view op, const Numbers& a, const Numbers& b) {
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return std::nullopt;
  Numbers result;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const auto one = of_two(op, a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    if (!one) return std::nullopt;
    result.push_back(*one);
  }
  return result;
}

bool gives_a_view(std::string_view op) {
  constexpr std::array<std::string_view, 12> views = {"view",      "reshape",    "select", "slice",
                                                      "unsqueeze", "squeeze",    "expand", "flatten",
                                                      "permute",   "contiguous", "to",     "detach"};
  const std::size_t begin = op.find('.') + 1;
  return std::find(views.begin(), views.end(), op.substr(begin, op.find('.', begin) - begin)) != views.end();
}

}  // namespace

/// What is held by a tensor, or is a number.
std::optional<Numbers> Follower::numbers_in(const Item& item) const {
  if (item.is_number() && item.is_known()) return Numbers{item.as_real()};
  if (item.kind != Kind::tensor) return std::nullopt;
  const auto found = known_.find({item.graph, item.id});
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

/// What an operator gives of these.
std::optional<Numbers> Follower::computed_numbers(std::string_view op, const Items& items) const {
  if (items.empty()) return std::nullopt;
  if (op == "stack" && items[0].kind == Kind::list && items[0].items->size() <= most_numbers) {
    Numbers all;
    for (const Item& item : *items[0].items) {
      const auto one = numbers_in(item);
      if (!one || one->size() != 1) return std::nullopt;
      all.push_back(one->front());
    }
    return all;
  }
  const auto first = numbers_in(items[0]);
  if (!first || first->empty()) return std::nullopt;
  const bool is_least = op == "min", is_greatest = op == "max";
  if ((is_least || is_greatest) && items.size() == 1)
    return Numbers{is_least ? *std::min_element(first->begin(), first->end())
                            : *std::max_element(first->begin(), first->end())};
  const auto second = items.size() == 2 ? numbers_in(items[1]) : std::nullopt;
  if (second && !second->empty())
    if (auto both = combined(op, *first, *second)) return both;
  Numbers result;
  for (const double number : *first) {
    const auto one = of_one(op, number);
    if (!one) return std::nullopt;
    result.push_back(*one);
  }
  return result;
}

/// Keeps what a result holds, each operand in the type of the result as PyTorch computes. A write makes this unknown again.
void Follower::note_numbers(std::string_view op, const Items& items, const Item& result) {
  if (KnownTypes::is_in_place(fmt::format("aten.{}.", op)) && !items.empty()) {
    if (!known_.empty() && is_view_of_known(items[0])) known_.clear();
    return;
  }
  if (result.kind != Kind::tensor || result.is_known() || result.may_be_several) return;
  if (!computed_numbers(op, items)) return;
  const ElementType elem = types().elem(result);
  Items operands = items;
  for (Item& item : operands) {
    const auto numbers = elem == ElementType::float32 ? numbers_in(item) : std::nullopt;
    const auto rounded = numbers ? as_type(*numbers, elem) : std::nullopt;
    if (rounded && item.is_number()) item = Item::of_real(rounded->front());
    if (rounded && item.kind == Kind::tensor && *rounded != *numbers) return;  // they lose digits before or behind
  }
  const auto computed = computed_numbers(op, operands);
  const auto typed = computed ? as_type(*computed, elem) : std::nullopt;
  if (typed) known_[{result.graph, result.id}] = *typed;
}

bool Follower::is_view_of_known(Item tensor) const {
  constexpr int furthest = 32;
  for (int i = 0; i < furthest; ++i) {
    if (known_.contains({tensor.graph, tensor.id})) return true;
    const foreign::Node* node = producer(tensor);
    const Argument* self = node && gives_a_view(node->op) ? node->find("self") : nullptr;
    if (!self || !self->as<ValueId>()) return false;
    tensor.id = *self->as<ValueId>();
  }
  return true;
}

/// The only element of a tensor as a number, where it is known.
std::optional<Item> Follower::known_number(const Item& tensor, Kind kind) {
  const auto numbers = tensor.kind == Kind::tensor ? numbers_in(tensor) : std::nullopt;
  if (!numbers || numbers->size() != 1) return std::nullopt;
  const double number = numbers->front();
  constexpr double most = 0x1p53;
  if (kind == Kind::real) return Item::of_real(number);
  return kind == Kind::integer && std::abs(number) < most
             ? std::optional(Item::of_integer(static_cast<std::int64_t>(number)))
             : std::nullopt;
}

}  // namespace onnxkit::torchscript
