// Products that ONNX has no operator for: of vectors in space, of blocks, of three factors, of chains of matrices.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"
#include "converters/formats/pt2/sizes.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

Val element_product(Call& call, Val a, Val b) {
  return call.onnx.emit(call.onnx.elem(a) == ElementType::boolean ? "And" : "Mul", {a, b});
}

/// The axis that is named, or the first one of three elements.
std::optional<std::int64_t> axis_of_space(Call& call, Val x) {
  const std::size_t rank = call.rank(x);
  if (call.node.op == "aten.linalg_cross.default") return call.axis("dim", -1, rank);
  if (call.has("dim")) return call.axis("dim", 0, rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto size = call.onnx.size(x, axis);
    if (!size) break;
    if (*size == 3) return static_cast<std::int64_t>(axis);
  }
  call.refuse("which axis has three elements is not known");
  return std::nullopt;
}

/// a[1] b[2] - a[2] b[1], and so on around.
void map_cross(Call& call) {
  auto& onnx = call.onnx;
  const Operands x = operands_of(call);
  if (call.rank(x.a) != call.rank(x.b)) return call.refuse("vectors of tensors with different numbers of axes");
  const auto axis = axis_of_space(call, call.tensor("self"));
  if (!axis) return;
  const auto turned = [&](Val value, std::initializer_list<std::int64_t> places) {
    return onnx.emit("Gather", {value, onnx.integers(places)}, {{"axis", *axis}});
  };
  const Val left = onnx.emit("Mul", {turned(x.a, {1, 2, 0}), turned(x.b, {2, 0, 1})});
  const Val right = onnx.emit("Mul", {turned(x.a, {2, 0, 1}), turned(x.b, {1, 2, 0})});
  call.result(onnx.emit("Sub", {left, right}));
}

/// Sums over the last axes of both.
void map_inner(Call& call) {
  auto& onnx = call.onnx;
  const Val a = call.tensor("self"), b = call.tensor("other");
  const std::size_t rank_a = call.rank(a), rank_b = call.rank(b);
  if (rank_a == 0 || rank_b == 0) {
    const Operands x = operands_of(call);
    return call.result(element_product(call, x.a, x.b));
  }
  if (rank_b == 1) return call.result(onnx.emit("MatMul", {a, b}));
  if (rank_b == 2) return call.result(onnx.emit("MatMul", {a, onnx.transpose(b, {1, 0})}));
  if (rank_a + rank_b > 26) return call.refuse("there are too many axes");
  std::string of_a, of_b;
  char next = 'b';
  for (std::size_t i = 1; i < rank_a; ++i) of_a += next++;
  for (std::size_t i = 1; i < rank_b; ++i) of_b += next++;
  call.result(onnx.emit("Einsum", {a, b}, {{"equation", of_a + "a," + of_b + "a->" + of_a + of_b}}));
}

/// Each element of the first tensor times the whole second one, as a block in its place.
void map_kronecker(Call& call) {
  auto& onnx = call.onnx;
  const Operands x = operands_of(call);
  const auto rank_a = static_cast<std::int64_t>(call.rank(x.a)), rank_b = static_cast<std::int64_t>(call.rank(x.b));
  const std::int64_t rank = std::max(rank_a, rank_b);
  if (rank == 0) return call.result(element_product(call, x.a, x.b));
  // Axes of the first are the even ones, those of the second the odd ones; missing ones in front have one element.
  std::vector<std::int64_t> new_a, new_b;
  std::vector<Val> sizes;
  const Val one = onnx.integers({1});
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const std::int64_t of_a = axis - (rank - rank_a), of_b = axis - (rank - rank_b);
    if (of_a >= 0) new_a.push_back(2 * of_a + 1);
    if (of_b >= 0) new_b.push_back(2 * of_b);
    sizes.push_back(
        product_of_sizes(onnx, of_a < 0 ? one : onnx.size_of(x.a, of_a), of_b < 0 ? one : onnx.size_of(x.b, of_b)));
  }
  const Val blocks = element_product(call, rank_a == 0 ? x.a : onnx.unsqueeze(x.a, new_a),
                                     rank_b == 0 ? x.b : onnx.unsqueeze(x.b, new_b));
  call.result(onnx.emit("Reshape", {blocks, onnx.joined(sizes)}, {{"allowzero", std::int64_t{1}}}));
}

/// x1 W[k] x2 + b[k] for each k: the first vector times all matrices, each of whose rows the second one is then multiplied with.
void map_bilinear(Call& call) {
  auto& onnx = call.onnx;
  const Val x1 = call.tensor("input1"), x2 = call.tensor("input2"), weight = call.tensor("weight");
  const std::size_t rank = call.rank(x1);
  const Val width = product_of_sizes(onnx, onnx.size_of(weight, 0), onnx.size_of(weight, 2));
  const Val matrix =
      onnx.emit("Reshape", {onnx.transpose(weight, {1, 0, 2}), onnx.joined({onnx.size_of(weight, 1), width})});
  const Val products = onnx.emit("MatMul", {x1, matrix});
  std::vector<Val> sizes;
  for (std::size_t axis = 0; axis + 1 < rank; ++axis)
    sizes.push_back(onnx.size_of(x1, static_cast<std::int64_t>(axis)));
  sizes.insert(sizes.end(), {onnx.size_of(weight, 0), onnx.size_of(weight, 2)});
  const Val rows = onnx.emit("Reshape", {products, onnx.joined(sizes)}, {{"allowzero", std::int64_t{1}}});
  const Val result = onnx.squeeze(onnx.emit("MatMul", {rows, onnx.unsqueeze(x2, {-1})}), {-1});
  call.result(call.has("bias") ? onnx.emit("Add", {result, call.tensor("bias")}) : result);
}

