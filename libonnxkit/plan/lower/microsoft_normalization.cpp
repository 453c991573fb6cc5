// com.microsoft: embeddings that are added and normalized, groups of channels, softmax of a sum.
#include <algorithm>
#include <numeric>

#include "libonnxkit/plan/elementwise.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

// ---- embeddings

/// Rows of a table that are added: bytes have a scale and a zero point.
struct EmbeddedRows {
  View rows;  ///< [count, size]
  std::optional<View> scale = {}, zero = {};
};

/// The rows of a table at these positions; one outside of it ends the run with an error, a negative one, too.
View rows_at(LowerCall& call, const View& held, const View& positions) {
  const std::int64_t rows = held.dims[0], size = held.dims[1], count = positions.size();
  Expression e;
  const Number at = e.input(0, Lane::i64);
  e.apply(Operation::select, e.apply(Operation::less, at, e.integer(0)), e.integer(rows), at);
  const View places = mapped(call, e, {positions}, ElementType::int64, positions.dims);
  const View result = call.make(held.type, {1, count, size});
  call.emit(gather_step, {reshaped(call.contiguous(held), {1, rows, size}), reshaped(places, {count})}, {result});
  return reshaped(result, {count, size});
}

Number real_rows_of(Expression& e, std::vector<View>& inputs, const EmbeddedRows& part) {
  const auto next = [&](const View& view) {
    inputs.push_back(view);
    return e.convert(e.input(inputs.size() - 1, lane_of(view.type)), Lane::f32);
  };
  Number number = next(part.rows);
  if (part.zero) number = e.apply(Operation::subtract, number, next(*part.zero));
  return part.scale ? e.apply(Operation::multiply, number, next(*part.scale)) : number;
}

/// For each sequence how many elements of its mask are 1, 0 without a mask.
void give_mask_index(LowerCall& call, std::int64_t batch, std::int64_t length) {
  if (!call.has_output(1)) return;
  const View index = call.make_output(1);
  if (!call.has_input(7)) return fill(call, index, 0);
  const View mask = call.input(7);
  Expression e;
  const Number is_word = e.apply(Operation::equal, e.input(0, Lane::i64), e.integer(1));
  e.apply(Operation::select, is_word, e.integer(1), e.integer(0));
  const View words = mapped(call, e, {mask}, ElementType::int64, {batch, length});
  Expression same;
  same.input(0, Lane::i64);
  call.emit_map(same, {reduced(call, Reduction::sum, words, {false, true})}, index);
}

/// Inputs of EmbedLayerNormalization. Of the quantized one scales of inputs 2 to 6 are inputs 8 to 12, their zero points 13 to 17, if there are any.
struct EmbeddingInput {
  enum Index : std::size_t { words, segments, word_table, place_table, segment_table, gamma, beta, mask, places };
};

Unlowered misshapen_embeddings(LowerCall& call, bool has_places) {
  using enum EmbeddingInput::Index;
  const View ids = call.input(words);
  if (ids.rank() != 2 || ids.size() == 0) return "operands of other forms";
  if (call.input(word_table).rank() != 2) return "tables of other forms";
  const std::int64_t length = ids.dims[1], size = call.input_dims(word_table)[1];
  if (call.has_input(segments) && (call.input_dims(segments) != ids.dims || !call.has_input(segment_table)))
    return "operands of other forms";
  if (has_places && call.input_dims(places) != ids.dims && call.input_dims(places) != Dims{1, length})
    return "operands of other forms";
  if (call.has_input(mask) && call.input_dims(mask) != ids.dims) return "operands of other forms";
  if (call.input(gamma).size() != size || call.input(beta).size() != size) return "scales of other sizes";
  return std::nullopt;
}

/// The sum of rows of tables, and weights of `size` reals each.
class Embeddings {
 public:
  Embeddings(LowerCall& call, bool is_quantized, std::int64_t size)
      : call_(call), is_quantized_(is_quantized), size_(size) {}

  /// `dims`: those of the rows, without their size.
  void add(std::size_t input, const View& positions, Dims dims) {
    const View rows = call_.input(input);
    if (rows.rank() != 2 || rows.dims[1] != size_ || rows.size() == 0) {
      refused_ = "tables of other forms";
      return;
    }
    dims.push_back(size_);
    const Number real = real_rows_of(sum_, inputs_, with_scale(input, reshaped(rows_at(call_, rows, positions), dims)));
    total_ = total_ ? sum_.apply(Operation::add, *total_, real) : real;
  }

