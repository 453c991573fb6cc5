// Einsum came with opset 12; below, its operands are contracted one after the other: by MatMul where indices of known sizes go, else by Mul and
// ReduceSum.
#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "converters/opset/compose/compose.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"
#include "libonnxkit/base/checked.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::opset {
namespace {

constexpr char ellipsis = '.';

bool has(const std::string& term, char index) { return term.find(index) != std::string::npos; }

std::string parsed_term(std::string_view text) {
  std::string term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == "...") i += 2;
    term += text[i];
  }
  return term;
}

struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

/// What the implicit form gives.
std::string implicit_result(const std::vector<std::string>& operands) {
  std::map<char, int> times;
  for (const std::string& term : operands) {
    for (const char c : term) ++times[c];
  }
  std::string result(times.contains(ellipsis) ? 1 : 0, ellipsis);
  for (const auto& [index, count] : times) {
    if (count == 1 && index != ellipsis) result += index;
  }
  return result;
}

Equation parsed(std::string_view text) {
  Equation equation;
  const std::size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  for (;;) {
    const std::size_t comma = left.find(',');
    equation.operands.push_back(parsed_term(left.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  equation.result =
      arrow == std::string_view::npos ? implicit_result(equation.operands) : parsed_term(text.substr(arrow + 2));
  return equation;
}

/// A tensor and the index of each of its axes.
struct Operand {
  ValueId x;
  std::string term;
  std::map<char, std::int64_t> known;  ///< sizes, where they are constants
};

class Contraction {
 public:
  explicit Contraction(Step& step) : step_(step), equation_(parsed(step.string("equation"))) {}

  void build() {
    const ElementType own = step_.elem(step_.input(0));
    const bool is_half = own == ElementType::float16;
    std::vector<Operand> operands = read_operands();
    Operand all = std::move(operands.front());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      std::string later = equation_.result;
      for (std::size_t k = i + 1; k < operands.size(); ++k) later += operands[k].term;
      if (i == 0) {
        all = summed(std::move(all), later);
        continue;
      }
      Operand next = summed(std::move(operands[i]), later + all.term);
      all = contracted(std::move(all), std::move(next), later);
    }
    const ValueId y = ordered(all, equation_.result);
    ir::Node& last = step_.emit(is_half ? "Cast" : "Identity", {y}, {step_.output(0)});
    if (is_half) last.attributes.push_back(step_.attribute({"to", static_cast<std::int64_t>(own)}));
    step_.replace();
  }

 private:
  // ---- operands

  /// Broadcast axes get indices of their own, counted from the last.
  std::string without_ellipsis(const std::string& term, std::size_t axes) const {
    const std::size_t at = term.find(ellipsis);
    if (at == std::string::npos) return term;
    std::string indices;
    for (std::size_t i = axes; i > 0; --i) indices += static_cast<char>(i);
    return term.substr(0, at) + indices + term.substr(at + 1);
  }

  std::vector<Operand> read_operands() {
    if (equation_.operands.size() != step_.input_count())
      refuse("the number of terms in the equation differs from the number of inputs");
    std::vector<Operand> operands;
    std::size_t most = 0;
    for (std::size_t i = 0; i < equation_.operands.size(); ++i) {
      const std::string& term = equation_.operands[i];
      const ValueId x = step_.input(i);
      std::size_t broadcast = 0;
      if (has(term, ellipsis)) {
        const std::int64_t rest = step_.need_rank(x) - static_cast<std::int64_t>(term.size()) + 1;
        if (rest < 0 || rest > 30) refuse("the equation does not match the rank of an operand");
        broadcast = static_cast<std::size_t>(rest);
        most = std::max(most, broadcast);
      }
      operands.push_back(read_operand(x, without_ellipsis(term, broadcast)));
    }
    equation_.result = without_ellipsis(equation_.result, most);
    for (const char index : equation_.result) {
      const bool is_known =
          std::any_of(operands.begin(), operands.end(), [index](const Operand& o) { return has(o.term, index); });
      if (!is_known || std::count(equation_.result.begin(), equation_.result.end(), index) != 1)
        refuse("the result term of the equation is malformed");
    }
    return operands;
  }

  Operand read_operand(ValueId x, const std::string& term) {
    Operand operand{x, term, {}};
    if (const checker::Shape* shape = step_.shape(x)) {
      if (shape->size() != term.size()) refuse("the equation does not match the rank of an operand");
      for (std::size_t axis = 0; axis < term.size(); ++axis) {
        if ((*shape)[axis].is_constant()) operand.known[term[axis]] = (*shape)[axis].constant();
      }
    }
    if (step_.elem(x) == ElementType::float16) operand.x = cast(step_, x, ElementType::float32);
    for (;;) {
      const auto again = std::find_if(operand.term.begin(), operand.term.end(), [&](char index) {
        return std::count(operand.term.begin(), operand.term.end(), index) > 1;
      });
      if (again == operand.term.end()) return operand;
      const char index = *again;
      operand = diagonal(std::move(operand), index);
    }
  }

  /// Two axes of one index become one: they are moved to the end and joined, and each size + 1st element is taken.
  Operand diagonal(Operand operand, char index) {
    std::string rest = operand.term;
    std::vector<std::int64_t> perm;
    for (int twice = 0; twice < 2; ++twice) rest.erase(rest.find(index), 1);
    std::vector<std::int64_t> two;
    for (std::size_t axis = 0; axis < operand.term.size(); ++axis) {
      if (operand.term[axis] == index && two.size() < 2)
        two.push_back(static_cast<std::int64_t>(axis));
      else
        perm.push_back(static_cast<std::int64_t>(axis));
    }
    perm.insert(perm.end(), two.begin(), two.end());
    const Size size = operand.known.contains(index) ? Size(operand.known[index]) : size_of(step_, operand.x, two[0]);
    std::vector<Size> dims(rest.size(), 0);
    dims.push_back(product(step_, size, size));
    const ValueId joined = reshape_to(step_, transpose(step_, operand.x, perm), dims);
    const ValueId indices =
        step_.add("Mul", {count_up(step_, size), as_vector(step_, sum(step_, size, 1))}, {}, "places");
    operand.x = step_.add("Gather", {joined, indices}, {{"axis", static_cast<std::int64_t>(rest.size())}}, "diagonal");
    operand.term = rest + index;
    return operand;
  }

  // ---- contraction

  /// Without the indices that nobody needs.
  Operand summed(Operand operand, const std::string& needed) {
    std::vector<std::int64_t> axes;
    std::string kept;
    for (std::size_t axis = 0; axis < operand.term.size(); ++axis) {
      if (has(needed, operand.term[axis]))
        kept += operand.term[axis];
      else
        axes.push_back(static_cast<std::int64_t>(axis));
    }
    if (axes.empty()) return operand;
    operand.x = reduce(step_, "ReduceSum", operand.x, axes, false, "sum");
    operand.term = kept;
    return operand;
  }

  Operand contracted(Operand a, Operand b, const std::string& needed) {
    std::string shared, gone, only_a, only_b;
    for (const char index : a.term) (!has(b.term, index) ? only_a : has(needed, index) ? shared : gone) += index;
    for (const char index : b.term) {
      if (!has(a.term, index)) only_b += index;
    }
    Operand result{ValueId::none, shared + only_a + only_b, a.known};
    for (const auto& [index, size] : b.known) {
      auto& known = result.known[index];
      known = std::max(known, size);
    }
    for (const char index : shared) {
      if (!a.known.contains(index) || !b.known.contains(index)) result.known.erase(index);
    }
    if (const auto product = matrix_product(a, b, {shared, only_a, only_b, gone})) {
      result.x = *product;
      return result;
    }
    const std::string all = result.term + gone;
    result.x = step_.add("Mul", {ordered(a, all), ordered(b, all)}, {}, "product");
    result.term = all;
    return summed(std::move(result), shared + only_a + only_b);
  }

  /// Indices of two operands: of both, of one, and those that the sum takes away.
  struct Indices {
    std::string shared, only_a, only_b, gone;
  };

  /// What these axes have together, -1 where one is not known; nothing where more are not, one has no element, or int64 does not hold it.
  static std::optional<std::int64_t> joined_size(const Operand& operand, const std::string& indices) {
    std::optional<std::int64_t> size = 1;
    bool is_open = false;
    for (const char index : indices) {
      const auto known = operand.known.find(index);
      if (known == operand.known.end() ? is_open : known->second == 0) return std::nullopt;
      if (known == operand.known.end())
        is_open = true;
      else if (!(size = checked_mul(*size, known->second)))
        return std::nullopt;
    }
    return is_open ? -1 : size;
  }

  static bool goes_evenly(const Operand& a, const Operand& b, const std::string& gone) {
    return !gone.empty() && std::all_of(gone.begin(), gone.end(), [&](char index) {
      const auto in_a = a.known.find(index), in_b = b.known.find(index);
      return in_a != a.known.end() && in_b != b.known.end() && in_a->second == in_b->second;
    });
  }

  /// [shared, only_a, only_b] by MatMul; several indices are joined to one axis for it. Nothing where sizes do not tell that it can.
  std::optional<ValueId> matrix_product(const Operand& a, const Operand& b, const Indices& of) {
    if (!goes_evenly(a, b, of.gone)) return std::nullopt;
    const bool joins_a = of.only_a.size() > 1 || of.gone.size() > 1,
               joins_b = of.only_b.size() > 1 || of.gone.size() > 1;
    const std::optional<std::int64_t> rows = joined_size(a, of.only_a), columns = joined_size(b, of.only_b);
    const std::optional<std::int64_t> depth = joined_size(a, of.gone);
    if (joins_a || joins_b) {
      // Of one Reshape, one size may be open, and nothing may be empty then.
      if (!rows || !columns || !depth || (*rows < 0 && *columns < 0)) return std::nullopt;
      const bool is_open = *rows < 0 || *columns < 0;
      if (is_open && (joined_size(a, of.shared).value_or(-1) < 0 || joined_size(b, of.shared).value_or(-1) < 0))
        return std::nullopt;
    }
    const std::vector<Size> batch(of.shared.size(), 0);  // as they are
    ValueId left = ordered(a, of.shared + (of.only_a.empty() ? "*" : of.only_a) + of.gone),
            right = ordered(b, of.shared + of.gone + (of.only_b.empty() ? "*" : of.only_b));
    if (joins_a) left = reshape_to(step_, left, with(batch, {*rows, *depth}));
    if (joins_b) right = reshape_to(step_, right, with(batch, {*depth, *columns}));
    const ValueId product = step_.add("MatMul", {left, right}, {}, "product");
    if (of.only_a.size() > 1 || of.only_b.size() > 1) {
      std::vector<Size> sizes = batch;
      for (const char index : of.only_a) sizes.emplace_back(size_or_open(a, index));
      for (const char index : of.only_b) sizes.emplace_back(size_or_open(b, index));
      return reshape_to(step_, product, sizes);
    }
    std::vector<std::int64_t> without;
    const auto first = static_cast<std::int64_t>(of.shared.size());
    if (of.only_a.empty()) without.push_back(first);
    if (of.only_b.empty()) without.push_back(first + 1);
    return without.empty() ? product : squeeze(step_, product, without);
  }

  static std::vector<Size> with(std::vector<Size> sizes, std::initializer_list<std::int64_t> more) {
    sizes.insert(sizes.end(), more.begin(), more.end());
    return sizes;
  }

  static std::int64_t size_or_open(const Operand& operand, char index) {
    const auto known = operand.known.find(index);
    return known == operand.known.end() ? -1 : known->second;
  }

  /// The axes in this order; indices that the operand does not have become axes of size 1.
  ValueId ordered(const Operand& operand, const std::string& order) {
    std::vector<std::int64_t> perm, missing;
    for (std::size_t axis = 0; axis < order.size(); ++axis) {
      const std::size_t at = operand.term.find(order[axis]);
      if (at == std::string::npos)
        missing.push_back(static_cast<std::int64_t>(axis));
      else
        perm.push_back(static_cast<std::int64_t>(at));
    }
    const ValueId turned = std::is_sorted(perm.begin(), perm.end()) ? operand.x : transpose(step_, operand.x, perm);
    return missing.empty() ? turned : unsqueeze(step_, turned, missing);
  }

  Step& step_;
  Equation equation_;
};

/// Version 12 knows no bfloat16: computed in single.
void without_bfloat16_einsum(Step& step) {
  if (step.elem(step.input(0)) != ElementType::bfloat16) return;
  for (std::size_t i = 0; i < step.input_count(); ++i)
    step.set_input(i, cast(step, step.input(i), ElementType::float32));
  const ValueId y = step.value("wide");
  step.set_output(0, y);
  step.then();
  step.emit("Cast", {y}, {step.output(0)}, {{"to", static_cast<std::int64_t>(ElementType::bfloat16)}});
}

}  // namespace

void register_einsum(StepRegistry& registry) {
  registry.introduced({"Einsum"}, 12,
                      adapt("rewritten as products and sums", [](Step& step) { Contraction(step).build(); }));
  registry.change({"Einsum"}, 28, compatible("bfloat16 is also allowed"),
                  adapt("bfloat16 is computed in float32", without_bfloat16_einsum));
}

}  // namespace onnxkit::opset
