// GroupQueryAttention of com.microsoft: caches of keys and values, of which each sequence of a batch has filled a part of its own.
#include <algorithm>

#include "libonnxkit/plan/attend.h"
#include "libonnxkit/plan/rotate.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// Inputs and outputs by number.
struct Grouped {
  enum : std::size_t {
    query,
    key,
    value,
    past_key,
    past_value,
    last_positions,
    total_length,
    cosine_cache,
    sine_cache,
    positions,
    attention_bias,
    sinks,
    key_scale,
    value_scale,
    query_norm,
    key_norm
  };
  enum : std::size_t { result, present_key, present_value, shown_scores };
};

/// Queries, keys and values [batch, heads, rows, size].
struct GroupedParts {
  View q, k, v;
};

/// Where new rows go: behind the past ones of each sequence, of which there are none in a first run.
struct Place {
  std::int64_t batch, rows, held, total;  ///< held: rows of the past caches
  bool is_first;
  View last;  ///< [batch] the position of the last row of each sequence; in a first run rows behind it are padding
  bool is_full = false;  ///< every sequence has `total` positions

  std::int64_t buffer() const { return std::max(held, total); }
};

/// Each row of [batch, rows, heads, size] divided by the root of the mean of its squares.
View normalized_heads(LowerCall& call, const View& x, std::size_t weight) {
  const View rows = reshaped_or_copied(call, x, {x.size() / x.dims[3], x.dims[3]});
  const View result = call.make(ElementType::float32, rows.dims);
  NormalizeParameters parameters;
  parameters.epsilon = static_cast<double>(call.real("qk_norm_epsilon", 1e-6F));
  parameters.centers = false;
  call.emit(normalize_step, {call.contiguous(rows), call.contiguous(call.as_real(call.input(weight)))}, {result},
            parameters);
  return reshaped(result, x.dims);
}

std::optional<GroupedParts> grouped_parts(LowerCall& call, std::int64_t heads, std::int64_t shared_heads) {
  if (heads <= 0 || shared_heads <= 0) return std::nullopt;
  const auto apart = [&](const View& x, std::int64_t count) -> std::optional<View> {
    if (x.rank() != 3 || x.size() == 0 || x.dims[2] % count != 0) return std::nullopt;
    return reshaped_or_copied(call, x, {x.dims[0], x.dims[1], count, x.dims[2] / count});
  };
  std::optional<View> q, k, v;
  const View query = call.as_real(call.input(Grouped::query));
  if (call.has_input(Grouped::key)) {
    if (!call.has_input(Grouped::value)) return std::nullopt;
    q = apart(query, heads);
    k = apart(call.as_real(call.input(Grouped::key)), shared_heads);
    v = apart(call.as_real(call.input(Grouped::value)), shared_heads);
  } else if (const auto all = apart(query, heads + 2 * shared_heads)) {
    q = sliced(*all, 2, 0, 1, heads);
    k = sliced(*all, 2, heads, 1, shared_heads);
    v = sliced(*all, 2, heads + shared_heads, 1, shared_heads);
  }
  if (!q || !k || !v || k->dims != v->dims || k->dims[0] != q->dims[0] || k->dims[1] != q->dims[1] ||
      k->dims[3] != q->dims[3])
    return std::nullopt;
  for (const auto& [x, weight] : {std::pair{&q, Grouped::query_norm}, std::pair{&k, Grouped::key_norm}}) {
    if (!call.has_input(weight)) continue;
    if (call.input_dims(weight) != Dims{q->dims[3]}) return std::nullopt;
    *x = normalized_heads(call, **x, weight);
  }
  return GroupedParts{permuted(*q, heads_before_rows), permuted(*k, heads_before_rows),
                      permuted(*v, heads_before_rows)};
}

/// A cache that holds the latest positions only: those of the window at least. It gives up several at once.
struct CacheWindow {
  std::int64_t capacity = 0, size = 0;