  View sum(const Dims& dims) { return mapped(call_, sum_, std::move(inputs_), ElementType::float32, dims); }

  View weight(std::size_t input) {
    Expression e;
    std::vector<View> operands;
    const View given = call_.input(input);
    if (given.type == ElementType::float32) return reshaped(call_.contiguous(given), {size_});
    real_rows_of(e, operands, with_scale(input, given));
    return reshaped(mapped(call_, e, std::move(operands), ElementType::float32, given.dims), {size_});
  }

  /// Why some of what was asked for cannot be had.
  const Unlowered& refused() const { return refused_; }

 private:
  EmbeddedRows with_scale(std::size_t input, const View& rows) { return {rows, single(input + 6), single(input + 11)}; }

  std::optional<View> single(std::size_t input) {
    if (!is_quantized_ || !call_.has_input(input)) return std::nullopt;
    if (call_.input(input).size() != 1) refused_ = "scales of other sizes";
    return refused_ ? std::nullopt : std::optional(reshaped_or_copied(call_, call_.input(input), {}));
  }

  LowerCall& call_;
  bool is_quantized_;
  std::int64_t size_;
  Expression sum_;
  std::vector<View> inputs_;
  std::optional<Number> total_;
  Unlowered refused_;
};

/// Tables are added row by row, then rows normalized.
template <bool is_quantized>
Unlowered lower_embeddings(LowerCall& call) {
  using enum EmbeddingInput::Index;
  if (!is_quantized && !is_narrow_real(call.output_type(0))) return "only for real numbers of 32 bits and less";
  const bool has_places = !is_quantized && call.has_input(places);
  if (auto reason = misshapen_embeddings(call, has_places)) return reason;
  const View ids = call.input(words);
  const std::int64_t batch = ids.dims[0], length = ids.dims[1], count = batch * length;
  const std::int64_t size = call.input_dims(word_table)[1];
  Embeddings embeddings(call, is_quantized, size);
  embeddings.add(word_table, ids, ids.dims);
  if (has_places)
    embeddings.add(place_table, call.input(places), call.input_dims(places));
  else
    embeddings.add(place_table, positions_along(call, {length}, 0), {length});
  if (call.has_input(segments)) embeddings.add(segment_table, call.input(segments), ids.dims);
  if (embeddings.refused()) return embeddings.refused();
  const View sum = embeddings.sum({batch, length, size});
  std::vector<View> rows = {reshaped(sum, {count, size}), embeddings.weight(gamma), embeddings.weight(beta)};
  if (embeddings.refused()) return embeddings.refused();
  NormalizeParameters parameters;
  parameters.epsilon = static_cast<double>(call.real("epsilon", 1e-12F));
  const View result = call.make(ElementType::float32, {count, size});
  call.emit(normalize_step, std::move(rows), {result}, parameters);
  call.set_output(0, reshaped(result, sum.dims));
  give_mask_index(call, batch, length);
  call.set_output(2, sum);
  return std::nullopt;
}

// ---- groups of channels

/// With channels_last [N, ..., C] as [N, C, ...], or back.
View with_channels(LowerCall& call, const View& x, bool is_second) {
  if (call.integer("channels_last", 1) == 0) return x;
  Dims order(x.rank());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::rotate(order.begin() + 1, is_second ? order.end() - 1 : order.begin() + 2, order.end());
  return permuted(x, order);
}
View with_channels_second(LowerCall& call, const View& x) { return with_channels(call, x, true); }
View with_channels_back(LowerCall& call, const View& x) { return with_channels(call, x, false); }

/// Normalized groups of a float32 picture with its channels second, and x / (1 + exp(-x)) of that where it is asked for.
Unlowered give_groups(LowerCall& call, const View& x) {
  if (x.size() == 0) return "without elements";
  auto y = normalized_groups(call, x, call.integer("groups"));
  if (!y) return "channels that do not share groups evenly, or scales of other sizes";
  if (call.integer("activation") == 1) {
    Expression e;
    swish_of(e, e.input(0, Lane::f32));
    const View swished = call.make_like(ElementType::float32, y->dims, *y);
    call.emit_map(e, {*y}, swished);
    y = swished;
  }
  give(call, with_channels_back(call, *y));
  return std::nullopt;
}

