#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "converters/opset/compose/compose.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::opset {
namespace {

constexpr auto single = ElementType::float32;

/// Writes an output in the type that it has.
void show(Step& step, std::size_t output, ValueId x, ElementType type) {
  if (step.output(output) == ValueId::none) return;
  ir::Node& last = step.emit(type == single ? "Identity" : "Cast", {x}, {step.output(output)});
  if (type != single) last.attributes.push_back(step.attribute({"to", static_cast<std::int64_t>(type)}));
}

/// The state of all key heads after one position of the sequence, and what the queries of that position read.
class LinearAttention {
 public:
  explicit LinearAttention(Step& step)
      : step_(step),
        type_(step.need_elem(step.input(queries))),
        q_heads_(step.integer("q_num_heads")),
        kv_heads_(step.integer("kv_num_heads")) {
    constexpr std::int64_t most = 1 << 16;
    if (kv_heads_ < 1 || q_heads_ < 1 || q_heads_ % kv_heads_ != 0 || q_heads_ > most)
      refuse("the number of query heads is not a multiple of the number of key heads");
    const std::string rule = step.string("update_rule");
    decays_ = rule == "gated" || rule == "gated_delta";
    replaces_ = rule == "delta" || rule == "gated_delta";
  }

  void build() {
    std::vector<ValueId> along = {by_position(queries, q_heads_), by_position(keys, kv_heads_),
                                  by_position(values, kv_heads_)};
    if (decays_) along.push_back(by_position(decay, kv_heads_));
    if (replaces_) along.push_back(by_position(beta, std::nullopt));
    const Size value_size = quotient(step_, size_of(step_, step_.input(values), 2), kv_heads_);
    const ValueId first = first_state(value_size);
    const auto length = size_of(step_, step_.input(queries), 1).known;
    const auto [read, state] =
        length && *length >= 1 && *length <= longest_unrolled ? unrolled(first, along, *length) : scanned(first, along);
    const ValueId scaled = step_.add("Mul", {read, scale()}, {}, "scaled");
    const ValueId turned = transpose(step_, scaled, {1, 0, 2, 3, 4});
    show(step_, 0, reshape_to(step_, turned, {0, 0, product(step_, q_heads_, value_size)}), type_);
    show(step_, 1, state, step_.has_input(past) ? step_.need_elem(step_.input(past)) : type_);
    step_.replace();
  }

 private:
  enum Input : std::size_t { queries, keys, values, past, decay, beta };
  static constexpr std::int64_t longest_unrolled = 4;

  struct Result {
    ValueId read;  ///< [length, batch, q_heads, 1, value size]
    ValueId state;
  };

  /// [length, batch, heads, size] of [batch, length, heads * size]; without `heads` each element is one.
  ValueId by_position(Input input, std::optional<std::int64_t> heads) {
    if (!step_.has_input(input)) refuse("the update rule requires an input that is missing");
    const ValueId x = step_.input(input);
    const ValueId wide = cast(step_, x, single);
    const ValueId split = heads ? reshape_to(step_, wide, {0, 0, *heads, quotient(step_, size_of(step_, x, 2), *heads)})
                                : unsqueeze(step_, wide, {3});
    return transpose(step_, split, {1, 0, 2, 3});
  }

  Size key_size() { return quotient(step_, size_of(step_, step_.input(keys), 2), kv_heads_); }

  ValueId first_state(const Size& value_size) {
    if (step_.has_input(past)) return cast(step_, step_.input(past), single);
    const ValueId shape = as_shape(step_, {size_of(step_, step_.input(queries), 0), kv_heads_, key_size(), value_size});
    return step_.add("Expand", {step_.number(single, 0), shape}, {}, "state");
  }

