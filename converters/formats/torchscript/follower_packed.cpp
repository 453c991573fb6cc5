// Packed sequences: here the padded rows with their lengths, which ONNX's recurrent operators take as they are.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "converters/formats/torchscript/follower.h"

namespace onnxkit::torchscript {
namespace {

using foreign::Argument;
using Kind = Item::Kind;

NamedItem at_place(Item item) { return {{}, std::move(item)}; }

/// What was given under a name, or at a place.
Item given(const std::vector<NamedItem>& arguments, std::size_t place, std::string_view name) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].name == name || (arguments[i].name.empty() && i == place)) return arguments[i].item;
  return {};
}

/// Marks the second part of a packed sequence; only the first of these sizes, the number of all rows, is known.
constexpr std::string_view batch_sizes = "batch_sizes";

/// A third item says that a recurrent layer made the rows.
bool is_given_by_layer(const Item& packed) { return packed.items->size() == 3; }
bool is_zero(const Item& item) { return item.kind == Kind::integer && item.is_known() && item.integer == 0; }
bool is_true(const Item& item) { return item.kind == Kind::boolean && item.is_known() && item.integer != 0; }

}  // namespace

/// torch.nn.utils.rnn.pack_padded_sequence. Rows need no order by their lengths, so nothing is sorted.
Item Follower::packed(const std::vector<NamedItem>& arguments) {
  Item rows = given(arguments, 0, "input"), lengths = given(arguments, 1, "lengths");
  if (lengths.kind == Kind::list) lengths = tensor_of({at_place(lengths)}).value_or(Item());
  if (rows.kind != Kind::tensor || lengths.kind != Kind::tensor) return refuse("a packed sequence has no tensors");
  const auto transposed = [&] {
    return aten("transpose", {at_place(rows), at_place(Item::of_integer(0)), at_place(Item::of_integer(1))});
  };
  if (is_true(given(arguments, 2, "batch_first"))) rows = transposed();
  const Item both = Item::of_items(Kind::packed, {rows, lengths});
  Item sizes = both;
  sizes.text = batch_sizes;
  return kept(Item::of_items(Kind::tuple, {kept(both), sizes, {}, {}}));
}

/// torch.nn.utils.rnn.pad_packed_sequence: as many steps as the longest row has, unless another number is wanted.
Item Follower::unpacked(const std::vector<NamedItem>& arguments) {
  const Item sequence = given(arguments, 0, "sequence"), padding = given(arguments, 2, "padding_value"),
             total = given(arguments, 3, "total_length");
  const bool is_packed =
      sequence.kind == Kind::tuple && !sequence.items->empty() && sequence.items->front().kind == Kind::packed;
  if (!is_packed) return refuse("what is padded is not a packed sequence of the code");
  if (padding.is_number() && !(padding.is_known() && padding.as_real() == 0))
    return refuse("a packed sequence is padded with something else than zeros");
  const Items parts = *sequence.items->front().items;
  // What a recurrent layer gives behind the end of a row is 0, as padding is.
  if (!is_given_by_layer(sequence.items->front()))
    return refuse("a packed sequence is padded again without a recurrent layer between");
  Item rows = parts[0];
  const auto sizes = types().sizes(rows);
  const std::int64_t steps = sizes && !sizes->empty() ? sizes->front() : -1;
  const bool is_given = total.kind == Kind::integer;
  const bool is_enough = total.is_known() && total.integer <= steps;
  if (is_given && !is_enough) {  // more steps than there may be, of which the wanted ones are kept
    const auto rank = sizes ? sizes->size() : 0;
    Items pads(2 * rank, Item::of_integer(0));
    if (!pads.empty()) pads.back() = total;
    rows = aten("constant_pad_nd", {at_place(rows), at_place(Item::of_items(Kind::list, std::move(pads)))});
  }
  const Item longest = is_given ? total : number_of(aten("max", {at_place(parts[1])}), Kind::integer);
  if (!is_given || !is_enough || total.integer != steps)
    rows = aten("slice", {at_place(rows), at_place(Item::of_integer(0)), at_place({}), at_place(longest)});
  if (is_true(given(arguments, 1, "batch_first")))
    rows = aten("transpose", {at_place(rows), at_place(Item::of_integer(0)), at_place(Item::of_integer(1))});
  return Item::of_items(Kind::tuple, {rows, parts[1]});
}

/// Operators on packed sequences: recurrent layers, and how many rows there are.
std::optional<Item> Follower::of_packed(std::string_view name, const std::vector<NamedItem>& arguments) {
  if (arguments.empty() || arguments.front().item.kind != Kind::packed) return std::nullopt;
  if (name == "__is__" || name == "__isnot__") return std::nullopt;
  const Items parts = *arguments.front().item.items;
  const bool is_sizes = arguments.front().item.text == batch_sizes;
  const bool is_first =
      name == "select" && arguments.size() == 3 && is_zero(arguments[1].item) && is_zero(arguments[2].item);
  if (is_sizes && !is_first) return refuse("the code of the model reads the sizes of the steps of a packed sequence");
  if (is_sizes) return aten("size", {at_place(parts[0]), at_place(Item::of_integer(1))});
  const bool asks_width = name == "size" && arguments.size() == 2 && arguments[1].item.is_known() &&
                          arguments[1].item.kind == Kind::integer && arguments[1].item.integer == -1;
  if (asks_width) return aten("size", {at_place(parts[0]), arguments[1]});
  const auto sizes = name == "dim" ? types().sizes(parts[0]) : std::nullopt;
  if (sizes) return Item::of_integer(static_cast<std::int64_t>(sizes->size()) - 1);  // rows one behind the other
  constexpr std::array<std::string_view, 4> networks = {"lstm", "gru", "rnn_tanh", "rnn_relu"};
  const bool is_network = std::find(networks.begin(), networks.end(), name) != networks.end();
  constexpr std::array<std::string_view, 9> names = {"input",      "lengths", "hx",    "params",       "has_biases",
                                                     "num_layers", "dropout", "train", "bidirectional"};
  if (!is_network || arguments.size() != names.size())
    return refuse(fmt::format("{} is given a packed sequence, which only recurrent layers take", quote(name)));
  std::vector<Argument> given;
  for (std::size_t i = 0; i < names.size(); ++i)
    given.push_back(writer_.argument(names[i], i < 2 ? parts[i] : with_parts(arguments[i].item)));
  Items results =
      writer_.node_of_tensors(fmt::format("prim.packed_{}.default", name), std::move(given), name == "lstm" ? 3 : 2);
  results.front() = kept(Item::of_items(Kind::packed, {results.front(), parts[1], Item::of_boolean(true)}));
  return Item::of_items(Kind::tuple, std::move(results));
}

}  // namespace onnxkit::torchscript
