// Other names of operators: programs keep the name that was called.
#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

struct Alias {
  std::string_view name, of;
};

constexpr Alias aliases[] = {
    {"aten.arctan2.default", "aten.atan2.default"},
    {"aten.bitwise_and.Scalar_Tensor", "aten.bitwise_and.Tensor"},
    {"aten.bitwise_or.Scalar_Tensor", "aten.bitwise_or.Tensor"},
    {"aten.bitwise_xor.Scalar_Tensor", "aten.bitwise_xor.Tensor"},
    {"aten.clip.Tensor", "aten.clamp.Tensor"},
    {"aten.clip.default", "aten.clamp.default"},
    {"aten.concat.default", "aten.cat.default"},
    {"aten.concatenate.default", "aten.cat.default"},
    {"aten.fix.default", "aten.trunc.default"},
    {"aten.float_power.Tensor",
     "aten.float_power.Tensor_Tensor"},  // of float_power_, whose overloads have names of their own
    {"aten.floor_divide.Tensor", "aten.floor_divide.default"},  // of floor_divide_
    {"aten.greater.Scalar", "aten.gt.Scalar"},
    {"aten.greater.Tensor", "aten.gt.Tensor"},
    {"aten.greater_equal.Scalar", "aten.ge.Scalar"},
    {"aten.greater_equal.Tensor", "aten.ge.Tensor"},
    {"aten.less.Scalar", "aten.lt.Scalar"},
    {"aten.less.Tensor", "aten.lt.Tensor"},
    {"aten.less_equal.Scalar", "aten.le.Scalar"},
    {"aten.less_equal.Tensor", "aten.le.Tensor"},
    {"aten.not_equal.Scalar", "aten.ne.Scalar"},
    {"aten.not_equal.Tensor", "aten.ne.Tensor"},
    {"aten.pow.Tensor", "aten.pow.Tensor_Tensor"},  // of pow_
    {"aten.remainder.Scalar_Tensor", "aten.remainder.Tensor"},
    {"aten.row_stack.default", "aten.vstack.default"},
    {"aten.special_erfc.default", "aten.erfc.default"},
    {"aten.special_exp2.default", "aten.exp2.default"},
    {"aten.special_expm1.default", "aten.expm1.default"},
    {"aten.special_log1p.default", "aten.log1p.default"},
    {"aten.special_log_softmax.default", "aten.log_softmax.int"},
    {"aten.special_logsumexp.default", "aten.logsumexp.default"},
    {"aten.special_round.default", "aten.round.decimals"},
    {"aten.special_softmax.default", "aten.softmax.int"},
    {"aten.special_xlogy.other_scalar", "aten.xlogy.Scalar_Other"},
    {"aten.special_xlogy.self_scalar", "aten.xlogy.Scalar_Self"},
    {"aten.transpose.default", "aten.transpose.int"},  // of transpose_
    {"aten.true_divide.Scalar", "aten.div.Scalar"},
};

}  // namespace

void register_aliases(Mappings& mappings);
void register_aliases(Mappings& mappings) {
  for (const Alias& alias : aliases) mappings.add_alias(alias.name, alias.of);
}

}  // namespace onnxkit::pt2
