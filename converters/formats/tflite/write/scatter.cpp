// Elements that are written to places, and those that are chosen.
#include "converters/formats/tflite/coordinates.h"

namespace onnxkit::to_tflite {
namespace {

/// SCATTER_ND adds to zeros: the data stays where no update goes.
void scatter(WriteCall& call, ValueId indices, ValueId updates) {
  const std::string_view reduction = call.text("reduction", "none");
  if (reduction != "none" && reduction != "add") return call.refuse("it combines updates with the data");
  if (!call.shape(0) || !call.shape(2)) return call.refuse("the rank of its data is not known");
  const ElementType elem = call.elem(0);
  if (elem == ElementType::boolean) return call.refuse("SCATTER_ND does not place booleans");
  const ValueId sizes = sizes_vector(call, *call.shape(0));
  const auto scattered = [&](ValueId what, ElementType type) {
    return call.emit("SCATTER_ND", {{"indices", indices}, {"updates", what}, {"shape", sizes}},
                     Type::tensor(type, *call.shape(0)));
  };
  if (reduction == "add") return call.result(binary(call, "ADD", call.input(0), scattered(updates, elem)));
  const ValueId update_sizes = sizes_vector(call, *call.shape(2));
  const ValueId ones = fill(call, update_sizes, number(call, 1), Type::tensor(ElementType::int32, *call.shape(2)));
  const ValueId hits = compare(call, "GREATER", scattered(ones, ElementType::int32), number(call, 0));
  call.result(select(call, hits, scattered(updates, elem), call.input(0)));
}

void map_scatter_nd(WriteCall& call) {
  const ValueId rows = cast(call, row_positions(call, 1), ElementType::int32);
  scatter(call, rows, call.input(2));
}

void map_scatter_elements(WriteCall& call) {
  const std::int64_t axis = call.axis("axis", 0, call.rank(0));
  if (!call.shape(1) || call.shape(1)->size() != call.rank(0))
    return call.refuse("the rank of its indices is not known");
  const ValueId places = element_coordinates(call, 1, axis, *call.shape(1));
  scatter(call, places, call.input(2));
}

/// The places where the condition holds.
void map_compress(WriteCall& call) {
  const bool has_axis = call.has_attribute("axis");
  const ValueId rows =
      call.emit("WHERE", {{"condition", call.input(1)}}, Type::tensor(ElementType::int64, {Dim(), Dim(1)}));
  const ValueId places = reshape(call, rows, {Dim()});
  const ValueId x = has_axis ? call.input(0) : reshape(call, call.input(0), {Dim()});
  const std::int64_t axis = has_axis ? call.axis("axis", 0, call.rank(0)) : 0;
  call.result(gather(call, x, places, axis, call.output_type()));
}

}  // namespace

void register_scatter(Writers& writers);
void register_scatter(Writers& writers) {
  writers.add("ScatterND", map_scatter_nd);
  writers.add("ScatterElements", map_scatter_elements);
  writers.add("Compress", map_compress);
}

}  // namespace onnxkit::to_tflite
