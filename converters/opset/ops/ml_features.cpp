#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/core.h>

#include "converters/opset/engine/steps.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::opset {
namespace {

using Integers = std::vector<std::int64_t>;
using Reals = std::vector<float>;
using Words = std::vector<std::string>;
/// What a LabelEncoder looks up, or what it gives.
using Labels = std::variant<std::monostate, Integers, Reals, Words>;

constexpr std::size_t most_labels = std::size_t{1} << 24;

std::size_t count_of(const Labels& labels) {
  return std::visit(
      [](const auto& list) -> std::size_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(list)>, std::monostate>)
          return 0;
        else
          return list.size();
      },
      labels);
}

std::optional<Words> words_of(const Step& step, std::string_view attribute) {
  if (step.is_reference(attribute)) refuse_unknown(fmt::format("the function's caller sets attribute {}", attribute));
  const ir::Attribute* found = step.node().find_attribute(attribute);
  const auto* texts = found ? found->as<std::vector<Text>>() : nullptr;
  if (!found) return std::nullopt;
  Words words;
  for (std::size_t i = 0; texts && i < texts->size(); ++i) words.emplace_back((*texts)[i].view());
  return words;
}

const ir::Tensor* tensor_of_ml_features(const Step& step, std::string_view attribute) {
  if (step.is_reference(attribute)) refuse_unknown(fmt::format("the function's caller sets attribute {}", attribute));
  const ir::Attribute* found = step.node().find_attribute(attribute);
  return found ? found->tensor() : nullptr;
}

/// A tensor of one of the types that have an attribute of their own.
Labels labels_in(const ir::Tensor& tensor, std::string_view attribute) {
  const ElementType type = ir::element_type_of(tensor);
  if (type == ElementType::string) {
    Words words;
    for (const Text& word : tensor.string_data) words.emplace_back(word.view());
    return words;
  }
  if (type == ElementType::int64) {
    if (const auto numbers = ir::read_integers(tensor, most_labels)) return *numbers;
  } else if (type == ElementType::float32) {
    if (const auto numbers = ir::read_reals(tensor, most_labels)) return Reals(numbers->begin(), numbers->end());
  } else {
    throw Refusal{"type-not-there", fmt::format("{} has a type that requires version 4", attribute)};
  }
  refuse_unknown(fmt::format("{} cannot be read", attribute));
}

/// `side`: keys or values.
Labels labels_of(const Step& step, const std::string& side) {
  if (const ir::Tensor* tensor = tensor_of_ml_features(step, side + "_tensor"))
    return labels_in(*tensor, side + "_tensor");
  if (auto words = words_of(step, side + "_strings")) return *std::move(words);
  if (auto numbers = step.integers(side + "_int64s")) return *std::move(numbers);
  if (auto reals = step.reals(side + "_floats")) return *std::move(reals);
  return {};
}

void set_labels(Step& step, const std::string& side, const Labels& labels) {
  if (const auto* numbers = std::get_if<Integers>(&labels)) step.set({step.keep(side + "_int64s").view(), *numbers});
  if (const auto* reals = std::get_if<Reals>(&labels)) step.set({step.keep(side + "_floats").view(), *reals});
  if (const auto* words = std::get_if<Words>(&labels)) step.set({step.keep(side + "_strings").view(), *words});
}

/// Version 2 compares bits, version 4 numbers.
void need_plain_keys(const Labels& keys) {
  const auto* reals = std::get_if<Reals>(&keys);
  if (!reals) return;
  for (const float key : *reals) {
    if (key == 0 || std::isnan(key))
      refuse("the keys contain 0 or NaN: version 2 distinguishes their bit patterns, version 4 does not");
  }
}

template <class List>
void keep_entries(List& list, const std::vector<bool>& kept) {
  List left;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (kept[i]) left.push_back(list[i]);
  }
  list = std::move(left);
}

void keep_entries(Labels& labels, const std::vector<bool>& kept) {
  std::visit(
      [&](auto& list) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(list)>, std::monostate>) keep_entries(list, kept);
      },
      labels);
}

/// Of keys that are there twice one is kept; the indices of those. All true: none is there twice.
std::vector<bool> unique_entries(const Labels& keys, bool last) {
  std::vector<bool> kept(count_of(keys), true);
  std::visit(
      [&](const auto& list) {
        using Given = std::decay_t<decltype(list)>;
        if constexpr (!std::is_same_v<Given, std::monostate>) {
          std::map<typename Given::value_type, std::size_t> seen;
          for (std::size_t i = 0; i < list.size(); ++i) {
            const auto [entry, is_new] = seen.try_emplace(list[i], i);
            if (is_new) continue;
            kept[last ? entry->second : i] = false;
            if (last) entry->second = i;
          }
        }
      },
      keys);
  return kept;
}

