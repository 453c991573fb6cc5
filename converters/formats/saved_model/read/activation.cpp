// Activation functions and normalizations.
#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

template <const char* const& op>
void map_activation(Call& call) {
  call.result(call.onnx.emit(op, {call.tensor("features")}));
}
constexpr const char *relu_op = "Relu", *elu_op = "Elu", *selu_op = "Selu", *sigmoid_op = "Sigmoid", *tanh_op = "Tanh",
                     *softplus_op = "Softplus", *softsign_op = "Softsign";

void map_relu6(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("features");
  call.result(onnx.emit("Clip", {x, onnx.scalar(onnx.elem(x), 0), onnx.scalar(onnx.elem(x), 6)}));
}

void map_leaky_relu(Call& call) {
  constexpr float usual = 0.2F;
  const auto alpha = static_cast<float>(call.real("alpha", usual));
  call.result(call.onnx.emit("LeakyRelu", {call.tensor("features")}, {{"alpha", alpha}}));
}

void map_softmax(Call& call) {
  const char* op = call.node.op == "Softmax" ? "Softmax" : "LogSoftmax";
  call.result(call.onnx.emit(op, {call.tensor("logits")}, {{"axis", std::int64_t{-1}}}));
}

/// ONNX divides alpha by the size of the window, which is the radius on both sides.
void map_lrn(Call& call) {
  auto& onnx = call.onnx;
  const std::int64_t radius = call.integer("depth_radius", 5);
  if (radius < 0 || radius > 1 << 20) return call.refuse("its radius is negative or too large");
  const std::int64_t size = 2 * radius + 1;
  constexpr float usual_beta = 0.5F;
  const auto alpha = static_cast<float>(call.real("alpha", 1) * static_cast<double>(size));
  give_space(call, onnx.emit("LRN", {to_channels_first(call, call.tensor("input"))},
                             {{"size", size},
                              {"alpha", alpha},
                              {"beta", static_cast<float>(call.real("beta", usual_beta))},
                              {"bias", static_cast<float>(call.real("bias", 1))}}));
}

void map_fused_batch_norm(Call& call) {
  auto& onnx = call.onnx;
  if (call.flag("is_training", true))
    return call.refuse("it normalizes by the batch, as in training", "export the model for inference");
  if (call.node.outputs.size() > 1) return call.refuse("means and variances of the batch are read");
  constexpr float usual_epsilon = 1e-4F;
  const std::vector<Val> parameters = {call.tensor("scale"), call.tensor("offset"), call.tensor("mean"),
                                       call.tensor("variance")};
  std::vector<Val> inputs = {to_channels_first(call, call.tensor("x"))};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  give_space(call, onnx.emit("BatchNormalization", inputs,
                             {{"epsilon", static_cast<float>(call.real("epsilon", usual_epsilon))}}));
}

void map_l2_loss(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("t");
  const Val sum = onnx.emit("ReduceSumSquare", {x}, {{"keepdims", std::int64_t{0}}});
  call.result(onnx.emit("Mul", {sum, onnx.scalar(onnx.elem(x), 0.5)}));
}

}  // namespace

void register_activation(Mappings& mappings);
void register_activation(Mappings& mappings) {
  mappings.add("Relu", {"features"}, map_activation<relu_op>);
  mappings.add("Elu", {"features"}, map_activation<elu_op>);
  mappings.add("Selu", {"features"}, map_activation<selu_op>);
  mappings.add("Sigmoid", {"features"}, map_activation<sigmoid_op>);
  mappings.add("Tanh", {"features"}, map_activation<tanh_op>);
  mappings.add("Softplus", {"features"}, map_activation<softplus_op>);
  mappings.add("Softsign", {"features"}, map_activation<softsign_op>);
  mappings.add("Relu6", {"features"}, map_relu6);
  mappings.add("LeakyRelu", {"features"}, map_leaky_relu);
  mappings.add_all({"Softmax", "LogSoftmax"}, {"logits"}, map_softmax);
  mappings.add("LRN", {"input"}, map_lrn);
  mappings.add("L2Loss", {"t"}, map_l2_loss);
  for (const std::string_view op : {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})
    mappings.add(op, {"x", "scale", "offset", "mean", "variance"}, map_fused_batch_norm,
                 {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"});
}

}  // namespace onnxkit::saved_model
