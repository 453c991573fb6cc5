// Main diagonals of matrices: made, taken and replaced.
#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

/// Whether the node is about the main diagonal and square matrices, as it is by default.
bool is_plain(Call& call) {
  const auto is_only = [&](std::string_view name, std::int64_t value) {
    return !call.declared(name) || call.onnx.constant_integers(call.tensor(name)) == std::vector<std::int64_t>{value};
  };
  const bool is_main = is_only("k", 0) && is_only("num_rows", -1) && is_only("num_cols", -1);
  if (!is_main) call.refuse("a diagonal other than the main one, or a band of several");
  return is_main;
}

/// True on the main diagonal of a matrix of this size.
Val on_diagonal(OnnxBuilder& onnx, Val rows, Val columns) {
  const Val like = onnx.emit("Expand", {onnx.scalar(ElementType::float32, 0), onnx.joined({rows, columns})});
  return onnx.cast(onnx.emit("EyeLike", {like}), ElementType::boolean);
}

void map_diagonal_matrix(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("diagonal");
  if (!is_plain(call)) return;
  const Val size = onnx.size_of(x, static_cast<std::int64_t>(call.rank(x)) - 1);
  const Val filling = call.number("padding_value", onnx.elem(x));
  call.result(onnx.emit("Where", {on_diagonal(onnx, size, size), onnx.unsqueeze(x, {-1}), filling}));
}

void map_diagonal_part(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input");
  const auto rank = static_cast<std::int64_t>(call.rank(x));
  if (!is_plain(call)) return;
  if (rank < 2) return call.refuse("its input is not a matrix");
  const Val rows = onnx.size_of(x, rank - 2), columns = onnx.size_of(x, rank - 1);
  const Val places = onnx.emit(
      "Range", {onnx.scalar_integer(ElementType::int64, 0), onnx.squeeze(onnx.emit("Min", {rows, columns}), {0}),
                onnx.scalar_integer(ElementType::int64, 1)});
  const Val column = onnx.unsqueeze(places, {-1});
  std::vector<std::int64_t> last_first = {rank - 2, rank - 1}, back;
  for (std::int64_t axis = 0; axis + 2 < rank; ++axis) last_first.push_back(axis);
  for (std::int64_t axis = 1; axis + 1 < rank; ++axis) back.push_back(axis);
  back.push_back(0);
  const Val pairs = onnx.emit("Concat", {column, column}, {{"axis", std::int64_t{1}}});
  const Val taken = onnx.emit("GatherND", {onnx.transpose(x, last_first), pairs});
  call.result(rank == 2 ? taken : onnx.transpose(taken, back));
}

void map_set_diagonal(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input"), diagonal = call.tensor("diagonal");
  if (!is_plain(call)) return;
  const std::size_t rank = call.rank(x);
  if (rank < 2) return call.refuse("its input is not a matrix");
  const auto rows = onnx.size(x, rank - 2), columns = onnx.size(x, rank - 1);
  if (!rows || !columns || *rows > *columns)
    return call.refuse("a matrix with more rows than columns, or of unknown size");
  const Val place = on_diagonal(onnx, onnx.integers({*rows}), onnx.integers({*columns}));
  call.result(onnx.emit("Where", {place, onnx.unsqueeze(diagonal, {-1}), x}));
}

}  // namespace

void register_diagonal(Mappings& mappings);
void register_diagonal(Mappings& mappings) {
  mappings.add("MatrixDiag", {"diagonal"}, map_diagonal_matrix);
  mappings.add_all({"MatrixDiagV2", "MatrixDiagV3"}, {"diagonal", "k", "num_rows", "num_cols", "padding_value"},
                   map_diagonal_matrix);
  mappings.add("MatrixDiagPart", {"input"}, map_diagonal_part);
  mappings.add_all({"MatrixDiagPartV2", "MatrixDiagPartV3"}, {"input", "k", "padding_value"}, map_diagonal_part);
  mappings.add("MatrixSetDiag", {"input", "diagonal"}, map_set_diagonal);
  mappings.add_all({"MatrixSetDiagV2", "MatrixSetDiagV3"}, {"input", "diagonal", "k"}, map_set_diagonal);
}

}  // namespace onnxkit::saved_model
