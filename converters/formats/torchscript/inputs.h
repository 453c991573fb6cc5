#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "converters/containers/json_writer.h"
#include "converters/formats/torchscript/graph_writer.h"
#include "converters/formats/torchscript/module.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit::torchscript {

/// The arguments of `forward`: each tensor in them is an input of the graph, named after its place, "pair.0", "states.hidden".
class Inputs {
 public:
  Inputs(const Module& module, const std::map<std::string, InputShape>& shapes, foreign::Model& model,
         GraphWriter& writer)
      : module_(module), shapes_(shapes), model_(model), writer_(writer) {}

  /// Error codes: not-supported, usage, unknown-input.
  Result<std::vector<NamedItem>> read(const Function& forward);
  /// "rows=5,columns=3": what the trace has for the sizes that were given names.
  const std::string& traced_sizes() const { return traced_sizes_; }
  /// How containers hold the inputs, as .pt2 has it; empty when there are none.
  std::string structure() const { return has_containers_ ? structure_.text() : std::string(); }

 private:
  Result<void> check_names(const Function& forward) const;
  Result<Item> item_of(const Expression& type, const std::string& name, std::string_view place,
                       const TracedInput* traced);
  Result<Item> tensor_of(const std::string& name, std::string_view place, const TracedInput* traced);
  Result<Item> items_of(const Expression& type, const std::string& name, const TracedInput* traced);
  bool is_asked_for(std::string_view name) const;
  /// What follows the name and a dot in the shapes that are asked for, up to the next dot.
  std::vector<std::string> asked_parts(std::string_view name) const;

  const Module& module_;
  const std::map<std::string, InputShape>& shapes_;
  foreign::Model& model_;
  GraphWriter& writer_;
  containers::JsonWriter structure_;
  bool has_containers_ = false;
  std::set<std::string> used_;
  std::set<std::string_view> named_sizes_;
  std::string traced_sizes_;
};

}  // namespace onnxkit::torchscript
