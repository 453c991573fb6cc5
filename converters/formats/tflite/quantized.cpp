#include "converters/formats/tflite/quantized.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "converters/formats/tflite/integer_graph.h"
#include "converters/formats/tflite/integer_moves.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::to_tflite {
namespace {

enum class Scales : std::uint8_t {
  own,       ///< those of each value
  equal,     ///< the same for all values
  positive,  ///< 1 / 256 and -128 for the result
  weighted   ///< weights around 0, which may have a scale for each channel
};
struct Kernel {
  std::string_view op;
  std::size_t operands;  ///< 0: a list
  Scales scales;
  std::array<std::size_t, 3> places = {0, 1, 2};  ///< of the arguments: the operands, or input, weights and bias
};
constexpr Kernel kernels[] = {
    {"CONV_2D", 2, Scales::weighted},
    {"DEPTHWISE_CONV_2D", 2, Scales::weighted},
    {"FULLY_CONNECTED", 2, Scales::weighted},
    {"TRANSPOSE_CONV", 2, Scales::weighted, {2, 1, 3}},
    {"ADD", 2, Scales::own},
    {"SUB", 2, Scales::own},
    {"MUL", 2, Scales::own},
    {"MEAN", 1, Scales::own},
    {"RELU", 1, Scales::own},
    {"RELU6", 1, Scales::own},
    {"LEAKY_RELU", 1, Scales::own},
    {"HARD_SWISH", 1, Scales::own},
    {"GELU", 1, Scales::own},
    {"LOGISTIC", 1, Scales::positive},
    {"SOFTMAX", 1, Scales::positive},
    {"MAX_POOL_2D", 1, Scales::equal},  // with an activation
    {"AVERAGE_POOL_2D", 1, Scales::equal},
    {"RESIZE_BILINEAR", 1, Scales::equal},
    {"CONCATENATION", 0, Scales::equal},
};

class IntegerComputation {
 public:
  explicit IntegerComputation(foreign::Model& model) : given_(model) {}

  void run() {
    for (Node& node : given_.graph.nodes) {
      const auto* kernel =
          std::find_if(std::begin(kernels), std::end(kernels), [&](const Kernel& row) { return row.op == node.op; });
      if (kernel != std::end(kernels)) compute(node, *kernel);
    }
    for (Tensor& tensor : made_) given_.graph.tensors.push_back(std::move(tensor));
    std::erase_if(given_.graph.nodes, [](const Node& node) { return node.op.empty(); });
  }

 private:
  void compute(Node& node, const Kernel& kernel) {
    Node* quantize = node.outputs.size() == 1 ? quantize_behind(node) : nullptr;
    if (!quantize || quantize->op != "QUANTIZE" || given_.elem(quantize->outputs[0]) != ElementType::int8) return;
    std::vector<Argument*> operands;
    if (kernel.operands == 0)
      for (Argument& item : std::get<Argument::List>(node.arguments[0].content)) operands.push_back(&item);
    else
      for (std::size_t i = 0; i < kernel.operands; ++i) operands.push_back(&node.arguments[kernel.places[i]]);
    std::vector<ValueId> integers;
    for (const Argument* operand : operands) {
      const ValueId id = value_of(*operand);
      integers.push_back(id == ValueId::none ? id : given_.integers_of(id));
      if (integers.back() == ValueId::none) return;
    }
    const ValueId result = quantize->outputs[0];
    if (!fits(node, kernel, integers, result)) return;
    if (kernel.scales == Scales::weighted && !quantize_bias(node.arguments[kernel.places[2]], integers[0], integers[1]))
      return;
    for (std::size_t i = 0; i < operands.size(); ++i) operands[i]->content = integers[i];
    node.outputs[0] = result;
    quantize->op = {};  // goes
    quantize->arguments.clear();
    quantize->outputs.clear();
  }

  // ---- the kernels' own rounding, as the reader writes it

  /// The QUANTIZE that alone reads a result, or does so once halves are rounded as the kernel rounds them.
  Node* quantize_behind(const Node& node) {
    const ValueId result = node.outputs[0];
    if (node.op == "RESIZE_BILINEAR")
      if (const ValueId rounded = halves_up(result); rounded != ValueId::none) return given_.reader(rounded);
    if (node.op == "AVERAGE_POOL_2D")
      if (const ValueId rounded = halves_away_from_zero(result); rounded != ValueId::none)
        return given_.reader(rounded);
    return given_.reads(result) == 1 ? given_.reader(result) : nullptr;
  }

  /// A stored number in steps of the QUANTIZE that alone reads a value; nullopt when it is none.
  std::optional<double> in_steps(const Argument& argument, ValueId value) {
    const Node* quantize = given_.reads(value) == 1 ? given_.reader(value) : nullptr;
    const Tensor* stored = given_.constant(value_of(argument));
    if (!quantize || quantize->op != "QUANTIZE" || !stored || stored->elem != ElementType::float32) return std::nullopt;
    if (stored->bytes.size() != sizeof(float)) return std::nullopt;
    double real = 0;
    decode(stored->elem, stored->bytes, std::span(&real, 1));
    return real / static_cast<double>(given_.value(quantize->outputs[0]).quantization->scales.front());
  }
  static bool is_sum(const Node* node, ValueId x) {
    return node && node->op == "ADD" && value_of(node->arguments[0]) == x && !node->find("fused_activation_function");
  }
  static bool is_little(std::optional<double> steps) { return steps && *steps > 1.0 / 2048 && *steps < 1.0 / 512; }

