// Attention 23: below, a composition. 24: nonpad_kv_seqlen, and masks that end before the keys do. 25: windows. What 24 and 25 add is said with a mask.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "converters/opset/compose/compose.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"
#include "converters/opset/engine/storable.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::opset {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

enum AttentionInput : std::size_t { query, key, value, mask, past_key, past_value, valid_lengths };
enum Output : std::size_t { result, present_key, present_value, scores_seen };
enum Stage : std::int64_t { raw, capped, biased, weights };

constexpr std::string_view q_heads = "q_num_heads", kv_heads = "kv_num_heads";

/// Heads in the last axis: [batch, length, heads * size]. Such a node counts its heads.
bool is_packed(Step& step, std::size_t input, std::string_view heads) {
  const auto rank = step.rank(step.input(input));
  if (!rank && step.has(heads))
    refuse_unknown(fmt::format("the rank of {} is unknown", quote(step.graph().name_of(step.input(input)))));
  return rank == 3;
}

/// The axis of positions is the last but one, packed or not.
Size length_of(Step& step, std::size_t input) { return size_of(step, step.input(input), -2); }

Size past_length(Step& step) { return step.has_input(past_key) ? size_of(step, step.input(past_key), 2) : Size(0); }

Size key_count(Step& step) { return sum(step, past_length(step), length_of(step, key)); }

// ---- which keys a query may see by position

struct Bounds {
  bool causal = false;
  std::int64_t left = -1, right = -1;
  bool beyond_valid = true;  ///< keys beyond nonpad_kv_seqlen are seen

  bool any() const { return causal || left >= 0 || right >= 0; }
  /// How far the query is behind the key at least, and at most.
  std::optional<std::int64_t> least() const {
    if (causal) return 0;
    return right >= 0 ? std::optional(-right) : std::nullopt;
  }
  bool allow(std::int64_t behind) const { return (!least() || behind >= *least()) && (left < 0 || behind <= left); }
};

/// A condition that broadcasts to [batch, heads, queries, keys].
struct Sight {
  std::vector<std::int64_t> dims;  ///< queries and keys where all is known
  std::vector<double> known;       ///< 1 where a key is seen
  ValueId computed = ValueId::none;

  bool is_known() const { return !dims.empty(); }
  bool is_limited() const { return is_known() || computed != ValueId::none; }
  bool leaves_a_row_empty() const {
    if (!is_known()) return computed != ValueId::none;
    for (std::size_t row = 0; row < known.size(); row += static_cast<std::size_t>(dims[1])) {
      const auto first = known.begin() + static_cast<std::ptrdiff_t>(row);
      if (std::find(first, first + dims[1], 1.0) == first + dims[1]) return true;
    }
    return dims[1] == 0;
  }
};

ValueId both(Step& step, ValueId a, ValueId b) {
  if (a == ValueId::none || b == ValueId::none) return a == ValueId::none ? b : a;
  return step.add("And", {a, b}, {}, "seen");
}

Sight computed_sight(Step& step, const Bounds& bounds, const Size& queries, const Size& keys, const Size& past) {
  const bool has_lengths = step.has_input(valid_lengths);
  const ValueId lengths = has_lengths ? unsqueeze(step, step.input(valid_lengths), {1, 2, 3}) : ValueId::none;
  const ValueId columns = count_up(step, keys);
  Sight sight;
  if (bounds.any()) {
    ValueId rows = unsqueeze(step, count_up(step, queries), {1});
    if (has_lengths)
      rows = step.add("Add", {rows, step.add("Sub", {lengths, as_vector(step, queries)}, {}, "offset")}, {}, "rows");
    else if (past.known != 0)
      rows = step.add("Add", {rows, as_vector(step, past)}, {}, "rows");
    const ValueId behind = step.add("Sub", {rows, columns}, {}, "behind");
    if (const auto least = bounds.least())
      sight.computed = step.add("Greater", {behind, step.scalar(*least - 1)}, {}, "seen");
    if (bounds.left >= 0)
      sight.computed = both(step, sight.computed, step.add("Less", {behind, step.scalar(bounds.left + 1)}, {}, "seen"));
  }
  if (has_lengths && !bounds.beyond_valid)
    sight.computed = both(step, sight.computed, step.add("Less", {columns, lengths}, {}, "valid"));
  return sight;
}

