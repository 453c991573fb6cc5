// Recurrent networks with one tensor for each gate.
#include "converters/formats/tflite/lower.h"

namespace onnxkit::tflite {
namespace {

constexpr std::int64_t gate_order[] = {0, 3, 1, 2};  // ONNX: i o f c; here i f c o

/// Tensors of four gates one behind the other, in ONNX's order, for one direction.
Val gates(Call& call, const std::vector<std::string_view>& names, bool is_matrix) {
  auto& onnx = call.onnx;
  std::vector<Val> parts;
  for (const std::int64_t gate : gate_order) {
    const Val part = is_matrix ? weights(call, names[static_cast<std::size_t>(gate)], {0, 1})
                               : real(call, names[static_cast<std::size_t>(gate)]);
    parts.push_back(onnx.unsqueeze(part, {0}));
  }
  return onnx.emit("Concat", parts, {{"axis", std::int64_t{1}}});
}

/// Without projection, layer normalization and clipping, as Keras makes them.
void map_unidirectional_lstm(Call& call) {
  auto& onnx = call.onnx;
  if (!call.has("wi") || !call.has("ri")) return call.refuse("its input and forget gate are coupled");
  if (call.has("projection") || call.has("norm_i") || call.has("norm_f"))
    return call.refuse("it has a projection or normalizes inside");
  if (call.integer("fused_activation_function", 0) != 4) return call.refuse("its activation function is not Tanh");
  if (call.real("proj_clip", 0) != 0) return call.refuse("it clips its projection");
  const bool is_time_major = call.flag("time_major", false);
  Val x = real(call, "x");
  if (call.rank(x) != 3) return call.refuse("its input does not have three axes");
  if (!is_time_major) x = onnx.transpose(x, {1, 0, 2});
  const Val w = gates(call, {"wi", "wf", "wc", "wo"}, true), r = gates(call, {"ri", "rf", "rc", "ro"}, true);
  const Val bias = gates(call, {"bi", "bf", "bc", "bo"}, false);
  const auto hidden = onnx.size(r, 2);
  if (!hidden) return call.refuse("the shape of its weights is not known");
  const Val none = onnx.emit("Expand", {onnx.scalar(ElementType::float32, 0), onnx.integers({1, 4 * *hidden})});
  const Val both = onnx.emit("Concat", {bias, none}, {{"axis", std::int64_t{1}}});
  std::vector<Val> inputs = {x, w, r, both};
  std::vector<ir::Attr> attributes = {{"hidden_size", *hidden}};
  if (const double clip = call.real("cell_clip", 0); clip != 0)
    return call.refuse("it clips its cells, which ONNX's clip does not do alike");
  if (call.has("pi") || call.has("pf") || call.has("po")) {
    if (!call.has("pi") || !call.has("pf") || !call.has("po")) return call.refuse("some of its peepholes are missing");
    std::vector<Val> peepholes;
    for (const std::string_view name : {"pi", "po", "pf"}) peepholes.push_back(onnx.unsqueeze(real(call, name), {0}));
    inputs.insert(inputs.end(), {Val(), Val(), Val(), onnx.emit("Concat", peepholes, {{"axis", std::int64_t{1}}})});
  }
  const Val y = onnx.squeeze(onnx.emit_many(3, "LSTM", inputs, attributes).front(), {1});
  give(call, is_time_major ? y : onnx.transpose(y, {1, 0, 2}));
}

}  // namespace

void register_recurrent(Mappings& mappings);
void register_recurrent(Mappings& mappings) {
  // The states begin with zeros: a file does not state others.
  mappings.add("UNIDIRECTIONAL_SEQUENCE_LSTM",
               {"x",      "wi",   "wf",     "wc",     "wo",     "ri",    "rf", "rc",         "ro",
                "pi",     "pf",   "po",     "bi",     "bf",     "bc",    "bo", "projection", "projection_bias",
                "hidden", "cell", "norm_i", "norm_f", "norm_c", "norm_o"},
               map_unidirectional_lstm);
}

}  // namespace onnxkit::tflite
