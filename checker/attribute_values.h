#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/node_attributes.h"

namespace onnxkit::checker {

/// "ints", "tensor"; for numbers that stand for no type, too.
std::string_view attribute_type_name(std::int32_t type);
/// Declared type, or what the payload shows where the file predates the type field; 0 when neither says.
std::int32_t effective_type(const ir::Attribute& attribute);

/// A string that is none of those which the schema allows, in the words of a finding.
struct ForeignString {
  std::string message, expected, found, help;
};
std::vector<ForeignString> foreign_strings(const ir::Attribute& attribute, const spec::AttributeSchema& schema);

/// The mode of auto_pad, where it chooses the pads and the node gives some as well; else "".
std::string_view auto_pad_beside_pads(const ir::Node& node, const spec::AttributeBindings* bindings);

}  // namespace onnxkit::checker
