#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "converters/foreign/import.h"

namespace onnxkit::saved_model {

/// How operators of TensorFlow are written in ONNX, and what mappings call their inputs. A name that ends in "..." is a list, which takes
/// what the names behind it leave. Operators of several outputs state their names in TensorFlow, by which functions refer to them.
class Mappings final : public foreign::Mappings {
 public:
  using Names = std::vector<std::string_view>;

  void add(std::string_view op, std::initializer_list<std::string_view> inputs, foreign::MapNode map,
           std::initializer_list<std::string_view> outputs = {}) {
    foreign::Mappings::add(op, map);
    inputs_.insert_or_assign(op, Names(inputs));
    if (outputs.size() != 0) outputs_.insert_or_assign(op, Names(outputs));
  }
  void add_all(std::initializer_list<std::string_view> ops, std::initializer_list<std::string_view> inputs,
               foreign::MapNode map) {
    for (const std::string_view op : ops) add(op, inputs, map);
  }
  /// Operators whose results are their inputs: a reader leaves them out.
  void add_passing(std::initializer_list<std::string_view> ops) {
    for (const std::string_view op : ops) passing_.insert(op);
  }
  bool passes_on(std::string_view op) const { return passing_.contains(op); }
  const std::set<std::string_view>& passing() const { return passing_; }
  /// Empty for operators without a mapping.
  const Names& inputs_of(std::string_view op) const { return names_in(inputs_, op); }
  const Names& outputs_of(std::string_view op) const { return names_in(outputs_, op); }

 private:
  static const Names& names_in(const std::map<std::string_view, Names>& names, std::string_view op) {
    static const Names none;
    const auto found = names.find(op);
    return found == names.end() ? none : found->second;
  }

  std::map<std::string_view, Names> inputs_, outputs_;
  std::set<std::string_view> passing_;
};

void register_all_saved_model_mappings(Mappings& mappings);

}  // namespace onnxkit::saved_model
