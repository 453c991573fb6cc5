#include "converters/formats/pt2/size_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace onnxkit::pt2 {

std::int64_t SizeTexts::example_of(const std::string& name) {
  // Different ones, so that torch does not take sizes for equal by chance.
  return examples_.emplace(name, 64 + 8 * static_cast<std::int64_t>(examples_.size())).first->second;
}

std::string SizeTexts::symbol(const std::string& name) {
  std::string plain;
  for (const char c : name) plain += c == '\'' || c == '\\' ? '_' : c;
  // torch takes symbols that begin so for integers that it cannot bound, and reads a number behind the letter.
  if (plain.starts_with('u') || plain.starts_with('z')) plain.insert(0, "s_");
  if (std::find(symbols_.begin(), symbols_.end(), plain) == symbols_.end()) symbols_.push_back(plain);
  return fmt::format("Symbol('{}', positive=True, integer=True)", plain);
}

std::string SizeTexts::factor(const ir::DimFactor& factor) {
  using Kind = ir::DimFactor::Kind;
  if (factor.kind == Kind::symbol) return symbol(dims_.symbol(factor.symbol).name);
  const std::string a = sum(factor.a);
  if (factor.kind == Kind::positive_part) return fmt::format("Max(Integer(0), {})", a);
  const std::string b = sum(factor.b);
  return factor.kind == Kind::floor_div ? fmt::format("FloorDiv({}, {})", a, b) : fmt::format("Max({}, {})", a, b);
}

std::string SizeTexts::sum(ir::Dim dim) {
  std::vector<std::string> terms;
  for (const ir::DimTerm& term : dims_.terms(dim)) {
    std::vector<std::string> factors;
    if (term.coefficient != 1 || term.factors.empty()) factors.push_back(fmt::format("Integer({})", term.coefficient));
    for (const ir::DimFactor& one : term.factors) factors.push_back(factor(one));
    terms.push_back(factors.size() == 1 ? factors.front() : fmt::format("Mul({})", fmt::join(factors, ", ")));
  }
  if (terms.empty()) return "Integer(0)";
  return terms.size() == 1 ? terms.front() : fmt::format("Add({})", fmt::join(terms, ", "));
}

SizeTexts::Text SizeTexts::of(std::string_view dim_param) {
  ir::Dim dim = dims_.from_dim_param(dim_param);
  if (dim.is_unknown()) dim = dims_.named("size");
  const auto example =
      dims_.evaluate(dim, [&](std::string_view name) { return std::optional(example_of(std::string(name))); });
  return {sum(dim), example.value_or(1)};
}

}  // namespace onnxkit::pt2