Unlowered lower_group_norm(LowerCall& call) {
  const View x = call.as_real(call.input(0));
  if (x.rank() < 3) return "without axes of an image";
  return give_groups(call, with_channels_second(call, x));
}

/// Of x + skip + bias, which is output 1, too. A skip of rank 2 is [N, C], the bias [C].
Unlowered lower_skip_group_norm(LowerCall& call) {
  const View image = call.as_real(call.input(0));
  if (image.rank() < 3 || image.size() == 0) return "without axes of an image";
  const View x = with_channels_second(call, image);
  View skip = call.as_real(call.input(3));
  const auto by_channel = [&](const View& given, std::int64_t batch) {
    Dims dims(x.rank(), 1);
    dims[0] = batch, dims[1] = given.size() / batch;
    return reshaped_or_copied(call, given, dims);
  };
  if (skip.size() == 0 || (skip.rank() != 2 && skip.rank() != x.rank())) return "a skip of other sizes";
  skip = skip.rank() == 2 ? by_channel(skip, skip.dims[0]) : with_channels_second(call, skip);
  const auto fits = [&](const View& view) {
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (view.dims[i] != 1 && view.dims[i] != x.dims[i]) return false;
    }
    return true;
  };
  std::vector<View> inputs = {x, skip};
  if (call.has_input(4)) inputs.push_back(by_channel(call.as_real(call.input(4)), 1));
  if (!std::all_of(inputs.begin(), inputs.end(), fits)) return "a skip or a bias of other sizes";
  Expression e;
  Number sum = e.input(0, Lane::f32);
  for (std::size_t i = 1; i < inputs.size(); ++i) sum = e.apply(Operation::add, sum, e.input(i, Lane::f32));
  const View all = call.make_like(ElementType::float32, x.dims, x);
  call.emit_map(e, std::move(inputs), all);
  call.set_output(1, with_channels_back(call, all));
  return give_groups(call, all);
}

// ---- softmax

/// Rows are all axes from `axis` on. The rows of a shorter bias repeat as a whole, or each of them is for several rows one after the other.
Unlowered lower_bias_softmax(LowerCall& call) {
  if (!is_narrow_real(call.output_type(0))) return "only for real numbers of 32 bits and less";
  const View x = call.as_real(call.input(0)), bias = call.as_real(call.input(1));
  if (x.size() == 0 || bias.size() == 0) return "without elements";
  const std::size_t axis = counted_axis(call.integer("axis", 1), x.rank());
  const std::int64_t length = element_count(std::span(x.dims).subspan(axis)), rows = x.size() / length;
  if (bias.size() % length != 0 || rows % (bias.size() / length) != 0) return "a bias of other sizes";
  const std::int64_t own = bias.size() / length, sharing = rows / own;
  const bool is_inner = call.integer("is_inner_broadcast") != 0;
  const Dims dims = is_inner ? Dims{own, sharing, length} : Dims{sharing, own, length};
  Expression e;
  e.apply(Operation::add, e.input(0, Lane::f32), e.input(1, Lane::f32));
  const View added = reshaped_or_copied(call, bias, is_inner ? Dims{own, 1, length} : Dims{1, own, length});
  const View sums = mapped(call, e, {reshaped_or_copied(call, x, dims), added}, ElementType::float32, dims);
  const View result = call.make(ElementType::float32, {rows, length});
  call.emit(softmax_step, {reshaped(sums, {rows, length})}, {result}, SoftmaxParameters());
  call.set_output(0, reshaped(result, call.output_dims(0)));
  return std::nullopt;
}

}  // namespace

void register_microsoft_normalization(LoweringRegistry& registry);
void register_microsoft_normalization(LoweringRegistry& registry) {
  const auto add = [&](const char* op, Lowering lowering) {
    registry.add("com.microsoft", op, all_versions(), lowering);
  };
  add("EmbedLayerNormalization", lower_embeddings<false>);
  add("QEmbedLayerNormalization", lower_embeddings<true>);
  add("GroupNorm", lower_group_norm);
  add("SkipGroupNorm", lower_skip_group_norm);
  add("BiasSoftmax", lower_bias_softmax);
}

}  // namespace onnxkit::plan
