// ai.onnx.ml: what prepares the features of models. The last axis of [N, C] or [C] are the columns.
#include <algorithm>
#include <limits>

#include "libonnxkit/plan/compose.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

constexpr char no_numbers[] = "elements cannot be computed";

/// Integers are computed in float64, which holds them.
Lane real_lane(ElementType type) { return type == ElementType::float32 ? Lane::f32 : Lane::f64; }

Number real_input(Expression& e, std::size_t index, const View& view) {
  return e.convert(e.input(index, lane_of(view.type)), real_lane(view.type));
}

/// An attribute with one number for all columns or one for each.
class ColumnNumbers {
 public:
  ColumnNumbers(Expression& e, std::vector<View>& operands, Lane lane) : e_(e), operands_(operands), lane_(lane) {}

  /// Nothing for a list of another length.
  std::optional<Number> add(LowerCall& call, const std::vector<float>& numbers) {
    if (numbers.size() == 1) return e_.constant(lane_, static_cast<double>(numbers[0]));
    const std::optional<Dims> dims = dims_for(call, numbers.size());
    if (!dims) return std::nullopt;
    operands_.push_back(call.constant(numbers, *dims));
    return e_.convert(e_.input(operands_.size() - 1, Lane::f32), lane_);
  }
  std::optional<Number> add(LowerCall& call, const std::vector<std::int64_t>& numbers) {
    if (numbers.size() == 1) return e_.integer(numbers[0]);
    const std::optional<Dims> dims = dims_for(call, numbers.size());
    if (!dims) return std::nullopt;
    operands_.push_back(call.constant(numbers, *dims));
    return e_.input(operands_.size() - 1, Lane::i64);
  }

 private:
  static std::optional<Dims> dims_for(LowerCall& call, std::size_t count) {
    const Dims& x = call.input_dims(0);
    const auto size = static_cast<std::int64_t>(count);
    return !x.empty() && x.back() == size ? std::optional(Dims{size}) : std::nullopt;
  }

  Expression& e_;
  std::vector<View>& operands_;
  Lane lane_;
};

constexpr char other_columns[] = "a list with another number of entries than columns";

/// (x - offset) * scale, as float32.
Unlowered lower_scaler(LowerCall& call) {
  if (!has_lane(call.input_type(0))) return no_numbers;
  Expression e;
  std::vector<View> operands = {call.input(0)};
  const Lane lane = real_lane(operands[0].type);
  const Number x = real_input(e, 0, operands[0]);
  ColumnNumbers columns(e, operands, lane);
  const auto offset = columns.add(call, call.reals("offset").value_or(std::vector<float>{0})),
             scale = columns.add(call, call.reals("scale").value_or(std::vector<float>{1}));
  if (!offset || !scale) return other_columns;
  e.convert(e.apply(Operation::multiply, e.apply(Operation::subtract, x, *offset), *scale), Lane::f32);
  call.set_output(0, mapped(call, e, std::move(operands), ElementType::float32, call.output_dims(0)));
  return std::nullopt;
}

/// 1 for what is greater than the threshold, else 0.
Unlowered lower_binarizer(LowerCall& call) {
  const View& x = call.input(0);
  if (!has_lane(x.type)) return no_numbers;
  Expression e;
  const auto threshold = static_cast<double>(call.real("threshold"));
  const Number is_greater = e.apply(Operation::less, e.constant(real_lane(x.type), threshold), real_input(e, 0, x));
  e.convert(is_greater, lane_of(x.type));
  call.set_output(0, mapped(call, e, {x}, x.type, call.output_dims(0)));
  return std::nullopt;
}

/// Another number in the place of one, which may be NaN.
Unlowered lower_imputer(LowerCall& call) {
  const View x = call.input(0);
  if (!has_lane(x.type)) return no_numbers;
  const Lane lane = lane_of(x.type);
  Expression e;
  std::vector<View> operands = {x};
  const Number number = e.input(0, lane);
  ColumnNumbers columns(e, operands, lane);
  std::optional<Number> given;
  Number is_missing = 0;
  if (lane == Lane::i64) {
    given = columns.add(call, call.integers("imputed_value_int64s").value_or(std::vector<std::int64_t>()));
    is_missing = e.apply(Operation::equal, number, e.integer(call.integer("replaced_value_int64")));
  } else {
    given = columns.add(call, call.reals("imputed_value_floats").value_or(std::vector<float>()));
    const auto replaced = static_cast<double>(call.real("replaced_value_float"));
    is_missing = replaced != replaced ? e.apply(Operation::is_nan, number)
                                      : e.apply(Operation::equal, number, e.constant(lane, replaced));
  }
  if (!given) return other_columns;
  e.apply(Operation::select, is_missing, *given, number);
  call.set_output(0, mapped(call, e, std::move(operands), x.type, call.output_dims(0)));
  return std::nullopt;
}

