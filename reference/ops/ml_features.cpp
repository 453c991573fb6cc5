// ai.onnx.ml: what prepares features for models, and what dresses up their results. LabelEncoder 1 maps between strings and their indices,
// from 2 on any listed keys to listed values, which from 4 on may be tensors. Of the others there is one meaning.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <variant>

#include <fmt/core.h>

#include "reference/kernels/axes.h"
#include "reference/kernels/broadcast.h"
#include "reference/kernels/ml.h"
#include "reference/kernels/select.h"
#include "reference/numerics/list.h"

namespace onnxkit::reference {
namespace {

/// y[i] = f(x[i]) in the domain of x.
template <class F>
Tensor map_numbers(const KernelContext& context, const Tensor& x, F f) {
  return dispatch_numbers(x.domain(),
                          [&]<class T>(std::type_identity<T>) { return map<T, T>(context, x, x.type(), f); });
}

void binarizer(KernelContext& context) {
  const double threshold = context.real("threshold");
  context.set_output(0, map_numbers(context, context.input(0), [threshold]<class T>(T x) {
                       return static_cast<T>(static_cast<double>(x) > threshold ? 1 : 0);
                     }));
}

/// Columns of the last axis; a vector gives one row.
void array_feature_extractor(KernelContext& context) {
  const Tensor& x = context.input(0);
  require(x.rank() > 0, "a scalar has no columns");
  const std::vector<std::int64_t> columns = context.input(1).integers();
  require(!columns.empty(), "no column is selected");
  std::vector<std::vector<std::int64_t>> index;
  for (const std::int64_t size : x.dims()) index.push_back(identity_index(size));
  for (const std::int64_t column : columns)
    require(0 <= column && column < x.dims().back(), [&] { return fmt::format("column {} does not exist", column); });
  index.back() = columns;
  Tensor y = select(context, x, index);
  if (x.rank() == 1) y = y.reshaped({1, y.size()});
  context.set_output(0, std::move(y));
}

/// Scales a row to length one; what has no length stays.
void normalize_row(StridedRow<const double> x, StridedRow<double> y, std::string_view norm) {
  double length = norm == "MAX" ? -std::numeric_limits<double>::infinity() : 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (norm == "MAX")
      length = std::max(length, x[i]);
    else
      length += norm == "L1" ? std::abs(x[i]) : x[i] * x[i];
  }
  if (norm == "L2") length = std::sqrt(length);
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = length == 0 ? x[i] : x[i] / length;
}

void normalizer(KernelContext& context) {
  const Tensor rows = feature_rows(context, context.input(0));
  const std::string_view norm = context.string("norm");
  require(norm == "MAX" || norm == "L1" || norm == "L2", "norm must be MAX, L1 or L2");
  Tensor y = context.make(ElementType::float32, rows.dims());
  for_each_strided_row<double, double>(
      context, rows, y, 1,
      [norm](StridedRow<const double> in, StridedRow<double> out) { normalize_row(in, out, norm); });
  context.set_output(0, y.reshaped(context.input(0).dims()));
}

/// One for all columns or one for each; the last axis are the columns.
template <class T>
class PerColumn {
 public:
  PerColumn(std::vector<T> values, const Tensor& x) : values_(std::move(values)) {
    const std::int64_t columns = x.rank() == 0 ? 1 : x.dims().back();
    require(values_.size() == 1 || static_cast<std::int64_t>(values_.size()) == columns,
            "an attribute must have one entry, or one per column");
  }
  T at(std::size_t element) const { return values_[element % values_.size()]; }

