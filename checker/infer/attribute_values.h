#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/node_attributes.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::checker {

/// "ints", "tensor"; for numbers that stand for no type, too.
std::string_view attribute_type_name(std::int32_t type);
/// Declared type, or what the payload shows where the file predates the type field; 0 when neither says.
std::int32_t effective_type(const ir::Attribute& attribute);

/// What is wrong with values of attributes, in the words of a finding.
struct AttributeFault {
  std::string message, expected, found, help;
};
/// One for each string that is none of those which the schema of this version allows. A later version may: `table` knows.
std::vector<AttributeFault> foreign_strings(const ir::Attribute& attribute, const spec::AttributeSchema& schema,
                                            const spec::OpSchema& op, const spec::OpTable& table);
/// The first later version of the operator of which `holds` is true; null when there is none.
const spec::OpSchema* later_version(const spec::OpTable& table, const spec::OpSchema& op,
                                    const std::function<bool(const spec::OpSchema&)>& holds);

/// auto_pad chooses the pads, so a node cannot give them as well.
std::optional<AttributeFault> pads_beside_auto_pad(const ir::Node& node, const spec::AttributeBindings* bindings);

}  // namespace onnxkit::checker
