// ai.onnx.ml LabelEncoder between numbers: each is compared with all keys.
#include <algorithm>
#include <map>

#include "libonnxkit/plan/compose.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// Different keys, all integers or all reals, and the place of the value of each.
struct LabelKeys {
  std::vector<std::int64_t> integers = {};
  std::vector<float> reals = {};
  std::vector<std::size_t> places = {};

  std::int64_t count() const { return static_cast<std::int64_t>(places.size()); }
};

/// Of equal keys the first or the last one counts. NaN is equal to itself.
template <class T>
void add_keys(const std::vector<T>& given, bool takes_last, std::vector<T>& keys, std::vector<std::size_t>& places) {
  std::map<T, std::size_t> known;
  std::optional<std::size_t> nan;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const bool is_nan = given[i] != given[i];
    const auto entry = known.find(is_nan ? T() : given[i]);
    const bool is_known = is_nan ? nan.has_value() : entry != known.end();
    if (!is_known) {
      if (is_nan)
        nan = keys.size();
      else
        known.emplace(given[i], keys.size());
      keys.push_back(given[i]);
      places.push_back(i);
    } else if (takes_last) {
      places[is_nan ? *nan : entry->second] = i;
    }
  }
}

Unlowered read_keys(LowerCall& call, LabelKeys& keys, std::size_t& given) {
  const bool takes_last = call.since() >= 4;
  const auto integers = call.integers("keys_int64s");
  const auto reals = call.reals("keys_floats");
  if (integers && !reals && call.input_type(0) == ElementType::int64) {
    given = integers->size();
    add_keys(*integers, takes_last, keys.integers, keys.places);
    return std::nullopt;
  }
  if (integers || !reals || call.input_type(0) != ElementType::float32) return "keys of other types";
  // Versions before tell 0 from -0.
  if (!takes_last && std::find(reals->begin(), reals->end(), 0.0F) != reals->end()) return "a key of 0";
  given = reals->size();
  add_keys(*reals, takes_last, keys.reals, keys.places);
  return std::nullopt;
}

/// 1 + the place of each element [n, 1] among the keys, 0 for others: int64 [n].
View key_places(LowerCall& call, const View& x, const LabelKeys& keys) {
  const std::int64_t count = keys.count(), rows = x.dims[0];
  Expression e;
  View all;
  if (keys.reals.empty()) {
    all = call.constant(keys.integers, {count});
    e.apply(Operation::equal, e.input(0, Lane::i64), e.input(1, Lane::i64));
  } else {
    all = call.constant(keys.reals, {count});
    const Number number = e.input(0, Lane::f32), key = e.input(1, Lane::f32);
    const Number are_nan =
        e.apply(Operation::logical_and, e.apply(Operation::is_nan, number), e.apply(Operation::is_nan, key));
    e.apply(Operation::logical_or, e.apply(Operation::equal, number, key), are_nan);
  }
  e.convert(e.last(), Lane::f32);
  const View matches = mapped(call, e, {x, all}, ElementType::float32, {rows, count});
  call.spend_on_tables(count, sizeof(float));
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(i + 1));
  ProductParameters parameters;
  parameters.has_exact_sums = true;
  const View places = matrix_product(call, matches, call.constant(numbers, {count, 1}), {rows, 1}, parameters);
  return reshaped(stored_as(call, places, ElementType::int64), {rows});
}

/// The value of all other elements, then those of the keys: [1, keys + 1, 1].
std::optional<View> label_values(LowerCall& call, const LabelKeys& keys, std::size_t given) {
  const Dims dims = {1, keys.count() + 1, 1};
  const auto integers = call.integers("values_int64s");
  const auto reals = call.reals("values_floats");
  if (integers && !reals && integers->size() == given && call.output_type(0) == ElementType::int64) {
    std::vector<std::int64_t> values = {call.integer("default_int64")};
    for (const std::size_t place : keys.places) values.push_back((*integers)[place]);
    return call.constant(values, dims);
  }
  if (integers || !reals || reals->size() != given || call.output_type(0) != ElementType::float32) return std::nullopt;
  std::vector<float> values = {call.real("default_float", -0.0F)};
  for (const std::size_t place : keys.places) values.push_back((*reals)[place]);
  return call.constant(values, dims);
}

Unlowered lower_label_encoder(LowerCall& call) {
  for (const char* other : {"keys_tensor", "values_tensor", "default_tensor", "keys_strings", "values_strings"})
    if (call.has_attribute(other)) return "labels of tensors or strings";
  constexpr std::int64_t most_comparisons = std::int64_t{1} << 22, most_keys = 64;  // more are found faster by a search
  const View x = call.input(0);
  if (x.size() == 0) return "without elements";
  LabelKeys keys;
  std::size_t given = 0;
  if (auto refused = read_keys(call, keys, given)) return refused;
  if (keys.count() == 0) return "without keys";
  if (keys.count() > most_keys || x.size() > most_comparisons / keys.count()) return "too many keys";
  const auto values = label_values(call, keys, given);
  if (!values) return "values of other types";
  const View places = key_places(call, reshaped_or_copied(call, x, {x.size(), 1}), keys);
  const View labels = call.make(values->type, {1, x.size(), 1});
  call.emit(gather_step, {*values, places}, {labels});
  call.set_output(0, reshaped(labels, call.output_dims(0)));
  return std::nullopt;
}

}  // namespace

void register_ml_labels(LoweringRegistry& registry);
void register_ml_labels(LoweringRegistry& registry) {
  registry.add("ai.onnx.ml", "LabelEncoder", since(2), lower_label_encoder);
}

}  // namespace onnxkit::plan