 private:
  std::vector<T> values_;
};

void scaler(KernelContext& context) {
  const Tensor x = as_reals(context, context.input(0));
  const PerColumn<float> scale(context.reals("scale").value_or(std::vector<float>{1}), x);
  const PerColumn<float> offset(context.reals("offset").value_or(std::vector<float>{0}), x);
  Tensor y = context.make(ElementType::float32, x.dims());
  const std::span<double> out = y.write<double>();
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = (x.as<double>()[i] - double{offset.at(i)}) * double{scale.at(i)};
  context.set_output(0, std::move(y));
}

template <class T, class Value>
Tensor imputed(const Tensor& x, Value replaced, const PerColumn<Value>& values) {
  Tensor y = x;
  const std::span<T> out = y.write<T>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool missing = static_cast<T>(replaced) == out[i] || (replaced != replaced && out[i] != out[i]);
    if (missing) out[i] = static_cast<T>(values.at(i));
  }
  return y;
}

void imputer(KernelContext& context) {
  const Tensor& x = context.input(0);
  if (x.domain() == Domain::real) {
    const PerColumn<float> values(context.reals("imputed_value_floats").value_or(std::vector<float>()), x);
    context.set_output(0, imputed<double>(x, context.real("replaced_value_float"), values));
  } else {
    const PerColumn<std::int64_t> values(context.integers("imputed_value_int64s").value_or(std::vector<std::int64_t>()),
                                         x);
    context.set_output(0, imputed<std::int64_t>(x, context.integer("replaced_value_int64"), values));
  }
}

/// Wider than inputdimensions says is cut, narrower is followed by zeros.
void feature_vectorizer(KernelContext& context) {
  std::vector<Tensor> parts;
  for (const Tensor* x : context.inputs_from()) parts.push_back(feature_rows(context, *x));
  std::vector<std::int64_t> widths;
  for (const Tensor& part : parts) {
    require(part.dim(0) == parts.front().dim(0), "the inputs differ in the number of rows");
    widths.push_back(part.dim(1));
  }
  if (const auto given = context.integers("inputdimensions")) {
    require(given->size() == parts.size(), "inputdimensions must have one entry per input");
    widths = *given;
  }
  std::int64_t total = 0;
  for (const std::int64_t width : widths) {
    require(0 <= width && width <= std::numeric_limits<std::int32_t>::max(), "a width is out of range");
    total += width;
  }
  Tensor y = context.make(ElementType::float32, {parts.front().dim(0), total});
  const std::span<double> out = y.write<double>();
  std::int64_t first = 0;
  for (std::size_t p = 0; p < parts.size(); first += widths[p++]) {
    const std::int64_t columns = parts[p].dim(1);
    for (std::int64_t i = 0; i < parts[p].dim(0); ++i) {
      for (std::int64_t k = 0; k < std::min(columns, widths[p]); ++k)
        out[static_cast<std::size_t>(i * total + first + k)] =
            parts[p].as<double>()[static_cast<std::size_t>(i * columns + k)];
    }
  }
  context.set_output(0, std::move(y));
}

// ---- maps

const Value& map_at(const KernelContext& context) {
  const Value& value = context.value(0);
  require(value.kind == ValueKind::map && value.items.size() == 1 && value.items.front().is_tensor() &&
              value.items.front().tensor.size() == value.tensor.size(),
          "the input is not a map");
  return value;
}

template <class Key, class Words>
Tensor dictionary_row(const KernelContext& context, const Value& given, const Words& vocabulary) {
  const Tensor& values = given.items.front().tensor;
  std::map<Key, std::int64_t> position;
  for (const Key& key : given.tensor.as<Key>()) position.emplace(key, static_cast<std::int64_t>(position.size()));
  std::vector<std::int64_t> index;
  for (const auto& word : vocabulary) {
    const auto found = position.find(Key(word));
    index.push_back(found == position.end() ? no_source : found->second);
  }
  return pick(context, values, {1, static_cast<std::int64_t>(index.size())}, index);
}

void dict_vectorizer(KernelContext& context) {
  const Value& given = map_at(context);
  if (const auto words = context.strings("string_vocabulary"))
    context.set_output(0, dictionary_row<std::string>(context, given, *words));
  else if (const auto numbers = context.integers("int64_vocabulary"))
    context.set_output(0, dictionary_row<std::int64_t>(context, given, *numbers));
  else
    throw Fault("the vocabulary is missing");
}

