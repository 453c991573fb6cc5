#include <algorithm>
#include <array>

#include "reference/noise/noise.h"

// What operators round inside. Operators that move or pick numbers need no row, since they pass on that their numbers are rounded already; the
// rest is an ordinary function of one or two roundings unless it is named here.
namespace onnxkit::reference {
namespace {

using Length = NoiseRule::Length;

struct Row {
  std::string_view op;
  NoiseRule rule;
};

constexpr NoiseRule exact{0, 0, Length::one};
constexpr NoiseRule arithmetic{1, 0, Length::one};
constexpr NoiseRule transcendental{3, 0, Length::one};
constexpr NoiseRule sum{1, 1, Length::reduced};
constexpr NoiseRule along_axis{4, 2, Length::last_axis};
constexpr NoiseRule over_image{4, 2, Length::image};
constexpr NoiseRule interpolation{2, 3, Length::one};
constexpr NoiseRule terms{4, 4, Length::last_axis};
constexpr NoiseRule product{0, 0, Length::one, 0, true};

constexpr auto rows = std::to_array<Row>({
    {"Abs", exact},
    {"Ceil", exact},
    {"Clip", exact},
    {"Constant", exact},
    {"ConstantOfShape", exact},
    {"Floor", exact},
    {"MaxPool", exact},
    {"GlobalMaxPool", exact},
    {"Max", exact},
    {"MaxUnpool", exact},
    {"Min", exact},
    {"Neg", exact},
    {"ReduceMax", exact},
    {"ReduceMin", exact},
    {"Relu", exact},
    {"Round", exact},
    {"Sign", exact},
    {"ThresholdedRelu", exact},
    {"Where", exact},
    {"Conv", product},
    {"ConvTranspose", product},
    {"Einsum", product},
    {"FusedConv", product},
    {"FusedGemm", product},
    {"FusedMatMul", product},
    {"Gemm", product},
    {"MatMul", product},
    {"Add", arithmetic},
    {"Sub", arithmetic},
    {"Mul", arithmetic},
    {"Div", arithmetic},
    {"Sqrt", arithmetic},
    {"Reciprocal", arithmetic},
    {"Cast", arithmetic},
    {"CastLike", arithmetic},
    {"LeakyRelu", arithmetic},
    {"PRelu", arithmetic},
    {"Acos", transcendental},
    {"Acosh", transcendental},
    {"Asin", transcendental},
    {"Asinh", transcendental},
    {"Atan", transcendental},
    {"Atanh", transcendental},
    {"Cos", transcendental},
    {"Cosh", transcendental},
    {"Erf", {3, 0, Length::one, 3}},
    {"Exp", transcendental},
    {"Log", transcendental},
    {"Mish", {3, 1, Length::one, 8}},
    {"Pow", transcendental},
    {"Selu", {3, 0, Length::one, 2}},
    {"Sigmoid", {3, 0, Length::one, 1}},
    {"Sin", transcendental},
    {"Sinh", transcendental},
    {"Softplus", {3, 0, Length::one, 32}},
    {"Tan", transcendental},
    {"Tanh", transcendental},
    {"Celu", {3, 1, Length::one, 2}},
    {"Elu", {3, 1, Length::one, 2}},
    {"FastGelu", {4, 1, Length::one, 4}},
    {"Gelu", {4, 1, Length::one, 4}},
    {"HardSigmoid", {2, 0, Length::one, 1}},
    {"HardSwish", {2, 0, Length::one, 1}},
    {"QuickGelu", {4, 1, Length::one, 1}},
    {"Swish", {4, 1, Length::one, 1}},
    {"AveragePool", sum},
    {"GlobalAveragePool", sum},
    {"GlobalLpPool", sum},
    {"LpPool", sum},
    {"Mean", sum},
    {"ReduceL1", sum},
    {"ReduceL2", sum},
    {"ReduceLogSum", sum},
    {"ReduceLogSumExp", {3, 2, Length::reduced}},
    {"ReduceMean", sum},
    {"ReduceProd", sum},
    {"ReduceSum", sum},
    {"ReduceSumSquare", sum},
    {"Sum", sum},
    {"CumSum", {2, 2, Length::last_axis}},
    {"BatchNormalization", {3, 2, Length::one}},
    {"InstanceNormalization", over_image},
    {"GroupNormalization", over_image},
    {"MeanVarianceNormalization", over_image},
    {"LRN", along_axis},
    {"LayerNormalization", along_axis},
    {"LogSoftmax", along_axis},
    {"LpNormalization", along_axis},
    {"RMSNormalization", along_axis},
    {"SimplifiedLayerNormalization", along_axis},
    {"SkipLayerNormalization", along_axis},
    {"SkipSimplifiedLayerNormalization", along_axis},
    {"Softmax", along_axis},
    {"GridSample", interpolation},
    {"Resize", interpolation},
    {"RoiAlign", interpolation},
    {"Upsample", interpolation},
    {"DFT", terms},
    {"Det", terms},
    {"LinearClassifier", terms},
    {"LinearRegressor", terms},
    {"Normalizer", terms},
    {"SVMClassifier", terms},
    {"SVMRegressor", terms},
    {"Scaler", {2, 2, Length::one}},
    {"STFT", terms},
    // Sums over trees whose number the shapes do not tell.
    {"TreeEnsemble", {8, 0, Length::one}},
    {"TreeEnsembleClassifier", {8, 0, Length::one}},
    {"TreeEnsembleRegressor", {8, 0, Length::one}},
});

constexpr auto by_name = [] {
  auto sorted = rows;
  std::ranges::sort(sorted, {}, &Row::op);
  return sorted;
}();

}  // namespace

NoiseRule noise_rule(std::string_view op) {
  const auto found = std::ranges::lower_bound(by_name, op, {}, &Row::op);
  return found != by_name.end() && found->op == op ? found->rule : NoiseRule();
}

}  // namespace onnxkit::reference
