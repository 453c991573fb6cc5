#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "converters/containers/json_writer.h"
#include "converters/formats/torchscript/graph_writer.h"
#include "converters/formats/torchscript/module.h"
#include "converters/formats/torchscript/settings.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit::torchscript {

/// The arguments of `forward`: each tensor in them is an input of the graph, named after its place, "pair.0", "states.hidden".
class Inputs {
 public:
  Inputs(const Module& module, const Settings& settings, foreign::Model& model, GraphWriter& writer)
      : module_(module), shapes_(settings.shapes), values_(settings.values), model_(model), writer_(writer) {}

  /// Error codes: not-supported, usage, unknown-input.
  Result<std::vector<NamedItem>> read(const Function& forward);
  /// "rows=5,columns=3": what the trace has for the sizes that were given names.
  const std::string& traced_sizes() const { return traced_sizes_; }
  /// How containers hold the inputs, as .pt2 has it; empty when there are none.
  const std::map<std::string, Item>& attributes() const { return attributes_; }
  /// {"count":"count","rate":{"=":8000}}: the attributes that the caller gave, each as an input or a value.
  const std::string& attribute_structure() const { return attribute_structure_; }
  /// The inputs that stand for buffers of the module.
  std::vector<foreign::ValueId> state() const;
  std::string structure() const { return has_containers_ ? structure_.text() : std::string(); }

 private:
  Result<void> check_names(const Function& forward) const;
  /// What the module has at a path, "sub.count"; nothing where there is none.
  containers::Pickle attribute_at(std::string_view path) const;
  Result<std::optional<Item>> set_argument(const Function::Parameter& parameter);
  Result<void> read_attributes(const Function& forward);
  Result<Item> set_attribute(const std::string& path);
  Result<Item> item_of(const Expression& type, const std::string& name, std::string_view place,
                       const TracedInput* traced);
  Result<Item> tensor_of(const std::string& name, std::string_view place, const TracedInput* traced);
  Result<Item> items_of(const Expression& type, const std::string& name, const TracedInput* traced);
  bool is_asked_for(std::string_view name) const;
  /// What follows the name and a dot in the shapes that are asked for, up to the next dot.
  std::vector<std::string> asked_parts(std::string_view name) const;

  const Module& module_;
  const std::map<std::string, InputShape>& shapes_;
  const std::map<std::string, std::string>& values_;
  foreign::Model& model_;
  GraphWriter& writer_;
  containers::JsonWriter structure_;
  bool has_containers_ = false;
  std::map<std::string, Item> attributes_;
  std::string attribute_structure_;
  std::set<std::string> used_;
  std::set<std::string_view> named_sizes_;
  std::string traced_sizes_;
};

}  // namespace onnxkit::torchscript