Sight sight_of(Step& step, const Bounds& bounds) {
  if (!bounds.any() && bounds.beyond_valid) return {};
  const Size queries = length_of(step, query), past = past_length(step), keys = sum(step, past, length_of(step, key));
  if (step.has_input(valid_lengths) || !queries.known || !keys.known || !past.known ||
      !is_foldable(std::vector{*queries.known, *keys.known}))
    return computed_sight(step, bounds, queries, keys, past);
  Sight sight{{*queries.known, *keys.known}, {}, ValueId::none};
  for (std::int64_t i = 0; i < *queries.known; ++i) {
    for (std::int64_t j = 0; j < *keys.known; ++j) sight.known.push_back(bounds.allow(*past.known + i - j) ? 1 : 0);
  }
  return sight;
}

ValueId as_condition(Step& step, const Sight& sight) {
  return sight.is_known() ? step.numbers(ElementType::boolean, sight.dims, sight.known, "seen") : sight.computed;
}

/// 0 where the condition holds, -infinity where it does not.
ValueId as_bias(Step& step, ValueId condition, ElementType type) {
  return step.add("Where", {condition, step.number(type, 0), step.number(type, -infinity)}, {}, "bias");
}

ValueId as_bias(Step& step, const Sight& sight, ElementType type) {
  if (!sight.is_known()) return as_bias(step, sight.computed, type);
  std::vector<double> added;
  for (const double seen : sight.known) added.push_back(seen != 0 ? 0 : -infinity);
  return step.numbers(type, sight.dims, added, "bias");
}

// ---- masks

/// A condition, or numbers of a type that is asked for.
struct Mask {
  ValueId all = ValueId::none;
  bool is_condition = false;
};

Mask given_mask(Step& step, ElementType type) {
  if (!step.has_input(mask)) return {};
  if (step.need_elem(step.input(mask)) == ElementType::boolean) return {step.input(mask), true};
  return {cast(step, step.input(mask), type), false};
}

/// Keys beyond the end of the mask are not seen.
Mask padded_mask(Step& step, ElementType type) {
  const Mask given = given_mask(step, type);
  if (given.all == ValueId::none || step.rank(step.input(mask)) == 0) return given;
  const Size missing = difference(step, key_count(step), size_of(step, step.input(mask), -1));
  if (missing.known == 0) return given;
  const ValueId beyond = given.is_condition ? step.number(ElementType::boolean, 0) : step.number(type, -infinity);
  const ValueId pads = as_shape(step, {0, missing});
  return {step.add("Pad", {given.all, pads, beyond, step.vector(std::vector<std::int64_t>{-1})}, {}, "mask"),
          given.is_condition};
}

/// The mask and what position allows, in one.
Mask joined(Step& step, const Mask& given, const Sight& sight, ElementType type) {
  if (!sight.is_limited()) return given;
  if (given.all == ValueId::none) return {as_condition(step, sight), true};
  if (given.is_condition) return {both(step, given.all, as_condition(step, sight)), true};
  return {step.add("Add", {given.all, as_bias(step, sight, type)}, {}, "mask"), false};
}

void say_with_mask(Step& step, const Bounds& bounds) {
  const ElementType type = step.need_elem(step.input(query));
  step.set_input(mask, joined(step, padded_mask(step, type), sight_of(step, bounds), type).all);
}

void without_windows(Step& step) {
  Bounds bounds;
  constexpr std::int64_t farthest = std::int64_t{1} << 62;
  bounds.left = std::min(step.integer("left_window_size", -1), farthest);
  bounds.right = std::min(step.integer("right_window_size", -1), farthest);
  step.remove("left_window_size");
  step.remove("right_window_size");
  if (!bounds.any()) return;
  say_with_mask(step, bounds);
  step.note("the window is expressed in the mask");
}

/// Version 23 aligns causal masks by the past alone and broadcasts a mask of one column.
void without_valid_lengths(Step& step) {
  const bool has_lengths = step.has_input(valid_lengths);
  if (has_lengths) {
    Bounds bounds;
    bounds.causal = step.integer("is_causal") != 0;
    bounds.beyond_valid = false;
    say_with_mask(step, bounds);
    step.remove("is_causal");
    step.drop_inputs(valid_lengths);
    step.note("nonpad_kv_seqlen is expressed in the mask");
    return;
  }
  if (!step.has_input(mask)) return;
  const Mask whole = padded_mask(step, step.need_elem(step.input(query)));
  if (whole.all == step.input(mask)) return;
  step.set_input(mask, whole.all);
  step.note("the mask is extended to the length of the keys");
}

