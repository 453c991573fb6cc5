#include "converters/formats/saved_model/operators.h"

#include <algorithm>

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
    {"Tile", "T=0 Tmultiples=1"},
    {"TopKV2", "T=0 Tk=1"},
    {"Transpose", "T=0 Tperm=1"},
};

}  // namespace

std::string_view derived_attributes(std::string_view op) {
  const auto found =
      std::find_if(std::begin(derived), std::end(derived), [&](const DerivedAttributes& one) { return one.op == op; });
  return found == std::end(derived) ? "T=0" : found->attributes;
}

}  // namespace onnxkit::to_tensorflow