/// Rows over their greatest number, their sum of magnitudes or their length; what has none stays.
Unlowered lower_normalizer(LowerCall& call) {
  if (!has_lane(call.input_type(0))) return no_numbers;
  const auto norm = call.string("norm");
  if (norm != "MAX" && norm != "L1" && norm != "L2") return "an unknown norm";
  const ElementType type = real_lane(call.input(0).type) == Lane::f32 ? ElementType::float32 : ElementType::float64;
  const View x = stored_as(call, call.input(0), type);
  if (x.size() == 0 || x.rank() == 0) return "without elements";
  const Lane lane = lane_of(type);
  View terms = x;
  if (norm == "L2") {
    terms = squared(call, x);
  } else {
    Expression e;
    const Number number = e.input(0, lane);
    if (norm == "L1")
      e.apply(Operation::absolute, number);
    else  // a NaN is never the greatest
      e.apply(Operation::select, e.apply(Operation::is_nan, number),
              e.constant(lane, -std::numeric_limits<double>::infinity()), number);
    terms = mapped(call, e, {x}, type, x.dims);
  }
  Dims kept = x.dims;
  kept.back() = 1;
  const View lengths = reshaped(
      reduced(call, norm == "MAX" ? Reduction::maximum : Reduction::sum, terms, only_axis(x.rank(), x.rank() - 1)),
      kept);
  Expression e;
  const Number number = e.input(0, lane);
  Number length = e.input(1, lane);
  if (norm == "L2") length = e.apply(Operation::square_root, length);
  const Number is_none = e.apply(Operation::equal, length, e.constant(lane, 0));
  e.convert(e.apply(Operation::select, is_none, number, e.apply(Operation::divide, number, length)), Lane::f32);
  call.set_output(0, mapped(call, e, {x, lengths}, ElementType::float32, call.output_dims(0)));
  return std::nullopt;
}

/// Columns side by side: wider than inputdimensions says is cut, narrower is followed by zeros.
Unlowered lower_feature_vectorizer(LowerCall& call) {
  const Dims dims = call.output_dims(0);
  if (element_count(dims) == 0 || dims.size() != 2) return "without elements";
  const auto widths = call.integers("inputdimensions");
  if (widths && widths->size() != call.input_count()) return "a list with another number of entries than inputs";
  const View result = call.make(ElementType::float32, dims);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    if (!has_lane(call.input_type(i))) return no_numbers;
    const View& given = call.input(i);
    if (given.rank() == 0 || given.rank() > 2) return "features of other ranks";
    const std::int64_t columns = given.dims.back(), width = widths ? (*widths)[i] : columns;
    const View part =
        reshaped_or_copied(call, call.as_real(given), {given.size() / std::max<std::int64_t>(columns, 1), columns});
    const std::int64_t taken = std::min(columns, width);
    if (taken > 0) call.emit_copy(sliced(part, 1, 0, 1, taken), sliced(result, 1, first, 1, taken));
    if (width > columns) fill(call, sliced(result, 1, first + columns, 1, width - columns), 0);
    first += width;
  }
  if (first != dims[1]) return "columns of another number";
  call.set_output(0, result);
  return std::nullopt;
}

/// Elements of the last axis at positions, of which none counts from the end; one outside ends the run with an error.
Unlowered lower_array_feature_extractor(LowerCall& call) {
  const View x = call.input(0), columns = call.input(1);
  if (x.size() == 0 || x.rank() == 0 || columns.size() == 0) return "without elements";
  const std::int64_t size = x.dims.back(), rows = x.size() / size, count = columns.size();
  Expression e;
  const Number at = e.input(0, Lane::i64);
  e.apply(Operation::select, e.apply(Operation::less, at, e.integer(0)), e.integer(size), at);
  const View places = mapped(call, e, {reshaped_or_copied(call, columns, {count})}, ElementType::int64, {count});
  const View result = call.make(x.type, {rows, count, 1});
  call.emit(gather_step, {reshaped(call.contiguous(x), {rows, size, 1}), places}, {result});
  call.set_output(0, reshaped(result, call.output_dims(0)));
  return std::nullopt;
}

/// 1 at the place of its category, which real numbers are cut off to.
Unlowered lower_one_hot_encoder(LowerCall& call) {
  const View x = call.input(0);
  if (!has_lane(call.input_type(0))) return no_numbers;
  const auto categories = call.integers("cats_int64s");
  if (!categories || categories->empty() || call.strings("cats_strings")) return "categories that are no numbers";
  if (call.integer("zeros", 1) == 0) return "an element that is not a category ends the run";
  std::vector<std::int64_t> sorted = *categories;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return "a category comes twice";
  constexpr std::int64_t most = std::int64_t{1} << 53;  // up to which float64 tells integers apart
  if (sorted.front() < -most || sorted.back() > most) return "categories that float64 does not hold";
  const auto count = static_cast<std::int64_t>(categories->size());
  Dims one = x.dims, dims = x.dims;
  one.push_back(1);
  dims.push_back(count);
  Expression e;
  const Number number = e.apply(Operation::truncate, e.convert(e.input(0, lane_of(x.type)), Lane::f64));
  e.convert(e.apply(Operation::equal, number, e.convert(e.input(1, Lane::i64), Lane::f64)), Lane::f32);
  call.set_output(0, mapped(call, e, {reshaped_or_copied(call, x, one), call.constant(*categories, {count})},
                            ElementType::float32, dims));
  return std::nullopt;
}

}  // namespace

void register_ml_features(LoweringRegistry& registry);
void register_ml_features(LoweringRegistry& registry) {
  const auto add = [&](const char* op, Lowering lowering) { registry.add("ai.onnx.ml", op, all_versions(), lowering); };
  add("Scaler", lower_scaler);
  add("Binarizer", lower_binarizer);
  add("Imputer", lower_imputer);
  add("Normalizer", lower_normalizer);
  add("FeatureVectorizer", lower_feature_vectorizer);
  add("ArrayFeatureExtractor", lower_array_feature_extractor);
  add("OneHotEncoder", lower_one_hot_encoder);
}

}  // namespace onnxkit::plan
