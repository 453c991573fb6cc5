#pragma once

#include <initializer_list>
#include <map>
#include <string_view>
#include <vector>

#include "converters/foreign/import.h"

namespace onnxkit::tflite {

/// How operators of TensorFlow Lite are written in ONNX, and what mappings call their inputs. A name that ends in "..." is the list of
/// all inputs from there on.
class Mappings final : public foreign::Mappings {
 public:
  using Names = std::vector<std::string_view>;

  void add(std::string_view op, std::initializer_list<std::string_view> inputs, foreign::MapNode map) {
    foreign::Mappings::add(op, map);
    inputs_.insert_or_assign(op, Names(inputs));
  }
  void add_all(std::initializer_list<std::string_view> ops, std::initializer_list<std::string_view> inputs,
               foreign::MapNode map) {
    for (const std::string_view op : ops) add(op, inputs, map);
  }
  /// Empty for operators without a mapping.
  const Names& inputs_of(std::string_view op) const {
    static const Names none;
    const auto found = inputs_.find(op);
    return found == inputs_.end() ? none : found->second;
  }

 private:
  std::map<std::string_view, Names> inputs_;
};

void register_all_tflite_mappings(Mappings& mappings);

}  // namespace onnxkit::tflite