  ValueId scale() {
    if (const float stated = step_.real("scale"); stated != 0) return step_.number(single, stated, "scale");
    const Size size = quotient(step_, size_of(step_, step_.input(queries), 2), q_heads_);
    if (size.known)
      return step_.number(single, 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, *size.known))));
    return step_.add("Reciprocal", {step_.add("Sqrt", {cast(step_, size.computed, single)}, {}, "root")}, {}, "scale");
  }

  /// `at`: queries, keys, values, then what the rule has, of one position.
  Result one_position(ValueId state, const std::vector<ValueId>& at) {
    std::size_t next = 3;
    if (decays_) {
      const ValueId kept = unsqueeze(step_, step_.add("Exp", {at[next++]}, {}, "kept"), {3});
      state = step_.add("Mul", {state, kept}, {}, "state");
    }
    ValueId written = unsqueeze(step_, at[2], {2});
    if (replaces_) {
      const ValueId known = step_.add("MatMul", {unsqueeze(step_, at[1], {2}), state}, {}, "known");
      const ValueId rate = unsqueeze(step_, at[next], {3});
      written = step_.add("Mul", {rate, step_.add("Sub", {written, known}, {}, "error")}, {}, "written");
    }
    const ValueId outer = step_.add("Mul", {unsqueeze(step_, at[1], {3}), written}, {}, "outer");
    state = step_.add("Add", {state, outer}, {}, "state");
    ValueId seen = state;
    if (q_heads_ != kv_heads_) {
      std::vector<std::int64_t> heads;
      for (std::int64_t i = 0; i < q_heads_; ++i) heads.push_back(i / (q_heads_ / kv_heads_));
      seen = step_.add("Gather", {state, step_.vector(heads, "heads")}, {{"axis", std::int64_t{1}}}, "seen");
    }
    return {step_.add("MatMul", {unsqueeze(step_, at[0], {2}), seen}, {}, "read"), state};
  }

  Result unrolled(ValueId state, const std::vector<ValueId>& along, std::int64_t length) {
    std::vector<ValueId> reads;
    for (std::int64_t position = 0; position < length; ++position) {
      std::vector<ValueId> at;
      for (const ValueId x : along)
        at.push_back(step_.add("Gather", {x, step_.scalar(position)}, {{"axis", std::int64_t{0}}}, "place"));
      const Result result = one_position(state, at);
      state = result.state;
      reads.push_back(unsqueeze(step_, result.read, {0}));
    }
    if (reads.size() == 1) return {reads.front(), state};
    return {step_.add("Concat", std::move(reads), {{"axis", std::int64_t{0}}}, "reads"), state};
  }

  Result scanned(ValueId state, const std::vector<ValueId>& along) {
    step_.begin_body();
    const ValueId before = step_.body_input("state");
    std::vector<ValueId> at;
    for (std::size_t i = 0; i < along.size(); ++i) at.push_back(step_.body_input("place"));
    const Result inner = one_position(before, at);
    step_.body_output(inner.state);
    step_.body_output(inner.read);
    ir::Attribute body = step_.end_body("body");

    std::vector<ValueId> inputs = {state};
    inputs.insert(inputs.end(), along.begin(), along.end());
    const Result outer{step_.value("reads"), step_.value("state")};
    step_
        .emit("Scan", std::move(inputs), {outer.state, outer.read},
              {{"num_scan_inputs", static_cast<std::int64_t>(along.size())}})
        .attributes.push_back(std::move(body));
    return outer;
  }

  Step& step_;
  const ElementType type_;
  const std::int64_t q_heads_, kv_heads_;
  bool decays_ = false, replaces_ = false;
};

void to_convolution(Step& step) {
  enum Input : std::size_t { signal, filters, bias, past };
  constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();
  const ElementType type = step.need_elem(step.input(signal));
  Size channels = size_of(step, step.input(filters), 0);
  if (!channels.known) channels = size_of(step, step.input(signal), 1);
  if (!channels.known)
    refuse_unknown(fmt::format("the number of channels of {}, which Conv requires as an attribute, is unknown",
                               quote(step.graph().name_of(step.input(signal)))));
  const Size kept = difference(step, size_of(step, step.input(filters), 2), 1);
  ValueId all = ValueId::none;
  if (step.has_input(past)) {
    all = step.add("Concat", {step.input(past), step.input(signal)}, {{"axis", std::int64_t{2}}}, "all");
  } else {
    const ValueId pads = as_shape(step, {0, 0, kept, 0, 0, 0});
    all = step.add("Pad", {step.input(signal), pads, step.number(type, 0)}, {}, "all");
  }
  if (step.output(1) != ValueId::none) {
    const ValueId from = kept.known
                             ? step.vector(std::vector<std::int64_t>{*kept.known == 0 ? to_the_end : -*kept.known})
                             : step.add("Sub", {as_vector(step, size_of(step, all, 2)), kept.computed}, {}, "from");
    const auto list = [&](std::int64_t x) { return step.vector(std::vector<std::int64_t>{x}); };
    step.emit("Slice", {all, from, list(to_the_end), list(2)}, {step.output(1)});
  }
  const auto wide = [&](ValueId x) { return x == ValueId::none || type == single ? x : cast(step, x, single); };
  ValueId y = step.add("Conv", {wide(all), wide(step.input(filters)), wide(step.input(bias))},
                       {{"group", *channels.known}}, "convolved");
  if (const std::string activation = step.string("activation"); activation == "silu" || activation == "swish")
    y = step.add("Mul", {y, step.add("Sigmoid", {y}, {}, "gate")}, {}, "activated");
  show(step, 0, y, type);
  step.replace();
}

}  // namespace

void register_linear_attention(StepRegistry& registry) {
  registry.introduced({"LinearAttention"}, 27,
                      adapt("rewritten as a recurrence", [](Step& step) { LinearAttention(step).build(); }));
  registry.introduced({"CausalConvWithState"}, 27, adapt("rewritten as Conv over past and input", to_convolution));
}

}  // namespace onnxkit::opset