  /// How many it holds after so many positions.
  Number held(Expression& e, Number positions) const {
    const std::int64_t at_once = capacity - size + 1;
    const Number ahead = e.apply(Operation::add, positions, e.integer(at_once - 1 - capacity));
    const Number times = e.apply(Operation::divide, ahead, e.integer(at_once));
    const Number fewer =
        e.apply(Operation::subtract, positions, e.apply(Operation::multiply, times, e.integer(at_once)));
    const Number fits = e.apply(Operation::less_or_equal, positions, e.integer(capacity));
    return e.apply(Operation::select, fits, positions, fewer);
  }
};

/// Nothing where no content of seqlens_k would fit.
std::optional<Place> placed(LowerCall& call, const GroupedParts& parts, bool is_window) {
  const auto total = call.constant_integers(Grouped::total_length);
  if (!total || total->size() != 1 || call.input(Grouped::last_positions).size() != parts.q.dims[0])
    return std::nullopt;
  Place place{.batch = parts.q.dims[0],
              .rows = parts.q.dims[2],
              .held = 0,
              .total = (*total)[0],
              .is_first = (*total)[0] == parts.q.dims[2],
              .last = {}};
  for (const std::size_t past : {Grouped::past_key, Grouped::past_value}) {
    if (!call.has_input(past)) continue;
    Dims dims = call.input_dims(past);
    if (dims.size() != 4 || (past == Grouped::past_value && place.held != dims[2])) return std::nullopt;
    place.held = dims[2];
    dims[2] = place.rows;
    if (dims != parts.k.dims) return std::nullopt;
  }
  if (call.has_input(Grouped::past_key) != call.has_input(Grouped::past_value)) return std::nullopt;
  const bool is_bounded = !place.is_first && !is_window;
  const std::int64_t least = place.is_first ? 0 : place.rows - 1, most = place.total - 1,
                     greatest = is_bounded ? std::min(most, place.held + place.rows - 1) : most;
  if (place.total < place.rows || least > greatest) return std::nullopt;
  const View given = reshaped_or_copied(call, call.input(Grouped::last_positions), {place.batch});
  place.last = checked_numbers(call, given, least, greatest);
  const auto known = call.constant_integers(Grouped::last_positions);
  place.is_full = known && std::all_of(known->begin(), known->end(), [&](std::int64_t at) { return at == most; });
  return place;
}

/// Where rows lie among those of the cache and the new ones behind them: the first of these has position 0.
Place place_in(LowerCall& call, const CacheWindow& window, const Place& place) {
  Place inner = place;
  if (place.is_first) {
    inner.held = 0;
    return inner;
  }
  inner.total = window.capacity + place.rows;
  inner.is_full = false;
  Expression e;
  const Number past = e.apply(Operation::add, e.input(0, Lane::i64), e.integer(1 - place.rows));
  e.apply(Operation::add, window.held(e, past), e.integer(place.rows - 1));
  inner.last = mapped(call, e, {place.last}, ElementType::int64, place.last.dims);
  return inner;
}

/// Of each row that the cache keeps of all, from its first one on, the place among them [batch, heads, capacity].
View kept_places(LowerCall& call, const Dims& all, const CacheWindow& window, const Place& place, const Place& inner) {
  const Dims slots = {all[0], all[1], window.capacity};
  Expression e;
  const Number count = window.held(e, e.apply(Operation::add, e.input(0, Lane::i64), e.integer(1)));
  const Number behind = e.apply(Operation::add, e.input(1, Lane::i64), e.integer(1));
  const Number row = e.apply(Operation::add, e.input(2, Lane::i64), e.apply(Operation::subtract, behind, count));
  const Number batch = e.apply(Operation::multiply, e.input(3, Lane::i64), e.integer(slots[1]));
  const Number before =
      e.apply(Operation::multiply, e.apply(Operation::add, batch, e.input(4, Lane::i64)), e.integer(all[2]));
  e.apply(Operation::add, before, e.apply(Operation::minimum, row, e.integer(all[2] - 1)));
  return mapped(call, e,
                {reshaped(place.last, {slots[0], 1, 1}), reshaped(inner.last, {slots[0], 1, 1}),
                 positions_along(call, slots, 2), positions_along(call, slots, 0), positions_along(call, slots, 1)},
                ElementType::int64, slots);
}