double number_of(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(error == std::errc() && end == text.data() + text.size(), "a string of the map is not a number");
  return number;
}

/// `from` as one element of `to`.
void cast_element(const Tensor& from, std::size_t i, Tensor& to, std::size_t k) {
  const bool text = from.domain() == Domain::string;
  if (to.domain() == Domain::string) {
    to.write<std::string>()[k] = text ? from.as<std::string>()[i] : fmt::format("{:f}", from.as<double>()[i]);
    return;
  }
  const double number = text ? number_of(from.as<std::string>()[i]) : from.as<double>()[i];
  if (to.domain() == Domain::real) {
    to.write<double>()[k] = number;
  } else {
    require(std::abs(number) < 0x1p63, "a number is outside int64");
    to.write<std::int64_t>()[k] = static_cast<std::int64_t>(number);
  }
}

void cast_map(KernelContext& context) {
  const Value& given = map_at(context);
  const Tensor& values = given.items.front().tensor;
  const std::string_view to = context.string("cast_to");
  require(to == "TO_FLOAT" || to == "TO_INT64" || to == "TO_STRING", "cast_to is unknown");
  const ElementType type = to == "TO_FLOAT"   ? ElementType::float32
                           : to == "TO_INT64" ? ElementType::int64
                                              : ElementType::string;
  std::map<std::int64_t, std::size_t> position;
  for (const std::int64_t key : given.tensor.as<std::int64_t>()) position.emplace(key, position.size());
  const bool sparse = context.string("map_form") == "SPARSE";
  const std::int64_t width = sparse ? context.integer("max_map", 1) : static_cast<std::int64_t>(position.size());
  require(width >= 0, "max_map is negative");
  Tensor y = context.make(type, {1, width});
  std::int64_t next = 0;
  for (const auto& [key, i] : position) {
    const std::int64_t at = sparse ? key : next++;
    require(0 <= at && at < width, "a key must be less than max_map");
    cast_element(values, i, y, static_cast<std::size_t>(at));
  }
  context.set_output(0, std::move(y));
}

void zip_map(KernelContext& context) {
  const Tensor rows = feature_rows(context, context.input(0));
  const auto words = context.strings("classlabels_strings");
  const auto numbers = context.integers("classlabels_int64s");
  require(words.has_value() != numbers.has_value(), "exactly one list of labels is required");
  const Tensor keys = words ? list<std::string>(context, ElementType::string, *words)
                            : list<std::int64_t>(context, ElementType::int64, *numbers);
  require(keys.size() == rows.dim(1), "there must be one label per column");
  std::vector<Value> maps;
  for (std::int64_t i = 0; i < rows.dim(0); ++i) {
    Tensor row = slice_axis(context, rows, 0, i, i + 1).reshaped({keys.size()}).retyped(ElementType::float32);
    maps.push_back(Value::map(keys, std::move(row)));
  }
  context.set_output(0, Value::sequence(std::move(maps)));
}

// ---- categories and labels

/// What keys are compared by: NaN equals NaN; 0 and -0 are one key or two.
std::uint64_t comparable(double key, bool bitwise) {
  if (std::isnan(key)) key = std::numeric_limits<double>::quiet_NaN();
  return std::bit_cast<std::uint64_t>(key == 0 && !bitwise ? 0.0 : key);
}
const std::string& comparable(const std::string& key, bool) { return key; }
template <std::integral T>
T comparable(T key, bool) {
  return key;
}