bool all_true(const std::vector<bool>& flags) { return std::find(flags.begin(), flags.end(), false) == flags.end(); }

/// Version 2 finds the first of equal keys, version 4 the last.
void first_key_wins(Step& step) {
  Labels keys = labels_of(step, "keys"), values = labels_of(step, "values");
  need_plain_keys(keys);
  const std::vector<bool> kept = unique_entries(keys, false);
  if (all_true(kept) || count_of(values) != kept.size()) return;
  keep_entries(keys, kept);
  keep_entries(values, kept);
  set_labels(step, "keys", keys);
  set_labels(step, "values", values);
  step.note("kept only the first of equal keys");
}

void set_default(Step& step, const ir::Tensor& tensor) {
  const Labels given = labels_in(tensor, "default_tensor");
  if (count_of(given) != 1) refuse("default_tensor must have one element");
  if (const auto* number = std::get_if<Integers>(&given)) step.set({"default_int64", number->front()});
  if (const auto* real = std::get_if<Reals>(&given)) step.set({"default_float", real->front()});
  if (const auto* word = std::get_if<Words>(&given)) step.set({"default_string", word->front()});
  step.remove("default_tensor");
}

void tensors_to_lists(Step& step) {
  Labels keys = labels_of(step, "keys"), values = labels_of(step, "values");
  need_plain_keys(keys);
  const std::vector<bool> kept = unique_entries(keys, true);
  const bool is_unique = all_true(kept) || count_of(values) != kept.size();
  if (!is_unique) {
    keep_entries(keys, kept);
    keep_entries(values, kept);
    step.note("kept only the last of equal keys");
  }
  if (!is_unique || step.has("keys_tensor")) set_labels(step, "keys", keys);
  if (!is_unique || step.has("values_tensor")) set_labels(step, "values", values);
  step.remove("keys_tensor");
  step.remove("values_tensor");
  if (const ir::Tensor* fallback = tensor_of_ml_features(step, "default_tensor")) set_default(step, *fallback);
}

/// Version 1 looks up the index of a word in one list, or the word at an index.
void list_to_keys(Step& step) {
  const Words words = words_of(step, "classes_strings").value_or(Words());
  Integers indices(words.size());
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i);
  const bool from_words = step.need_elem(step.input(0)) == ElementType::string;
  set_labels(step, "keys", from_words ? Labels(words) : Labels(indices));
  set_labels(step, "values", from_words ? Labels(indices) : Labels(words));
  step.remove("classes_strings");
  step.note(from_words ? "the strings become keys, their indices values"
                       : "the indices become keys, the strings values");
}

void keys_to_list(Step& step) {
  const Labels keys = labels_of(step, "keys"), values = labels_of(step, "values");
  const bool from_words = std::holds_alternative<Words>(keys);
  const auto* words = std::get_if<Words>(from_words ? &keys : &values);
  const auto* indices = std::get_if<Integers>(from_words ? &values : &keys);
  if (!words || !indices) refuse("version 1 maps only strings to integers and integers to strings");
  if (words->size() != indices->size()) refuse("the number of keys differs from the number of values");
  Words ordered(words->size());
  std::vector<bool> taken(words->size());
  for (std::size_t i = 0; i < indices->size(); ++i) {
    const auto index = static_cast<std::uint64_t>((*indices)[i]);
    if (index >= taken.size() || taken[index])
      refuse("version 1 numbers the strings from 0, and these integers are not such a sequence");
    taken[index] = true;
    ordered[index] = (*words)[i];
  }
  if (from_words && std::set<std::string>(words->begin(), words->end()).size() != words->size())
    refuse("a key occurs twice");
  for (const std::string_view name : {"keys_strings", "keys_int64s", "values_strings", "values_int64s", "keys_floats",
                                      "values_floats", "default_float"})
    step.remove(name);
  step.remove(from_words ? "default_string" : "default_int64");
  step.set({"classes_strings", ordered});
  step.note("the strings are listed in the order of their integers");
}

}  // namespace

void register_ml_features(StepRegistry& registry) {
  registry.change({"ai.onnx.ml::LabelEncoder"}, 2, adapt("the list becomes keys and values", list_to_keys),
                  adapt("keys and values become a list", keys_to_list));
  registry.change({"ai.onnx.ml::LabelEncoder"}, 4, adapt("the first of equal keys is kept", first_key_wins),
                  adapt("tensors become lists", tensors_to_lists));
}

}  // namespace onnxkit::opset
