// Products of rows with the matrix of their group: the layers of experts, of which a run chooses one for each row.
#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// How many rows each group has, and last how many belong to none; groups end at `ends`.
Val rows_of_groups(Call& call, Val ends, Val rows) {
  auto& onnx = call.onnx;
  ends = onnx.cast(ends, ElementType::int64);
  const std::vector<ir::Attr> first{{"axis", std::int64_t{0}}};
  const Val until = onnx.emit("Concat", {ends, rows}, first);
  return onnx.emit("Sub", {until, onnx.emit("Concat", {onnx.integers({0}), ends}, first)});
}

/// Rows stand group by group. Each group is multiplied by its own matrix, however many rows it has; rows of no group are 0.
void give_grouped_product(Call& call, Val x, Val matrices, Val ends) {
  auto& onnx = call.onnx;
  const auto count = onnx.size(matrices, 0);
  constexpr std::int64_t most = 1 << 12;  // each group is nodes of its own
  if (!count || *count < 1 || *count > most) return call.refuse("the number of groups is not known, or too large");
  const auto groups = static_cast<std::size_t>(*count);
  const Val rows = onnx.size_of(x, 0), columns = onnx.size_of(matrices, 2);
  const Val sizes = rows_of_groups(call, ends, rows);
  const std::vector<ir::Attr> along_rows{{"axis", std::int64_t{0}}};
  const std::vector<Val> parts = onnx.emit_many(groups + 1, "Split", {x, sizes}, along_rows);
  const std::vector<std::int64_t> ones(groups, 1);
  const std::vector<Val> each = onnx.emit_many(groups, "Split", {matrices, onnx.integers(ones)}, along_rows);
  std::vector<Val> products;
  for (std::size_t i = 0; i < groups; ++i) products.push_back(onnx.emit("MatMul", {parts[i], each[i]}));
  const Val left_over = onnx.joined({onnx.integers({1}), onnx.size_of(parts[groups], 0), columns});
  products.push_back(onnx.emit("Expand", {onnx.scalar(onnx.elem(x), 0), left_over}));
  const Val joined = onnx.emit("Concat", products, {{"axis", std::int64_t{1}}});
  call.result(onnx.emit("Reshape", {joined, onnx.joined({rows, columns})}));
}

/// Without ends, matrices of two batches. Other groups than of rows are for the gradients of training.
void map_grouped_mm(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self"), matrices = call.tensor("mat2"), ends = call.tensor("offs");
  if (call.has("bias")) return call.refuse("a bias of grouped products has no meaning in PyTorch yet");
  if (call.elem("out_dtype", onnx.elem(x)) != onnx.elem(x)) return call.refuse("a result of another type");
  if (!ends) return call.result(onnx.emit("MatMul", {x, matrices}));
  if (call.rank(x) != 2 || call.rank(matrices) != 3)
    return call.refuse("only rows are multiplied group by group, not columns or the elements that are summed");
  give_grouped_product(call, x, matrices, ends);
}

/// The operator that the library transformers puts in its place where PyTorch's own does not run.
void map_grouped_mm_of_transformers(Call& call) {
  give_grouped_product(call, call.tensor("input"), call.tensor("weight"), call.tensor("offs"));
}

}  // namespace

void register_grouped_products(Mappings& mappings);
void register_grouped_products(Mappings& mappings) {
  mappings.add("aten._grouped_mm.default", map_grouped_mm);
  mappings.add("transformers.grouped_mm_fallback.default", map_grouped_mm_of_transformers);
}

}  // namespace onnxkit::pt2