/// The rows at these places, and zeros behind those that the cache holds.
View kept_rows(LowerCall& call, const View& all, const View& places, const CacheWindow& window, const Place& place) {
  const View rows = reshaped(call.contiguous(all), {1, all.size() / all.dims[3], all.dims[3]});
  const View taken = call.make(ElementType::float32, {1, places.size(), all.dims[3]});
  call.emit(gather_step, {rows, reshaped(places, {places.size()})}, {taken});
  Expression e;
  const Number held = window.held(e, e.apply(Operation::add, e.input(0, Lane::i64), e.integer(1)));
  e.apply(Operation::select, e.apply(Operation::less, e.input(1, Lane::i64), held), e.input(2, Lane::f32),
          e.constant(Lane::f32, 0));
  const Dims dims = {all.dims[0], all.dims[1], window.capacity, all.dims[3]};
  const View columns = positions_along(call, {1, 1, window.capacity, 1}, 2);
  return mapped(call, e, {reshaped(place.last, {dims[0], 1, 1, 1}), columns, reshaped(taken, dims)},
                ElementType::float32, dims);
}

/// The positions [batch, rows] by which rows are turned.
std::optional<View> positions_of_rows(LowerCall& call, const Place& place) {
  const Dims dims = {place.batch, place.rows};
  const View numbers = positions_along(call, dims, 1);
  const bool is_given = call.has_input(Grouped::positions);
  if (is_given && call.input_dims(Grouped::positions) != dims) return std::nullopt;
  if (is_given && !place.is_first) return call.input(Grouped::positions);
  if (place.is_first && !is_given) return numbers;
  Expression e;
  if (place.is_first) {  // of the positions of a first run the very first one counts only, as in ONNX Runtime
    e.apply(Operation::add, e.input(0, Lane::i64), e.input(1, Lane::i64));
    const View given = call.input(Grouped::positions);
    return mapped(call, e, {numbers, sliced(sliced(given, 0, 0, 1, 1), 1, 0, 1, 1)}, ElementType::int64, dims);
  }
  e.apply(Operation::add, e.input(0, Lane::i64),
          e.apply(Operation::add, e.input(1, Lane::i64), e.integer(1 - place.rows)));
  return mapped(call, e, {numbers, reshaped(place.last, {place.batch, 1})}, ElementType::int64, dims);
}

Unlowered turn(LowerCall& call, const Place& place, GroupedParts& parts) {
  if (!call.has_input(Grouped::cosine_cache) || !call.has_input(Grouped::sine_cache)) return "without caches of angles";
  const auto positions = positions_of_rows(call, place);
  if (!positions) return "positions of other sizes";
  const auto angles = angles_at(call, Grouped::cosine_cache, Grouped::sine_cache, *positions);
  if (!angles || 2 * angles->cosines.dims[3] > parts.q.dims[3]) return "caches of other sizes";
  const bool is_interleaved = call.integer("rotary_interleaved") != 0;
  for (View* const x : {&parts.q, &parts.k}) *x = turned(call, *x, *angles, is_interleaved);
  return std::nullopt;
}

/// New rows at the places that they have in the whole buffer; what lies elsewhere is not meant.
View spread_rows(LowerCall& call, const View& now, const Place& place) {
  const Dims& dims = now.dims;
  if (place.rows == 1) return broadcast_to(now, Dims{dims[0], dims[1], place.buffer(), dims[3]});
  const Dims slots = {dims[0], dims[1], place.buffer()};
  Expression e;
  const Number past = e.apply(Operation::add, e.input(0, Lane::i64), e.integer(1 - place.rows));
  const Number row = e.apply(Operation::subtract, e.input(1, Lane::i64), past);
  const Number kept =
      e.apply(Operation::minimum, e.apply(Operation::maximum, row, e.integer(0)), e.integer(place.rows - 1));
  const Number of_batch = e.apply(Operation::multiply, e.input(2, Lane::i64), e.integer(dims[1]));
  const Number head = e.apply(Operation::add, of_batch, e.input(3, Lane::i64));
  e.apply(Operation::add, e.apply(Operation::multiply, head, e.integer(place.rows)), kept);
  const View at = mapped(call, e,
                         {reshaped(place.last, {dims[0], 1, 1}), positions_along(call, slots, 2),
                          positions_along(call, slots, 0), positions_along(call, slots, 1)},
                         ElementType::int64, slots);
  const View rows = reshaped(call.contiguous(now), {1, dims[0] * dims[1] * dims[2], dims[3]});
  const View result = call.make(ElementType::float32, {1, at.size(), dims[3]});
  call.emit(gather_step, {rows, reshaped(at, {at.size()})}, {result});
  return reshaped(result, {slots[0], slots[1], slots[2], dims[3]});
}