/// The sum over some axes of a product of three tensors, each of which lacks axes of the whole: the inner form of the bilinear product.
void map_trilinear(Call& call) {
  auto& onnx = call.onnx;
  const std::vector<Val> factors = {call.tensor("i1"), call.tensor("i2"), call.tensor("i3")};
  const std::vector<std::int64_t> lacking[] = {call.integers("expand1"), call.integers("expand2"),
                                               call.integers("expand3")};
  const std::vector<std::int64_t> summed = call.integers("sumdim");
  const std::size_t rank = call.rank(factors.front()) + lacking[0].size();
  if (rank > 26) return call.refuse("there are too many axes");
  const auto letters_without = [&](const std::vector<std::int64_t>& axes) {
    std::string letters;
    for (std::size_t axis = 0; axis < rank; ++axis)
      if (std::count(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) == 0)
        letters += static_cast<char>('a' + static_cast<int>(axis));
    return letters;
  };
  std::string equation;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const std::string letters = letters_without(lacking[i]);
    if (letters.size() != call.rank(factors[i])) return call.refuse("the axes of the factors do not fit");
    equation += (i == 0 ? "" : ",") + letters;
  }
  call.result(onnx.emit("Einsum", factors, {{"equation", equation + "->" + letters_without(summed)}}));
}

/// Where to part a chain of matrices so that there are the fewest multiplications: the last factor on the left, by first and last factor.
class ChainOrder {
 public:
  /// `sizes` has one more than there are factors.
  explicit ChainOrder(const std::vector<double>& sizes) : count_(sizes.size() - 1), parts_(count_ * count_, 0) {
    std::vector<double> costs(count_ * count_, 0);
    for (std::size_t length = 1; length < count_; ++length)
      for (std::size_t first = 0; first + length < count_; ++first) {
        const std::size_t last = first + length;
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t part = first; part < last; ++part) {
          const double cost = costs[first * count_ + part] + costs[(part + 1) * count_ + last] +
                              sizes[first] * sizes[part + 1] * sizes[last + 1];
          if (cost >= least) continue;
          least = cost;
          parts_[first * count_ + last] = part;
        }
        costs[first * count_ + last] = least;
      }
  }

  Val product(Call& call, const std::vector<Val>& factors, std::size_t first, std::size_t last) const {
    if (first == last) return factors[first];
    const std::size_t part = parts_[first * count_ + last];
    return call.onnx.emit("MatMul", {product(call, factors, first, part), product(call, factors, part + 1, last)});
  }

 private:
  std::size_t count_;
  std::vector<std::size_t> parts_;
};

/// The first and the last factor may be vectors. Sizes that are not known count as those between them.
void map_chain(Call& call) {
  auto& onnx = call.onnx;
  const std::vector<Val> factors = call.tensors(call.has("matrices") ? "matrices" : "tensors");
  constexpr std::size_t most = 64;
  if (factors.empty() || factors.size() > most) return call.refuse("a product of so many matrices");
  const auto size = [&](Val x, std::size_t axis) { return static_cast<double>(onnx.size(x, axis).value_or(64)); };
  std::vector<double> sizes = {call.rank(factors.front()) == 1 ? 1 : size(factors.front(), 0)};
  for (const Val factor : factors) sizes.push_back(size(factor, call.rank(factor) - 1));
  if (call.rank(factors.back()) == 1) sizes.back() = 1;
  call.result(ChainOrder(sizes).product(call, factors, 0, factors.size() - 1));
}

/// The powers of each element, from 0 on, as a last axis; the older form has them from the highest on if it is not told otherwise.
void map_vandermonde(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("x");
  if (call.rank(x) == 0) x = onnx.unsqueeze(x, {0});
  if (!is_floating(onnx.elem(x))) x = onnx.cast(x, ElementType::int64);
  const Val count = call.has("N") ? call.size("N", 0) : onnx.size_of(x, static_cast<std::int64_t>(call.rank(x)) - 1);
  const auto number = [&](std::int64_t value) { return onnx.scalar_integer(ElementType::int64, value); };
  const Val end = onnx.squeeze(count, {0});
  const bool is_rising = call.node.op == "aten.linalg_vander.default" || call.flag("increasing", false);
  const Val powers = is_rising ? onnx.emit("Range", {number(0), end, number(1)})
                               : onnx.emit("Range", {onnx.emit("Sub", {end, number(1)}), number(-1), number(-1)});
  call.result(onnx.emit("Pow", {onnx.unsqueeze(x, {-1}), onnx.cast(powers, onnx.elem(x))}));
}

}  // namespace

void register_product(Mappings& mappings);
void register_product(Mappings& mappings) {
  mappings.add({"aten.cross.default", "aten.linalg_cross.default"}, map_cross);
  mappings.add("aten.inner.default", map_inner);
  mappings.add("aten.kron.default", map_kronecker);
  mappings.add("aten.bilinear.default", map_bilinear);
  mappings.add("aten._trilinear.default", map_trilinear);
  mappings.add({"aten.linalg_multi_dot.default", "aten.chain_matmul.default"}, map_chain);
  mappings.add({"aten.linalg_vander.default", "aten.vander.default"}, map_vandermonde);
}

}  // namespace onnxkit::pt2
