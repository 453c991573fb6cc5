// Products of matrices.
#include <algorithm>
#include <numeric>

#include "converters/formats/tflite/emit.h"

namespace onnxkit::to_tflite {
namespace {

bool is_constant_matrix(WriteCall& call, std::size_t input) {
  if (!call.shape(input) || call.shape(input)->size() != 2) return false;
  if (call.stored(input) || stored_halves(call, input)) return true;
  const auto producer = call.producer(input);
  return producer && producer->node.op_type == "DequantizeLinear" && WriteCall(*producer).stored(0);
}

ValueId fully_connected(WriteCall& call, ValueId x, ValueId weights, ValueId bias, bool keeps_axes, Type type) {
  return call.emit("FULLY_CONNECTED",
                   {{"input", x}, {"weights", weights}, {"bias", bias}, {"keep_num_dims", keeps_axes}},
                   std::move(type));
}

/// A vector as a matrix with one row, or one column.
ValueId as_matrix(WriteCall& call, ValueId x, bool is_row) {
  const Type& type = call.type_of(x);
  if (!type.shape || type.shape->size() != 1) return x;
  const Dim size = (*type.shape)[0];
  return reshape(call, x, is_row ? Shape{Dim(1), size} : Shape{size, Dim(1)});
}

void map_matmul(WriteCall& call) {
  const std::size_t left = call.rank(0), right = call.rank(1);
  if (call.refused() || left == 0 || right == 0) return call.refuse("it multiplies scalars");
  if (call.elem(0) != ElementType::float32) return call.refuse("it multiplies other elements than float32");
  const ValueId x = call.input(0);
  if (left >= 2 && is_constant_matrix(call, 1))
    return call.result(
        fully_connected(call, x, reordered(call, 1, {1, 0}), ValueId::none, left != 2, call.output_type()));
  const ValueId a = as_matrix(call, x, true), b = as_matrix(call, call.input(1), false);
  if (left >= 2 && right >= 2) return call.result(call.emit("BATCH_MATMUL", {{"x", a}, {"y", b}}, call.output_type()));
  const ValueId product = call.emit("BATCH_MATMUL", {{"x", a}, {"y", b}}, Type::tensor(call.elem(0)));
  if (!call.output_type().shape) return call.refuse("the shape of its result is not known");
  call.result(reshape(call, product, *call.output_type().shape));
}

void map_gemm(WriteCall& call) {
  const double alpha = call.real("alpha", 1), beta = call.real("beta", 1);
  const bool transposes_a = call.integer("transA", 0) != 0, transposes_b = call.integer("transB", 0) != 0;
  if (call.elem(0) != ElementType::float32) return call.refuse("it multiplies other elements than float32");
  const auto width = call.size(1, transposes_b ? 0 : 1);
  const bool is_layer = is_constant_matrix(call, 1) && alpha == 1;
  const bool is_bias = call.has(2) && beta == 1 && call.shape(2) && call.shape(2)->size() == 1 && width &&
                       (*call.shape(2))[0].is(*width) && is_layer;
  ValueId product;
  if (is_layer) {
    const ValueId a = transposes_a ? transpose(call, call.input(0), {1, 0}) : call.input(0);
    const ValueId weights = transposes_b ? reordered(call, 1, {0, 1}) : reordered(call, 1, {1, 0});
    product = fully_connected(call, a, weights, is_bias ? call.input(2) : ValueId::none, false, call.output_type());
  } else {
    product = call.emit("BATCH_MATMUL",
                        {{"x", call.input(0)}, {"y", call.input(1)}, {"adj_x", transposes_a}, {"adj_y", transposes_b}},
                        call.output_type());
  }
  if (alpha != 1) product = binary(call, "MUL", product, alpha);
  if (!call.has(2) || is_bias || beta == 0) return call.result(product);
  call.result(binary(call, "ADD", product, beta == 1 ? call.input(2) : binary(call, "MUL", call.input(2), beta)));
}

/// The letters of an equation without an ellipsis, the result's behind the arrow or those that come once, sorted.
struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};
std::optional<Equation> equation_of(WriteCall& call) {
  Equation equation;
  std::string text;
  for (const char c : call.text("equation"))
    if (c != ' ') text += c;
  const std::size_t arrow = text.find("->");
  if (arrow == text.npos || text.find('.') != text.npos) return std::nullopt;
  equation.output = text.substr(arrow + 2);
  std::string left = text.substr(0, arrow);
  for (std::size_t comma = left.find(','); comma != left.npos; comma = left.find(',')) {
    equation.inputs.push_back(left.substr(0, comma));
    left = left.substr(comma + 1);
  }
  equation.inputs.push_back(left);
  return equation;
}

/// An operand with its axes in the order of the letters, those that it lacks as axes of one element.
ValueId by_letters(WriteCall& call, ValueId x, const std::string& own, const std::string& wanted) {
  Ints order;
  Shape shape;
  for (const char letter : wanted) {
    const std::size_t at = own.find(letter);
    if (at != own.npos) order.push_back(static_cast<std::int64_t>(at));
  }
  const ValueId moved = transpose(call, x, order);
  std::size_t next = 0;
  for (const char letter : wanted)
    shape.push_back(own.find(letter) == own.npos ? Dim(1) : (*call.type_of(moved).shape)[next++]);
  return reshape(call, moved, shape);
}

/// Two operands as a product of matrices: letters of both and the result are batches, those of both alone are summed.
void map_einsum(WriteCall& call) {
  const auto equation = equation_of(call);
  if (!equation || equation->inputs.size() != 2 || call.node.inputs.size() != 2 || !call.shape(0) || !call.shape(1))
    return call.refuse("its equation is not one of two operands of known ranks", "write it with MatMul");
  const std::string &a = equation->inputs[0], &b = equation->inputs[1], &out = equation->output;
  if (a.size() != call.shape(0)->size() || b.size() != call.shape(1)->size())
    return call.refuse("its equation does not fit its operands");
  std::string batch, rows, columns, summed;
  const auto has = [](const std::string& letters, char letter) { return letters.find(letter) != letters.npos; };
  for (const char letter : a) (has(b, letter) ? (has(out, letter) ? batch : summed) : rows) += letter;
  for (const char letter : b)
    if (!has(a, letter)) columns += letter;
  const auto repeats = [](std::string letters) {
    std::sort(letters.begin(), letters.end());
    return std::adjacent_find(letters.begin(), letters.end()) != letters.end();
  };
  for (const char letter : rows + columns)
    if (!has(out, letter))
      return call.refuse("its equation sums over an axis of one operand", "write it with ReduceSum");
  if (repeats(a) || repeats(b) || repeats(out) || out.size() != batch.size() + rows.size() + columns.size())
    return call.refuse("its equation repeats a letter");
  const auto size_of = [&](char letter) {
    const std::size_t at = a.find(letter);
    return at != a.npos ? (*call.shape(0))[at] : (*call.shape(1))[b.find(letter)];
  };
  const auto merged = [&](const std::string& letters) {
    std::int64_t product = 1;
    for (const char letter : letters) {
      if (!size_of(letter).is_constant()) return letters.size() == 1 ? size_of(letter) : Dim();
      product *= size_of(letter).constant();
    }
    return Dim(product);
  };
  Shape left, right, joined, result;
  for (const char letter : batch) left.push_back(size_of(letter));
  right = joined = result = left;
  left.insert(left.end(), {merged(rows), merged(summed)});
  right.insert(right.end(), {merged(summed), merged(columns)});
  joined.insert(joined.end(), {merged(rows), merged(columns)});
  for (const char letter : rows + columns) result.push_back(size_of(letter));
  const ValueId x = reshape(call, by_letters(call, call.input(0), a, batch + rows + summed), left);
  const ValueId y = reshape(call, by_letters(call, call.input(1), b, batch + summed + columns), right);
  const ValueId product = call.emit("BATCH_MATMUL", {{"x", x}, {"y", y}}, Type::tensor(call.elem(0), joined));
  const std::string letters = batch + rows + columns;
  Ints order;
  for (const char letter : out) order.push_back(static_cast<std::int64_t>(letters.find(letter)));
  call.result(transpose(call, reshape(call, product, result), order));
}

}  // namespace

void register_matmul(Writers& writers);
void register_matmul(Writers& writers) {
  writers.add("MatMul", map_matmul);
  writers.add("Gemm", map_gemm);
  writers.add("Einsum", map_einsum);
}

}  // namespace onnxkit::to_tflite