/// Past rows of each sequence, then its new ones, then zeros.
View present_rows(LowerCall& call, std::size_t past, const View& now, const Place& place) {
  if (place.is_first) return extended(call, now, 2, place.buffer(), 0);
  const Dims& dims = now.dims;
  const View whole = call.make(ElementType::float32, {dims[0], dims[1], place.buffer(), dims[3]});
  const View spread = spread_rows(call, now, place), numbers = positions_along(call, {1, 1, place.buffer(), 1}, 2),
             last = reshaped(place.last, {dims[0], 1, 1, 1});
  const auto write = [&](std::int64_t first, std::int64_t count, bool has_past) {
    if (count == 0) return;
    const auto part = [&](const View& of) { return sliced(of, 2, first, 1, count); };
    Expression e;
    const Number column = e.input(0, Lane::i64), end = e.input(1, Lane::i64);
    Number content = e.apply(Operation::select, e.apply(Operation::less_or_equal, column, end), e.input(2, Lane::f32),
                             e.constant(Lane::f32, 0));
    std::vector<View> inputs = {part(numbers), last, part(spread)};
    if (has_past) {
      const View before = call.input(past);
      const Number is_past =
          e.apply(Operation::less_or_equal, column, e.apply(Operation::subtract, end, e.integer(place.rows)));
      content = e.apply(Operation::select, is_past, e.input(3, lane_of(before.type)), content);
      inputs.push_back(before);
    }
    call.emit_map(e, std::move(inputs), part(whole));
  };
  write(0, place.held, true);
  write(place.held, place.buffer() - place.held, false);
  return whole;
}

/// Which keys a row sees by their positions.
void add_cache_positions(LowerCall& call, const Place& place, bool in_bias, ScoreBias& bias,
                         AttentionParameters& parameters) {
  const std::int64_t window = call.integer("local_window_size", -1);
  const bool is_causal = call.integer("causal", 1) != 0;
  Expression& e = bias.expression();
  std::optional<Number> sees;
  const auto require = [&](Number condition) {
    sees = sees ? e.apply(Operation::logical_and, *sees, condition) : condition;
  };
  std::optional<Number> last;
  const auto end = [&] {
    if (!last) last = bias.operand(reshaped(place.last, {place.batch, 1, 1, 1}), Lane::i64);
    return *last;
  };
  const auto here = [&] {
    if (place.is_first) return bias.row();
    return e.apply(Operation::add, e.apply(Operation::add, end(), e.integer(1 - place.rows)), bias.row());
  };
  const bool has_offset = place.is_first || place.is_full;  // the same for all sequences
  if (is_causal && has_offset && !in_bias) {
    parameters.is_causal = true;
    parameters.causal_offset = place.total - place.rows;
  } else if (is_causal) {
    require(e.apply(Operation::less_or_equal, bias.column(), here()));
  }
  if (!place.is_full && (place.is_first || !is_causal))
    require(e.apply(Operation::less_or_equal, bias.column(), end()));
  if (window > 0)
    require(e.apply(Operation::less, e.apply(Operation::subtract, here(), bias.column()), e.integer(window)));
  if (sees) bias.require(*sees, minus_infinity);
}