  /// x plus a little.
  ValueId halves_up(ValueId x) {
    const Node* sum = given_.reads(x) == 1 ? given_.reader(x) : nullptr;
    if (!is_sum(sum, x)) return ValueId::none;
    return is_little(in_steps(sum->arguments[1], sum->outputs[0])) ? sum->outputs[0] : ValueId::none;
  }

  /// x plus a little of the sign that the integers have, which is that of x where their zero point is 0.
  ValueId halves_away_from_zero(ValueId x) {
    const Node* sum = given_.reads(x) == 2 ? given_.reader(x) : nullptr;
    if (!is_sum(sum, x)) return ValueId::none;
    const ValueId rounded = sum->outputs[0];
    const Node* little = given_.producer(value_of(sum->arguments[1]));
    if (!little || little->op != "MUL" || little->find("fused_activation_function") ||
        !is_little(in_steps(little->arguments[1], rounded)))
      return ValueId::none;
    const Node* sign = given_.producer(value_of(little->arguments[0]));
    if (!sign || sign->op != "SIGN") return ValueId::none;
    const std::int64_t zero_point = given_.value(given_.reader(rounded)->outputs[0]).quantization->zero_points.front();
    if (zero_point == 0 && value_of(sign->arguments[0]) == x) return rounded;
    const Node* moved = given_.producer(value_of(sign->arguments[0]));
    if (!is_sum(moved, x)) return ValueId::none;
    const auto steps = in_steps(moved->arguments[1], rounded);
    return steps && std::abs(*steps - static_cast<double>(zero_point)) < 1.0 / 1024 ? rounded : ValueId::none;
  }

  // ---- scales

  bool fits(const Node& node, const Kernel& kernel, const std::vector<ValueId>& integers, ValueId result) {
    const Quantization& given = *given_.value(result).quantization;
    if (given.is_per_axis()) return false;
    for (std::size_t i = 0; i < integers.size(); ++i) {
      const Quantization& own = *given_.value(integers[i]).quantization;
      const bool is_weight = kernel.scales == Scales::weighted && i == 1;
      if (!is_weight && own.is_per_axis()) return false;
      if (kernel.scales == Scales::equal && !(own == given)) return false;
      if (!is_weight) continue;
      const auto is_zero = [](std::int64_t zero_point) { return zero_point == 0; };
      if (!std::all_of(own.zero_points.begin(), own.zero_points.end(), is_zero) || !given_.constant(integers[i]))
        return false;
      const std::int64_t axis = node.op == "DEPTHWISE_CONV_2D" ? 3 : 0;
      if (own.is_per_axis() && own.axis != axis) return false;
    }
    if (kernel.scales != Scales::positive) return true;
    return given.scales[0] == 1.0F / 256 && given.zero_points[0] == -128;
  }

  /// A stored bias as int32 with the scales of its products.
  bool quantize_bias(Argument& bias, ValueId x, ValueId weights) {
    const ValueId id = value_of(bias);
    if (id == ValueId::none) return true;
    const Tensor* stored = given_.constant(id);
    if (!stored || stored->elem != ElementType::float32) return false;
    std::vector<double> reals(stored->bytes.size() / sizeof(float));
    decode(stored->elem, stored->bytes, std::span(reals));
    const Quantization &own = *given_.value(x).quantization, &filter = *given_.value(weights).quantization;
    Quantization made;
    std::vector<std::int64_t> integers;
    constexpr double most = std::numeric_limits<std::int32_t>::max();
    for (std::size_t c = 0; c < reals.size(); ++c) {
      if (filter.is_per_axis() && c >= filter.scales.size()) return false;
      const float scale = own.scales[0] * filter.scales[filter.is_per_axis() ? c : 0];
      const double steps = std::nearbyint(reals[c] / static_cast<double>(scale));
      if (!(std::abs(steps) <= most)) return false;
      integers.push_back(static_cast<std::int64_t>(steps));
      if (c == 0 || filter.is_per_axis()) made.scales.push_back(scale);
    }
    made.zero_points.assign(made.scales.size(), 0);
    std::string bytes(integers.size() * sizeof(std::int32_t), '\0');
    encode(ElementType::int32, std::span<const std::int64_t>(integers),
           std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
    const std::string_view name = given_.model.strings->keep(std::string(given_.graph.name_of(id)) + "_int32").view();
    const ValueId quantized = given_.graph.add_value(name);
    given_.value(quantized).quantization = std::move(made);
    made_.push_back({quantized,
                     name,
                     ElementType::int32,
                     {static_cast<std::int64_t>(reals.size())},
                     std::as_bytes(std::span(given_.model.strings->keep(bytes).view()))});
    bias.content = quantized;
    return true;
  }

  IntegerGraph given_;
  std::vector<Tensor> made_;
};

}  // namespace

void compute_on_integers(foreign::Model& model) {
  move_integers(model);
  IntegerComputation(model).run();
}

}  // namespace onnxkit::to_tflite
