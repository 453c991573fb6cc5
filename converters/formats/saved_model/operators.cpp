#include "converters/formats/saved_model/operators.h"

#include <algorithm>

#include <fmt/format.h>

namespace onnxkit::to_tensorflow {
namespace {

struct DerivedAttributes {
  std::string_view op, attributes;
};

/// Those that differ from T=0.
constexpr DerivedAttributes derived[] = {
    {"All", "Tidx=1"},
    {"Any", "Tidx=1"},
    {"ArgMax", "T=0 Tidx=1"},
    {"ArgMin", "T=0 Tidx=1"},
    {"BroadcastTo", "T=0 Tidx=1"},
    {"Cast", "SrcT=0"},
    {"ConcatV2", "N=0 T=0 Tidx=1"},
    {"Conv2DBackpropInput", "T=1"},
    {"Cumsum", "T=0 Tidx=1"},
    {"Einsum", "N=0 T=0"},
    {"EmptyTensorList", "shape_type=0"},
    {"ExpandDims", "T=0 Tdim=1"},
    {"Fill", "index_type=0 T=1"},
    {"GatherNd", "Tparams=0 Tindices=1"},
    {"GatherV2", "Tparams=0 Tindices=1 Taxis=2"},
    {"LogicalAnd", ""},
    {"LogicalNot", ""},
    {"LogicalOr", ""},
    {"Max", "T=0 Tidx=1"},
    {"Mean", "T=0 Tidx=1"},
    {"Min", "T=0 Tidx=1"},
    {"MirrorPad", "T=0 Tpaddings=1"},
    {"OneHot", "TI=0 T=2"},
    {"Pack", "N=0 T=0"},
    {"Pad", "T=0 Tpaddings=1"},
    {"PadV2", "T=0 Tpaddings=1"},
    {"Prod", "T=0 Tidx=1"},
    {"Range", "Tidx=0"},
    {"Reshape", "T=0 Tshape=1"},
    {"ReverseSequence", "T=0 Tlen=1"},
    {"ReverseV2", "T=0 Tidx=1"},
    {"SelectV2", "T=1"},
    {"Split", "T=1"},
    {"SplitV", "T=0 Tlen=1"},
    {"StridedSlice", "T=0 Index=1"},
    {"Sum", "T=0 Tidx=1"},
    {"TensorScatterUpdate", "T=0 Tindices=1"},
    {"TensorListPushBack", ""},
    {"TensorListStack", ""},
    {"Tile", "T=0 Tmultiples=1"},
    {"TopKV2", "T=0 Tk=1"},
    {"Transpose", "T=0 Tperm=1"},
};

/// What operators call their results, where it is not "output". A star marks a list of them.
constexpr DerivedAttributes named_results[] = {
    {"BroadcastArgs", "r0"},
    {"Cumsum", "out"},
    {"EmptyTensorList", "handle"},
    {"LogSoftmax", "logsoftmax"},
    {"MatMul", "product"},
    {"ReadVariableOp", "value"},
    {"ResizeBilinear", "resized_images"},
    {"ResizeNearestNeighbor", "resized_images"},
    {"Softmax", "softmax"},
    {"Split", "output*"},
    {"SplitV", "output*"},
    {"StatelessIf", "output*"},
    {"StatelessWhile", "output*"},
    {"TensorListPushBack", "output_handle"},
    {"TensorListStack", "tensor"},
    {"TopKV2", "values indices"},
    {"Where", "index"},
};
constexpr std::string_view with_y[] = {
    "Abs",  "Acos",    "Acosh", "Asin",   "Asinh", "Atan",   "Atanh", "Cast",       "Ceil",       "Cos",      "Cosh",
    "Erf",  "Exp",     "Floor", "Invert", "IsInf", "IsNan",  "Log",   "Neg",        "LogicalNot", "Round",    "Rsqrt",
    "Sign", "Sigmoid", "Sin",   "Sinh",   "Sqrt",  "Square", "Tan",   "Reciprocal", "Tanh",       "Transpose"};
constexpr std::string_view with_z[] = {
    "Add",       "AddV2",    "Div",     "DivNoNan",  "Equal",      "FloorMod",  "Greater",     "GreaterEqual",
    "LeftShift", "Less",     "Maximum", "LessEqual", "LogicalAnd", "LogicalOr", "Minimum",     "Mod",
    "Mul",       "NotEqual", "Pow",     "RealDiv",   "RightShift", "Sub",       "TruncateDiv", "TruncateMod"};
constexpr std::string_view with_activations[] = {"Elu", "LeakyRelu", "Relu", "Relu6", "Selu", "Softplus", "Softsign"};

template <std::size_t N>
bool is_listed(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string_view names_of_results(std::string_view op) {
  if (is_listed(with_y, op)) return "y";
  if (is_listed(with_z, op)) return "z";
  if (is_listed(with_activations, op)) return "activations";
  const auto found = std::find_if(std::begin(named_results), std::end(named_results),
                                  [&](const DerivedAttributes& one) { return one.op == op; });
  return found == std::end(named_results) ? "output" : found->attributes;
}

}  // namespace

std::string output_in_function(std::string_view op, std::size_t output) {
  std::string_view names = names_of_results(op);
  if (names.ends_with('*')) return fmt::format("{}:{}", names.substr(0, names.size() - 1), output);
  for (; output > 0 && names.find(' ') != names.npos; --output) names.remove_prefix(names.find(' ') + 1);
  return fmt::format("{}:0", names.substr(0, names.find(' ')));
}

std::string_view derived_attributes(std::string_view op) {
  const auto found =
      std::find_if(std::begin(derived), std::end(derived), [&](const DerivedAttributes& one) { return one.op == op; });
  return found == std::end(derived) ? "T=0" : found->attributes;
}

}  // namespace onnxkit::to_tensorflow