/// What the denominators of the softmax hold besides the keys: a key of zeros, whose score is that of a sink, or 0.
void add_sinks(LowerCall& call, Attending& attending) {
  const std::int64_t heads = attending.q.dims[1], columns = attending.k.dims[2];
  Dims dims = {1, heads, 1, columns + 1};
  if (attending.bias) {
    for (const std::size_t axis : {0U, 2U}) {
      if (attending.bias->strides[axis] != 0) dims[axis] = attending.bias->dims[axis];
    }
  }
  const View whole = call.make(ElementType::float32, dims);
  View usual = sliced(whole, 3, 0, 1, columns);
  if (attending.bias) {
    View narrow = *attending.bias;
    narrow.dims = usual.dims;
    call.emit_copy(narrow, usual);
  } else {
    fill(call, usual, 0);
  }
  const View added = sliced(whole, 3, columns, 1, 1);
  if (call.has_input(Grouped::sinks)) {
    const View sinks = reshaped_or_copied(call, call.as_real(call.input(Grouped::sinks)), {1, heads, 1, 1});
    call.emit_copy(broadcast_to(sinks, added.dims), added);
  } else {
    fill(call, added, 0);
  }
  attending.bias = broadcast_to(whole, Dims{attending.q.dims[0], heads, attending.q.dims[2], columns + 1});
  attending.k = extended(call, attending.k, 2, columns + 1, 0);
  attending.v = extended(call, attending.v, 2, columns + 1, 0);
}

Unlowered lower_group_query_attention(LowerCall& call) {
  if (call.integer("kv_cache_bit_width") != 0 || call.has_input(Grouped::key_scale) ||
      call.has_input(Grouped::value_scale))
    return "caches of quantized numbers";
  for (const std::size_t past : {Grouped::past_key, Grouped::past_value}) {
    if (call.has_input(past) && !is_narrow_real(call.input_type(past))) return "caches of quantized numbers";
  }
  if (call.has_output(Grouped::shown_scores)) return "scores are asked for";
  const std::int64_t heads = call.integer("num_heads");
  auto parts = grouped_parts(call, heads, call.integer("kv_num_heads"));
  if (!parts) return "operands of other forms";
  const bool is_window = call.integer("sliding_window_cache") != 0;
  const auto place = placed(call, *parts, is_window);
  if (!place) return "lengths of other forms";
  const CacheWindow window{.capacity = place->held, .size = call.integer("local_window_size", -1)};
  if (is_window && (window.size <= 0 || window.capacity < window.size || call.has_input(Grouped::attention_bias)))
    return "a cache that holds less than a window, or a bias beside one";
  const bool has_sinks = call.has_input(Grouped::sinks);
  if (has_sinks && call.input(Grouped::sinks).size() != heads) return "sinks of other sizes";
  if (call.integer("do_rotary") != 0) {
    if (auto refused = turn(call, *place, *parts)) return refused;
  }
  const Place inner = is_window ? place_in(call, window, *place) : *place;
  const View k = present_rows(call, Grouped::past_key, parts->k, inner),
             v = present_rows(call, Grouped::past_value, parts->v, inner);
  Attending attending{
      .q = parts->q, .k = sliced(k, 2, 0, 1, inner.total), .v = sliced(v, 2, 0, 1, inner.total), .joins_heads = true};
  attending.parameters.scale = scale_or_usual(call, parts->q.dims[3]);
  attending.parameters.softcap = std::max(static_cast<double>(call.real("softcap")), 0.0);
  const bool adds_column = has_sinks || call.integer("smooth_softmax") == 1;
  const Dims scores = {inner.batch, heads, inner.rows, inner.total};
  ScoreBias bias(call, scores);
  if (auto refused = add_attention_bias(call, Grouped::attention_bias, scores, bias)) return refused;
  add_cache_positions(call, inner, adds_column, bias, attending.parameters);
  attending.bias = bias.made();
  if (adds_column) add_sinks(call, attending);
  if (auto refused = attend(call, attending)) return refused;
  if (!is_window) {
    call.set_output(Grouped::present_key, k);
    call.set_output(Grouped::present_value, v);
    return std::nullopt;
  }
  const View places = kept_places(call, k.dims, window, *place, inner);
  call.set_output(Grouped::present_key, kept_rows(call, k, places, window, *place));
  call.set_output(Grouped::present_value, kept_rows(call, v, places, window, *place));
  return std::nullopt;
}

}  // namespace

void register_group_query_attention(LoweringRegistry& registry);
void register_group_query_attention(LoweringRegistry& registry) {
  registry.add("com.microsoft", "GroupQueryAttention", all_versions(), lower_group_query_attention);
}

}  // namespace onnxkit::plan
