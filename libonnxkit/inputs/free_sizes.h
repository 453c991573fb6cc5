#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checker/infer/inference.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/value.h"

namespace onnxkit::inputs {

/// Sizes for all that the inputs of a graph leave open.
struct ChosenSizes {
  std::map<std::string, std::int64_t> by_name;  ///< of named dimensions
  /// Of the graph's inputs, in their order, without symbols where the input is a tensor of known rank; else unknown.
  std::vector<checker::Type> input_types;
  /// "N = 1", and of dimensions without a name "axis 1 of input "x" = 8"; those that `fixed` states are left out.
  std::vector<std::string> chosen;
  bool chose_named = false;  ///< one that has a name is among them
  /// What nodes demand and no sizes were found for: "main / node 2 (Gemm) needs 8 = 10".
  std::vector<std::string> unmet;
};

/// Sizes that meet what the nodes demand of them (docs/run.md). `given`: in the order of the inputs, kind none where there is no value;
/// `fixed`: by name. Once `goes_on` says no it ends, with sizes that count for nothing; null: always yes.
ChosenSizes choose_sizes(const ir::Model& model, const spec::OpTable& table, std::span<const Value> given,
                         const std::map<std::string, std::int64_t>& fixed, const std::function<bool()>& goes_on = {});

/// The size that dimension `name` ("": without one) of an input has where no node demands another.
std::int64_t usual_size(std::string_view name, std::string_view input, std::size_t axis, std::size_t rank);
/// True when `name` contains one of the words in whatever case.
bool mentions(std::string_view name, std::initializer_list<std::string_view> words);

}  // namespace onnxkit::inputs
