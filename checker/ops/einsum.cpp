// Einsum: "ij,jk->ik". A letter stands for one axis, "..." for those that are broadcast; without "->" the result has the ellipsis and then
// the letters that occur once, in ASCII order.
#include <map>
#include <set>
#include <string>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

constexpr char ellipsis = '.';

/// Letters of a term; "..." has become one `ellipsis`.
using Term = std::string;

struct Equation {
  std::vector<Term> operands;
  Term result;
};

void report(InferContext& context, std::string message, std::string expected, std::string found) {
  context.error({.code = "attribute-value",
                 .at = at_attribute("equation"),
                 .message = std::move(message),
                 .expected = std::move(expected),
                 .found = std::move(found)});
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string shown(const Term& term) {
  std::string text;
  for (const char c : term) text += c == ellipsis ? "..." : std::string(1, c);
  return quote(text);
}

/// nullopt and a finding when `text` is no sequence of letters with at most one ellipsis.
std::optional<Term> parse_term(InferContext& context, std::string_view text) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    const bool dots = text.substr(i, 3) == "...";
    const bool repeated = dots && term.find(ellipsis) != Term::npos;
    if (repeated || (!dots && !is_letter(text[i]))) {
      report(context, "a term of the equation is malformed", "letters and at most one ellipsis", quote(text));
      return std::nullopt;
    }
    term += dots ? ellipsis : text[i];
    if (dots) i += 2;
  }
  return term;
}

/// What the implicit form gives.
Term implicit_result(const std::vector<Term>& operands) {
  std::map<char, int> count;
  bool has_ellipsis = false;
  for (const Term& term : operands) {
    for (const char c : term) {
      if (c == ellipsis) {
        has_ellipsis = true;
      } else {
        ++count[c];
      }
    }
  }
  Term result(has_ellipsis ? 1 : 0, ellipsis);
  for (const auto& [letter, times] : count) {
    if (times == 1) result += letter;
  }
  return result;
}

std::optional<Equation> parse(InferContext& context) {
  std::string_view text = context.string("equation");
  Equation equation;
  const std::size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  for (;;) {
    const std::size_t comma = left.find(',');
    const auto term = parse_term(context, left.substr(0, comma));
    if (!term) return std::nullopt;
    equation.operands.push_back(*term);
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (arrow == std::string_view::npos) {
    equation.result = implicit_result(equation.operands);
    return equation;
  }
  const auto result = parse_term(context, text.substr(arrow + 2));
  if (!result) return std::nullopt;
  equation.result = *result;
  return equation;
}

bool is_well_formed(InferContext& context, const Equation& equation) {
  if (equation.operands.size() != context.input_count()) {
    report(context, "the number of terms in the equation differs from the number of inputs",
           fmt::format("{} terms", context.input_count()), fmt::format("{} terms", equation.operands.size()));
    return false;
  }
  std::set<char> known;
  for (const Term& term : equation.operands) known.insert(term.begin(), term.end());
  for (const char c : equation.result) {
    if (known.contains(c)) continue;
    report(context, "the result has an index that no operand has", "indices of the operands", shown(Term(1, c)));
    return false;
  }
  return true;
}

/// Sizes that the letters and the ellipsis stand for, learnt operand by operand.
class Indices {
 public:
  explicit Indices(InferContext& context) : context_(context) {}

  /// False when the operand does not fit its term; reported.
  bool learn(std::size_t input, const Term& term) {
    const Shape* shape = context_.input_shape(input);
    if (!shape) {
      complete_ = complete_ && term.find(ellipsis) == Term::npos;
      return true;
    }
    const bool has_ellipsis = term.find(ellipsis) != Term::npos;
    const std::size_t letters = term.size() - (has_ellipsis ? 1 : 0);
    if (has_ellipsis ? shape->size() < letters : shape->size() != letters) {
      context_.error({.code = "rank-mismatch",
                      .at = at_input(input),
                      .message = fmt::format("the term {} does not match the rank of this operand", shown(term)),
                      .expected = fmt::format("rank {}{}", letters, has_ellipsis ? " or more" : ""),
                      .found = context_.text(*shape)});
      return false;
    }
    const std::size_t hidden = shape->size() - letters;
    std::size_t axis = 0;
    std::map<char, Dim> own;
    for (const char c : term) {
      if (c == ellipsis) {
        learn_ellipsis(std::span(*shape).subspan(axis, hidden));
        axis += hidden;
      } else {
        const Dim size = (*shape)[axis++];
        // Only axes of different operands broadcast.
        const Dim first = own.try_emplace(c, size).first->second;
        if (context_.sizes_clash(first, size)) return differs(input, c, first, size);
        if (!learn_letter(input, c, size)) return false;
      }
    }
    return true;
  }

  /// nullopt when the number of axes behind the ellipsis is not known.
  std::optional<Shape> shape_of(const Term& result) const {
    Shape shape;
    for (const char c : result) {
      if (c == ellipsis) {
        if (!complete_) return std::nullopt;
        shape.insert(shape.end(), hidden_.begin(), hidden_.end());
      } else {
        const auto known = sizes_.find(c);
        shape.push_back(known == sizes_.end() ? Dim() : known->second);
      }
    }
    return shape;
  }

 private:
  bool differs(std::size_t input, char letter, Dim known, Dim size) {
    context_.error(
        {.code = "shape-mismatch",
         .at = at_input(input),
         .message = fmt::format("index {} stands for different sizes", shown(Term(1, letter))),
         .expected = context_.text(known),
         .found = fmt::format("{} in {}", context_.text(size), context_.text(*context_.input_shape(input)))});
    return false;
  }

  bool learn_letter(std::size_t input, char letter, Dim size) {
    const auto [entry, is_new] = sizes_.try_emplace(letter, size);
    if (is_new || size.is_unknown()) return true;
    DimPool& dims = context_.dims();
    Dim& known = entry->second;
    context_.demand(SizeRelation::broadcast, known, size);
    if (!known.is_unknown() && dims.never_equal(known, size) && dims.never_equal(known, 1) && dims.never_equal(size, 1))
      return differs(input, letter, known, size);
    if (known.is_unknown() || known.is(1) || (!known.is_constant() && size.is_constant() && !size.is(1))) known = size;
    return true;
  }

  void learn_ellipsis(std::span<const Dim> axes) {
    if (axes.size() > hidden_.size()) hidden_.insert(hidden_.begin(), axes.size() - hidden_.size(), Dim(1));
    const std::size_t ahead = hidden_.size() - axes.size();
    for (std::size_t i = 0; i < axes.size(); ++i)
      hidden_[ahead + i] = broadcast_dim(context_, hidden_[ahead + i], axes[i]);
  }

  InferContext& context_;
  std::map<char, Dim> sizes_;
  Shape hidden_;
  bool complete_ = true;
};

void infer_einsum(InferContext& context) {
  const auto equation = parse(context);
  if (!equation || !is_well_formed(context, *equation)) return;
  Indices indices(context);
  for (std::size_t i = 0; i < equation->operands.size(); ++i) {
    if (!indices.learn(i, equation->operands[i])) return;
  }
  if (auto shape = indices.shape_of(equation->result)) {
    context.set_shape(0, std::move(*shape));
  } else {
    context.lose_shape(0, "the axes that the ellipsis covers are unknown");
  }
}

}  // namespace

void register_einsum(InferRegistry& registry) {
  registry.add("Einsum", all_versions(), infer_einsum, {.cost = cost::einsum});
}

}  // namespace onnxkit::checker
