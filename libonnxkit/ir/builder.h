#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "onnxkit/element_type.h"

// Nodes, attributes and constants made from plain data. Text and bytes go into the string pool of the model that they are made
// for, which is the only thing that changes: what is made belongs to no graph yet (see ir/patch.h).
namespace onnxkit::ir {

/// An attribute as data.
struct Attr {
  std::string_view name;
  std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
               std::vector<std::string>>
      value;
};

[[nodiscard]] Attribute make_attribute(Model& model, const Attr& attribute);
[[nodiscard]] Attribute make_attribute(Model& model, std::string_view name, Tensor tensor);
[[nodiscard]] Attribute make_attribute(Model& model, std::string_view name, std::unique_ptr<Graph> graph);

/// A node of ai.onnx. The domain of others is set afterwards.
[[nodiscard]] Node make_node(Model& model, std::string_view op_type, std::vector<ValueId> inputs,
                             std::vector<ValueId> outputs, const std::vector<Attr>& attributes = {});

/// A tensor of elements that lie as in raw_data. The sizes are taken as they are.
[[nodiscard]] Tensor make_tensor(Model& model, ElementType type, std::vector<std::int64_t> dims,
                                 std::span<const std::byte> raw);
/// Vectors of one axis.
[[nodiscard]] Tensor make_tensor(Model& model, std::span<const std::int64_t> values);
[[nodiscard]] Tensor make_tensor(Model& model, std::span<const float> values);

/// Names of values that no graph of the model uses yet, whatever its scope. Looks through the model when first asked; names that
/// others intern later are not known to it.
class FreshNames {
 public:
  explicit FreshNames(Model& model) : model_(model) {}

  /// `stem`, or `stem` with a number.
  Text make(std::string_view stem);

 private:
  void fill();

  Model& model_;
  bool is_filled_ = false;
  std::unordered_set<std::string_view> names_;
  std::unordered_map<std::string, std::size_t> next_;  ///< by stem: the number to try first
};

}  // namespace onnxkit::ir
