// Reductions over axes that both frameworks compose, and the greatest along one.
#include <utility>

#include "converters/foreign/tensorflow_family/operators.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::tensorflow_family {
namespace {

/// A sum of something of each element, and something of the sum.
struct Composition {
  std::string_view op, before, after;
};
constexpr Composition compositions[] = {
    {"ReduceL1", "Abs", ""},
    {"ReduceL2", "Square", "Sqrt"},
    {"ReduceSumSquare", "Square", ""},
    {"ReduceLogSum", "", "Log"},
};

/// Says why not where it is not so.
bool can_sum(WriteCall& call, ElementType elem) {
  if (call.dialect().is_lite) {
    if (elem != ElementType::float32) call.refuse("it reduces other elements than float32");
  } else if (is_integer(elem) && elem != ElementType::int32 && elem != ElementType::int64) {
    call.refuse("it reduces narrow integers");
  }
  return !call.refused();
}

void map_composed_reduction(WriteCall& call) {
  const Composition* parts = compositions;
  while (parts->op != call.node.op_type.view()) ++parts;
  const auto axes = reduced_axes(call);
  const ElementType elem = call.elem(0);
  if (!axes || !can_sum(call, elem)) return;
  ValueId x = call.input(0);
  if (!parts->before.empty()) x = unary(call, parts->before, x);
  x = reduced(call, "Sum", x, *axes, keeps_axes(call));
  if (parts->after.empty()) return call.result(x);
  if (is_integer(elem)) x = cast(call, x, ElementType::float64);
  call.result(cast(call, unary(call, parts->after, x), elem));
}

/// Of the last axis, the greatest first.
void map_top_k(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const ElementType elem = call.elem(0);
  const bool is_smallest = call.integer("largest", 1) == 0, is_lite = call.dialect().is_lite;
  if (is_lite && is_smallest && is_integer(elem) && elem != ElementType::int32 && elem != ElementType::int64)
    return call.refuse("it takes the smallest of integers that no kernel turns round");
  if (rank == 0) return call.refuse("it has no axis to look along");
  const auto axis = static_cast<std::size_t>(call.axis("axis", -1, rank));
  const Ints order = swapped_axes(rank, axis, rank - 1);
  // The smallest become the greatest; -1 - x and ~x turn the order of integers round, the least of them too.
  const auto turned = [&](ValueId x) {
    if (!is_integer(elem)) return unary(call, "Neg", x);
    return is_lite ? binary(call, "Sub", call.scalar(elem, -1), x) : unary(call, "Invert", x);
  };
  ValueId x = transpose(call, call.input(0), order);
  if (is_smallest) x = turned(x);
  const ValueId k = as_scalar(call, cast(call, call.input(1), ElementType::int32));
  Type values = with_elem(call.output_type(0), elem), places = with_elem(values, ElementType::int32);
  for (Type* type : {&values, &places})
    if (type->shape && type->shape->size() == rank) std::swap((*type->shape)[axis], type->shape->back());
  std::vector<ValueId> found =
      call.emit_many(name_in_dialect(call, "TopKV2"), {{"input", x}, {"k", k}}, {values, places});
  if (is_smallest) found[0] = turned(found[0]);
  found[1] = cast(call, found[1], ElementType::int64);
  call.results({transpose(call, found[0], order), transpose(call, found[1], order)});
}

}  // namespace

void register_reduce(Writers& writers);
void register_reduce(Writers& writers) {
  for (const Composition& row : compositions) writers.add(row.op, map_composed_reduction);
  writers.add("TopK", map_top_k);
}

}  // namespace onnxkit::tensorflow_family