/// Where each key is in a list of keys.
class KeyTable {
 public:
  KeyTable(const Tensor& keys, bool bitwise, bool last_wins) : bitwise_(bitwise) {
    dispatch_all(keys.domain(), [&]<class T>(std::type_identity<T>) {
      if constexpr (std::is_same_v<T, Complex>) {
        throw Fault("complex numbers cannot be keys");
      } else {
        Index<T>& index = index_.emplace<Index<T>>();
        for (std::int64_t i = 0; i < keys.size(); ++i) {
          const auto inserted = index.emplace(comparable(keys.as<T>()[static_cast<std::size_t>(i)], bitwise), i);
          if (last_wins) inserted.first->second = i;
        }
      }
    });
    domain_ = keys.domain();
  }

  /// The place of each element, or no_source.
  std::vector<std::int64_t> places_of(const Tensor& x) const {
    require(x.domain() == domain_, "the keys and the input have different types");
    std::vector<std::int64_t> places;
    dispatch_all(domain_, [&]<class T>(std::type_identity<T>) {
      if constexpr (!std::is_same_v<T, Complex>) {
        const auto& index = std::get<Index<T>>(index_);
        for (const T& key : x.as<T>()) {
          const auto found = index.find(comparable(key, bitwise_));
          places.push_back(found == index.end() ? no_source : found->second);
        }
      }
    });
    return places;
  }

 private:
  template <class T>
  using Index = std::map<std::decay_t<decltype(comparable(T(), false))>, std::int64_t>;

  Domain domain_;
  bool bitwise_;
  std::variant<Index<double>, Index<std::string>, Index<std::int64_t>, Index<bool>> index_;
};

/// Keys, what each becomes, and what all else becomes.
struct LookUp {
  KeyTable keys;
  Tensor values, fallback;

  Tensor operator()(const KernelContext& context) const {
    const Tensor& x = context.input(0);
    return pick(context, values, x.dims(), keys.places_of(x), &fallback);
  }
};

LookUp look_up(const KernelContext& context, const Tensor& keys, Tensor values, Tensor fallback,
               bool last_wins = false) {
  require(keys.size() == values.size(), "the number of keys differs from the number of values");
  const bool bitwise = context.schema().name == "LabelEncoder" && context.since() < 4;
  return {KeyTable(keys, bitwise, last_wins), std::move(values), std::move(fallback)};
}

Tensor default_string(const KernelContext& context) {
  return list<std::string>(context, ElementType::string, std::vector{context.string("default_string")}).reshaped({});
}
Tensor default_integer(const KernelContext& context) {
  return list<std::int64_t>(context, ElementType::int64, std::vector{context.integer("default_int64")}).reshaped({});
}

void map_categories(KernelContext& context, const Tensor& words, const Tensor& numbers) {
  if (context.input(0).domain() == Domain::string)
    context.set_output(0, look_up(context, words, numbers, default_integer(context))(context));
  else
    context.set_output(0, look_up(context, numbers, words, default_string(context))(context));
}

void category_mapper(KernelContext& context) {
  map_categories(context,
                 list<std::string>(context, ElementType::string,
                                   context.strings("cats_strings").value_or(std::vector<std::string_view>())),
                 list<std::int64_t>(context, ElementType::int64,
                                    context.integers("cats_int64s").value_or(std::vector<std::int64_t>())));
}

void index_encoder(KernelContext& context) {
  const auto words = context.strings("classes_strings").value_or(std::vector<std::string_view>());
  map_categories(
      context, list<std::string>(context, ElementType::string, words),
      list<std::int64_t>(context, ElementType::int64, identity_index(static_cast<std::int64_t>(words.size()))));
}

/// The one list that is given of `keys_*` or `values_*`.
Tensor given_list(const KernelContext& context, const std::string& side) {
  if (const ir::Tensor* tensor = context.tensor(side + "_tensor")) {
    const Tensor all = context.constant(*tensor);
    return all.reshaped({all.size()});
  }
  if (const auto words = context.strings(side + "_strings"))
    return list<std::string>(context, ElementType::string, *words);
  if (const auto numbers = context.integers(side + "_int64s"))
    return list<std::int64_t>(context, ElementType::int64, *numbers);
  if (const auto reals = context.reals(side + "_floats")) return list<double>(context, ElementType::float32, *reals);
  throw Fault(side + "_* is missing");
}