/// Version 24 takes a mask of one column for one that ends there.
void with_whole_mask(Step& step) {
  const ValueId given = step.input(mask);
  const checker::Shape* shape = given == ValueId::none ? nullptr : step.shape(given);
  if (given == ValueId::none || (shape && (shape->empty() || (shape->back().is_constant() && !shape->back().is(1)))))
    return;
  const Size keys = key_count(step);
  if (keys.known == 1) return;
  step.set_input(mask, step.add("Expand", {given, as_vector(step, keys)}, {}, "mask"));
  step.note("a mask of one column is extended to the length of the keys");
}

// ---- below 23

/// Queries, keys or values as [batch, heads, length, size].
struct Heads {
  ValueId all;
  Size count, size;
};

Heads unpacked(Step& step, std::size_t input, std::string_view heads) {
  const ValueId x = step.input(input);
  if (!is_packed(step, input, heads)) return {x, size_of(step, x, 1), size_of(step, x, 3)};
  const std::int64_t count = step.integer(heads);
  if (count < 1) refuse(fmt::format("attribute {} is not a valid number of heads", heads));
  const Size size = quotient(step, size_of(step, x, 2), count);
  return {transpose(step, reshape_to(step, x, {0, 0, count, size}), {0, 2, 1, 3}), count, size};
}

class Composition {
 public:
  explicit Composition(Step& step)
      : step_(step),
        own_(step.need_elem(step.input(query))),
        type_(wider(own_, ElementType::float32)),
        stage_(step.integer("qk_matmul_output_mode")) {}

  void build() {
    const Heads q = unpacked(step_, query, q_heads), k = unpacked(step_, key, kv_heads);
    Heads v = unpacked(step_, value, kv_heads);
    const ValueId keys = present(past_key, k.all, present_key), values = present(past_value, v.all, present_value);
    const ValueId shared = sharing(q.count, k.count);
    ValueId seen = scores(q, for_each_query_head(cast(step_, keys, type_), shared));
    show_at(raw, seen);
    if (const float cap = step_.real("softcap"); cap > 0) seen = limited(seen, cap);
    show_at(capped, seen);
    const ValueId bias = full_bias();
    if (bias != ValueId::none) seen = step_.add("Add", {seen, bias}, {}, "scores");
    show_at(biased, seen);
    seen = softmax(seen, bias);
    show_at(weights, seen);
    weigh(seen, for_each_query_head(values, shared), product(step_, q.count, v.size));
    step_.replace();
  }

 private:
  ValueId present(std::size_t past, ValueId now, std::size_t output) {
    if (step_.has_input(past)) now = step_.add("Concat", {step_.input(past), now}, {{"axis", std::int64_t{2}}}, "kv");
    if (step_.output(output) != ValueId::none) step_.emit("Identity", {now}, {step_.output(output)});
    return now;
  }

  /// For each query head the key head that it uses; none when that is the same one.
  ValueId sharing(const Size& queries, const Size& keys) {
    if (queries.known && keys.known) {
      if (*queries.known == *keys.known) return ValueId::none;
      if (*keys.known == 0 || *queries.known % *keys.known != 0)
        refuse("the number of query heads is not a multiple of the number of key heads");
      storable_count(std::vector{*queries.known});
      std::vector<std::int64_t> heads;
      for (std::int64_t i = 0; i < *queries.known; ++i) heads.push_back(i / (*queries.known / *keys.known));
      return step_.vector(heads, "heads");
    }
    const Size group = quotient(step_, queries, keys);
    return step_.add("Div", {count_up(step_, queries), as_vector(step_, group)}, {}, "heads");
  }

  ValueId for_each_query_head(ValueId x, ValueId heads) {
    return heads == ValueId::none ? x : step_.add("Gather", {x, heads}, {{"axis", std::int64_t{1}}}, "heads");
  }

  ValueId scores(const Heads& q, ValueId keys) {
    const ValueId turned = transpose(step_, keys, {0, 1, 3, 2});
    const ValueId queries = cast(step_, q.all, type_);
    const auto scale = step_.find_real("scale");
    if (scale && *scale <= 0) {
      const ValueId scaled = step_.add("Mul", {queries, step_.number(type_, *scale)}, {}, "scaled");
      return step_.add("MatMul", {scaled, turned}, {}, "scores");
    }
    const ValueId root = scale ? step_.number(type_, std::sqrt(double{*scale})) : default_root(q.size);
    return step_.add("MatMul",
                     {step_.add("Mul", {queries, root}, {}, "scaled"), step_.add("Mul", {turned, root}, {}, "scaled")},
                     {}, "scores");
  }

