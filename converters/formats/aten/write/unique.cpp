// Different elements, or slices, of a tensor.
#include "converters/formats/aten/lower.h"

namespace onnxkit::aten {
namespace {

const Type some_places = Type::tensor(ElementType::int64, {Dim()});

ValueId order_of(WriteCall& call, ValueId places) {
  return call.emit_many("aten.sort.stable",
                        {{"self", places}, {"stable", true}, {"dim", Int{0}}, {"descending", false}},
                        {some_places, some_places})[1];
}

ValueId taken(WriteCall& call, ValueId x, Int axis, ValueId places) {
  return call.emit("aten.index_select.default", {{"self", x}, {"dim", axis}, {"index", places}}, call.type_of(x));
}

/// PyTorch sorts. Of each the place where it comes first follows from a stable order of the places; without sorting that is the order of the result.
void map_unique(WriteCall& call) {
  const bool has_axis = call.has_attribute("axis");
  const Int axis = has_axis ? call.axis("axis", 0, call.rank(0)) : 0;
  if (call.refused() || !has_arithmetic(call, call.elem(0))) return;
  const Type found = has_axis ? call.output_type() : Type::tensor(call.elem(0), {Dim()});
  std::vector<Given> given = {{"self", call.input(0)}};
  if (has_axis) given.push_back({"dim", axis});
  given.insert(given.end(), {{"sorted", true}, {"return_inverse", true}, {"return_counts", true}});
  std::vector<ValueId> results = call.emit_many(has_axis ? "aten.unique_dim.default" : "aten._unique2.default",
                                                std::move(given), {found, some_places, some_places});
  ValueId values = results[0], counts = results[2];
  ValueId inverse = call.emit("aten.reshape.default", {{"self", results[1]}, {"shape", Ints{-1}}}, some_places);
  const ValueId ends =
      call.emit("aten.cumsum.default", {{"self", counts}, {"dim", Int{0}}, {"dtype", ElementType::int64}}, some_places);
  const ValueId begins = binary(call, "aten.sub.Tensor", ends, counts, some_places);
  ValueId first = taken(call, order_of(call, inverse), 0, begins);
  if (call.integer("sorted", 1) == 0) {
    const ValueId order = order_of(call, first);
    values = taken(call, values, axis, order);
    counts = taken(call, counts, 0, order);
    first = taken(call, first, 0, order);
    inverse = taken(call, order_of(call, order), 0, inverse);
  }
  call.results({values, first, inverse, counts});
}

}  // namespace

void register_unique(Writers& writers);
void register_unique(Writers& writers) { writers.add("Unique", map_unique); }

}  // namespace onnxkit::aten
