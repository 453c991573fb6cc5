// Reductions over axes, and places of extremes.
#include "converters/formats/saved_model/emit.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::to_tensorflow {
namespace {

using foreign::Counterpart;

constexpr Counterpart plain_names[] = {
    {"ReduceMean", "Mean"}, {"ReduceSum", "Sum"}, {"ReduceMax", "Max"}, {"ReduceMin", "Min"}, {"ReduceProd", "Prod"},
};

/// Axes that are computed; none are all of them.
ValueId computed_axes(WriteCall& call) {
  const auto count = call.size(1, 0);
  const ValueId given = cast(call, call.input(1), ElementType::int32);
  if (count && *count > 0) return given;
  const auto rank = static_cast<std::int64_t>(call.rank(0));
  const ValueId all = counted(call, Dim(rank));
  const ValueId sizes = sizes_of(call, given);
  const ValueId is_none = compare(call, "Equal", sizes, numbers(call, {0}));
  const ValueId one_if_none = cast(call, is_none, ElementType::int32);
  const ValueId last = binary(call, "Mul", one_if_none, numbers(call, {rank}));
  const Type open = Type::tensor(ElementType::int32, {Dim()});
  const ValueId those = call.emit(
      "StridedSlice", {{"input", all}, {"begin", numbers(call, {0})}, {"end", last}, {"strides", numbers(call, {1})}},
      Type(open));
  return concat(call, {given, those}, 0, open);
}

void map_plain_reduction(WriteCall& call) {
  const std::string_view op = foreign::counterpart(plain_names, call.node);
  const ElementType elem = call.elem(0);
  const bool is_narrow =
      (is_integer(elem) && elem != ElementType::int32 && elem != ElementType::int64 && elem != ElementType::uint64) ||
      elem == ElementType::boolean;
  const ValueId x = is_narrow ? cast(call, call.input(0), ElementType::int64) : call.input(0);
  if (call.has(1) && !call.known_integers(1)) {
    if (call.integer("noop_with_empty_axes", 0) != 0) return call.refuse("its axes are known only when the model runs");
    const ValueId axes = computed_axes(call);
    const ValueId result = call.emit(op, {{"input", x}, {"reduction_indices", axes}, {"keep_dims", keeps_axes(call)}},
                                     with_elem(call.output_type(), call.type_of(x).elem));
    return call.result(cast(call, result, elem));
  }
  const auto axes = reduced_axes(call);
  if (!axes) return;
  call.result(cast(call, reduced(call, op, x, *axes, keeps_axes(call)), elem));
}

/// max + log(sum(e^(x - max)))
void map_reduce_log_sum_exp(WriteCall& call) {
  const auto axes = reduced_axes(call);
  if (!axes || !is_real(call)) return;
  const ValueId x = call.input(0);
  if (axes->empty()) return call.result(x);
  const ValueId greatest = reduce(call, "Max", x, *axes, true);
  const ValueId powers = unary(call, "Exp", binary(call, "Sub", x, greatest));
  const ValueId sum = binary(call, "AddV2", unary(call, "Log", reduce(call, "Sum", powers, *axes, true)), greatest);
  call.result(keeps_axes(call) ? sum : squeeze(call, sum, *axes, call.output_type()));
}

void map_place_of_extreme(WriteCall& call) {
  const std::string_view op = call.node.op_type == "ArgMax" ? "ArgMax" : "ArgMin";
  const std::size_t rank = call.rank(0);
  if (rank == 0) return call.refuse("it has no axis to look along");
  const std::int64_t axis = call.axis("axis", 0, rank);
  const bool takes_last = call.integer("select_last_index", 0) != 0;
  ValueId x = call.input(0);
  if (takes_last) x = reversed(call, x, axis);
  Type type = Type::tensor(ElementType::int64, *call.shape(0));
  const Dim size = (*type.shape)[static_cast<std::size_t>(axis)];
  type.shape->erase(type.shape->begin() + axis);
  ValueId place = call.emit(op, {{"input", x}, {"dimension", number(call, axis)}, {"output_type", ElementType::int64}},
                            std::move(type));
  if (takes_last) {
    const ValueId count = cast(call, as_scalar(call, sizes_vector(call, {size})), ElementType::int64);
    place = binary(call, "Sub", binary(call, "Sub", count, call.integer_scalar(1)), place);
  }
  call.result(keeps_axes(call) ? expand_dims(call, place, axis) : place);
}

void map_cumsum(WriteCall& call) {
  call.result(call.emit("Cumsum",
                        {{"x", call.input(0)},
                         {"axis", as_scalar(call, call.input(1))},
                         {"exclusive", call.integer("exclusive", 0) != 0},
                         {"reverse", call.integer("reverse", 0) != 0}},
                        call.output_type()));
}

/// x divided by its norm along an axis; 0 stays 0.
void map_lp_normalization(WriteCall& call) {
  if (!is_real(call)) return;
  const std::size_t rank = call.rank(0);
  const Ints axes = {call.axis("axis", -1, rank)};
  const ValueId x = call.input(0);
  const bool is_euclidean = call.integer("p", 2) == 2;
  ValueId norm = reduce(call, "Sum", unary(call, is_euclidean ? "Square" : "Abs", x), axes);
  if (is_euclidean) norm = unary(call, "Sqrt", norm);
  call.result(binary(call, "DivNoNan", x, norm));
}

/// (x - mean) / (deviation + a little)
void map_mean_variance_normalization(WriteCall& call) {
  if (!is_real(call)) return;
  const Ints axes = WriteCall::from_start(call.integers("axes", {0, 2, 3}), call.rank(0));
  const ValueId x = call.input(0);
  const ValueId centred = binary(call, "Sub", x, reduce(call, "Mean", x, axes));
  const ValueId deviation = unary(call, "Sqrt", reduce(call, "Mean", unary(call, "Square", centred), axes));
  constexpr double little = 1e-9;
  call.result(binary(call, "RealDiv", centred, binary(call, "AddV2", deviation, little)));
}

}  // namespace

void register_reduce(Writers& writers);
void register_reduce(Writers& writers) {
  for (const Counterpart& row : plain_names) writers.add(row.first, map_plain_reduction);
  writers.add("ReduceLogSumExp", map_reduce_log_sum_exp);
  writers.add({"ArgMax", "ArgMin"}, map_place_of_extreme);
  writers.add("CumSum", map_cumsum);
  writers.add("LpNormalization", map_lp_normalization);
  writers.add("MeanVarianceNormalization", map_mean_variance_normalization);
}

}  // namespace onnxkit::to_tensorflow