Tensor default_label(const KernelContext& context, const Tensor& values) {
  if (const ir::Tensor* tensor = context.tensor("default_tensor")) {
    const Tensor given = context.constant(*tensor);
    require(given.size() == 1 && given.type() == values.type(),
            "default_tensor must be one element of the values' type");
    return given.reshaped({});
  }
  if (values.domain() == Domain::string) return default_string(context);
  if (values.domain() == Domain::real) return context.scalar(values.type(), context.real("default_float", -0.0f));
  return default_integer(context).retyped(values.type());
}

void label_encoder(KernelContext& context) {
  const auto labels = context.derived<LookUp>([&] {
    const Tensor keys = given_list(context, "keys"), values = given_list(context, "values");
    return look_up(context, keys, values, default_label(context, values), context.since() >= 4);
  });
  context.set_output(0, (*labels)(context));
}

void one_hot_encoder(KernelContext& context) {
  const Tensor& x = context.input(0);
  const auto words = context.strings("cats_strings");
  const auto numbers = context.integers("cats_int64s");
  require(words.has_value() != numbers.has_value(), "exactly one list of categories is required");
  const auto table = context.derived<KeyTable>([&] {
    if (words) return KeyTable(list<std::string>(context, ElementType::string, *words), false, false);
    return KeyTable(as_reals(context, list<std::int64_t>(context, ElementType::int64, *numbers)), false, false);
  });
  require(words || x.domain() != Domain::string, "numbers cannot match string categories");
  const std::vector<std::int64_t> offsets = table->places_of(
      words ? x : map<double, double>(context, as_reals(context, x), ElementType::float64, [](double v) {
        return std::trunc(v);
      }));
  Dims dims = x.dims();
  const auto categories = static_cast<std::int64_t>(words ? words->size() : numbers->size());
  dims.push_back(categories);
  Tensor y = context.make(ElementType::float32, std::move(dims));
  const std::span<double> out = y.write<double>();
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] != no_source)
      out[i * static_cast<std::size_t>(categories) + static_cast<std::size_t>(offsets[i])] = 1;
    else
      require(context.integer("zeros", 1) != 0, "an element is not one of the categories");
  }
  context.set_output(0, std::move(y));
}

}  // namespace

void register_ml_features(KernelRegistry& registry) {
  registry.add(ml_domain, "Binarizer", all_versions(), binarizer, {.noise = noise::moved});
  registry.add(ml_domain, "Normalizer", all_versions(), normalizer, {.noise = noise::terms});
  registry.add(ml_domain, "Scaler", all_versions(), scaler, {.noise = NoiseRule{.results = 2, .input = 2}});
  registry.add(ml_domain, "Imputer", all_versions(), imputer, {.noise = noise::moved});
  registry.add(ml_domain, "LabelEncoder", versions(1, 1), index_encoder, {.noise = noise::moved});
  registry.add(ml_domain, "LabelEncoder", since(2), label_encoder, {.noise = noise::moved});
  registry.add(ml_domain, "CategoryMapper", all_versions(), category_mapper);
  registry.add(ml_domain, "OneHotEncoder", all_versions(), one_hot_encoder, {.noise = noise::moved});
  registry.add(ml_domain, "DictVectorizer", all_versions(), dict_vectorizer, {.noise = noise::moved});
  registry.add(ml_domain, "CastMap", all_versions(), cast_map, {.noise = noise::moved});
  registry.add(ml_domain, "FeatureVectorizer", all_versions(), feature_vectorizer, {.noise = noise::moved});
  registry.add(ml_domain, "ArrayFeatureExtractor", all_versions(), array_feature_extractor, {.noise = noise::moved});
  registry.add(ml_domain, "ZipMap", all_versions(), zip_map, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
