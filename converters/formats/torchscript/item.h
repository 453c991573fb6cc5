#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "converters/containers/pickle.h"
#include "converters/foreign/graph.h"

namespace onnxkit::torchscript {

struct Item;
using Items = std::vector<Item>;

/// What a variable of the code holds while the code is followed: something known, or a value that the graph computes.
struct Item {
  enum class Kind : std::uint8_t {
    none,
    tensor,
    integer,
    real,
    boolean,
    text,
    list,
    tuple,
    dict,      ///< items: keys and values in turn
    object,    ///< a module
    made,      ///< an object that the code makes: text is its class, items are names and values in turn
    device,    ///< text: what it is called
    packed,    ///< rows of several lengths: a tensor [steps, rows, ...] and the lengths
    gathered,  ///< in a list: as many tensors as a loop had passes, along the first axis of a value
    unsplit,   ///< a list of tensors that a node gives, as many as will be asked for
    absent,    ///< what a variable holds on a way through the code on which it is not read
    unknown,   ///< nothing that could be used
  };
  Kind kind = Kind::none;
  const foreign::Graph* graph = nullptr;  ///< whose value or node it is; null for what is known
  foreign::ValueId id = foreign::ValueId::none;
  std::size_t node = 0;         ///< of what is unsplit
  bool may_be_several = false;  ///< the result of an operator that is not known
  std::int64_t integer = 0;
  double real = 0;
  bool is_wrapped_number = false;                         ///< a constant tensor that stands for the number `real`
  std::string text = {};                                  ///< also the path of an object
  const std::vector<std::string_view>* fields = nullptr;  ///< of a named tuple
  std::shared_ptr<Items> items = nullptr;                 ///< shared, as lists of the language are
  containers::Pickle object = {};

  bool is_known() const { return graph == nullptr; }
  bool is_number() const { return kind == Kind::integer || kind == Kind::real || kind == Kind::boolean; }
  double as_real() const { return kind == Kind::real ? real : static_cast<double>(integer); }

  static Item of_integer(std::int64_t value) {
    Item item;
    item.kind = Kind::integer;
    item.integer = value;
    return item;
  }
  static Item of_real(double value) {
    Item item;
    item.kind = Kind::real;
    item.real = value;
    return item;
  }
  static Item of_boolean(bool value) {
    Item item;
    item.kind = Kind::boolean;
    item.integer = value ? 1 : 0;
    return item;
  }
  static Item of_text(std::string value) {
    Item item;
    item.kind = Kind::text;
    item.text = std::move(value);
    return item;
  }
  static Item of_device(std::string name) {
    Item item;
    item.kind = Kind::device;
    item.text = std::move(name);
    return item;
  }
  static Item of_items(Kind kind, Items values) {
    Item item;
    item.kind = kind;
    item.items = std::make_shared<Items>(std::move(values));
    return item;
  }
  static Item of_kind(Kind kind) {
    Item item;
    item.kind = kind;
    return item;
  }
  static Item of_value(Kind kind, const foreign::Graph& graph, foreign::ValueId id) {
    Item item;
    item.kind = kind;
    item.graph = &graph;
    item.id = id;
    return item;
  }
};

/// What `with` may be given that changes no result: whether gradients are kept, the name of what is measured.
inline bool is_plain_context(const Item& item) {
  if (item.kind != Item::Kind::made) return false;
  for (const std::string_view name :
       {"grad_mode.no_grad", "grad_mode.enable_grad", "grad_mode.set_grad_enabled", "profiler.record_function"})
    if (item.text.starts_with("__torch__.torch.autograd.") && item.text.ends_with(name)) return true;
  return false;
}

/// torch.autocast, which computes in a shorter type.
inline bool is_autocast(const Item& item) {
  return item.kind == Item::Kind::made && (item.text == "__torch__.torch.amp.autocast_mode.autocast" ||
                                           item.text == "__torch__.torch.cuda.amp.autocast_mode.autocast");
}

inline bool are_numbers(const Items& items) {
  return std::all_of(items.begin(), items.end(), [](const Item& item) { return item.is_number(); });
}

}  // namespace onnxkit::torchscript