  /// The square root of the default scale, which is 1 / sqrt(size).
  ValueId default_root(const Size& size) {
    if (size.known)
      return step_.number(type_, std::pow(static_cast<double>(std::max<std::int64_t>(1, *size.known)), -0.25));
    const ValueId root = step_.add("Sqrt", {cast(step_, size.computed, type_)}, {}, "root");
    return step_.add("Reciprocal", {step_.add("Sqrt", {root}, {}, "root")}, {}, "scale");
  }

  ValueId limited(ValueId x, float cap) {
    const ValueId limit = step_.number(type_, cap, "cap");
    const ValueId ratio = step_.add("Div", {x, limit}, {}, "ratio");
    return step_.add("Mul", {step_.add("Tanh", {ratio}, {}, "tanh"), limit}, {}, "capped");
  }

  ValueId full_bias() {
    Bounds bounds;
    bounds.causal = step_.integer("is_causal") != 0;
    const Sight sight = sight_of(step_, bounds);
    const Mask given = given_mask(step_, type_);
    if (given.all == ValueId::none) {
      may_hide_all_ = sight.leaves_a_row_empty();
      return sight.is_limited() ? as_bias(step_, sight, type_) : ValueId::none;
    }
    may_hide_all_ = true;
    const Mask whole = joined(step_, given, sight, type_);
    const ValueId bias = whole.is_condition ? as_bias(step_, whole.all, type_) : whole.all;
    if (step_.rank(step_.input(mask)).value_or(0) > 0 || sight.is_limited()) return bias;
    return step_.add("Expand", {bias, step_.vector(std::vector<std::int64_t>{1})}, {}, "bias");
  }

  /// Rows in which the bias hides every key weigh none.
  ValueId softmax(ValueId x, ValueId bias) {
    const auto precision =
        static_cast<ElementType>(step_.integer("softmax_precision", static_cast<std::int64_t>(type_)));
    if (precision != type_) x = cast(step_, x, precision);
    x = step_.add("Softmax", {x}, {{"axis", std::int64_t{-1}}}, "weights");
    if (precision != type_) x = cast(step_, x, type_);
    if (!may_hide_all_) return x;
    const ValueId most = reduce(step_, "ReduceMax", bias, {-1}, true, "most");
    const ValueId hides_all = step_.add("Equal", {most, step_.number(type_, -infinity)}, {}, "hides_all");
    return step_.add("Where", {hides_all, step_.number(type_, 0), x}, {}, "weights");
  }

  void weigh(ValueId shares, ValueId values, const Size& width) {
    const ElementType common = wider(type_, step_.need_elem(step_.input(value)));
    if (common != type_) shares = cast(step_, shares, common);
    ValueId y = step_.add("MatMul", {shares, cast(step_, values, common)}, {}, "weighed");
    if (is_packed(step_, query, q_heads)) y = reshape_to(step_, transpose(step_, y, {0, 2, 1, 3}), {0, 0, width});
    show(result, y, common);
  }

  void show_at(Stage reached, ValueId x) {
    if (stage_ == reached) show(scores_seen, x, type_);
  }

  /// Writes an output if somebody wants it.
  void show(std::size_t output, ValueId x, ElementType type) {
    if (step_.output(output) == ValueId::none) return;
    ir::Node& shown = step_.emit(own_ == type ? "Identity" : "Cast", {x}, {step_.output(output)});
    if (own_ != type) shown.attributes.push_back(step_.attribute({"to", static_cast<std::int64_t>(own_)}));
  }

  Step& step_;
  const ElementType own_;   ///< of the queries
  const ElementType type_;  ///< that is computed in; sums of half precision would lose digits
  const std::int64_t stage_;
  bool may_hide_all_ = false;
};

}  // namespace

void register_attention(StepRegistry& registry) {
  registry.introduced({"Attention"}, 23,
                      adapt("rewritten as MatMul, Softmax and MatMul", [](Step& step) { Composition(step).build(); }));
  registry.change({"Attention"}, 24, adapt("a mask of one column is not broadcast", with_whole_mask),
                  adapt("valid lengths and the end of a mask are expressed in the mask", without_valid_lengths));
  registry.change({"Attention"}, 25, compatible("no window, as before"),
                  adapt("windows are expressed in the mask", without_windows));
}

}  // namespace onnxkit::opset
