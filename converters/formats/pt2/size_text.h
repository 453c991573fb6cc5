#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/ir/dim/dim.h"

namespace onnxkit::pt2 {

/// Sizes as torch.export writes them: SymPy expressions with an example each.
class SizeTexts {
 public:
  /// Examples of named sizes, as the model was exported with; others get some.
  explicit SizeTexts(std::map<std::string, std::int64_t> examples) : examples_(std::move(examples)) {}

  struct Text {
    std::string expression;  ///< SymPy's srepr
    std::int64_t example = 1;
  };
  /// Of an expression in ONNX's dim_param form.
  Text of(std::string_view dim_param);
  /// The symbols that were written, in their order.
  const std::vector<std::string>& symbols() const { return symbols_; }

 private:
  std::string sum(ir::Dim dim);
  std::string factor(const ir::DimFactor& factor);
  std::string symbol(const std::string& name);
  std::int64_t example_of(const std::string& name);

  ir::DimPool dims_;
  std::map<std::string, std::int64_t> examples_;
  std::vector<std::string> symbols_;
};

}  // namespace onnxkit::pt2
