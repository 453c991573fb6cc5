#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/spec/op_schema.h"

// What differs in the signatures of two versions of an operator. A version can also change meaning alone; of that the
// schemas say nothing.
namespace onnxkit::spec {

enum class ChangeKind {
  deprecated,
  restored,
  added,
  removed,
  renamed,
  became_optional,
  became_required,
  became_variadic,
  became_single,     ///< was variadic
  count_changed,     ///< least number of values of a variadic input or output
  became_input,      ///< was an attribute
  became_attribute,  ///< was an input
  type_changed,      ///< of an attribute: float, ints ...
  default_changed,
  values_changed,  ///< strings that an attribute may be
  types_added,
  types_removed,
  type_tied,   ///< now has the type of another input or output
  type_freed,  ///< no longer needs the type of another input or output
  body_added,  ///< is now a function of other operators
  body_removed,
};

/// Stable name for programs: "default-changed".
std::string_view name_of(ChangeKind kind);

struct SchemaChange {
  ChangeKind kind;
  std::string subject;      ///< "input roi", "attribute mode", "inputs X, W and output Y"; empty: the operator itself
  std::string before = {};  ///< where the kind has one: old default, old name, values no longer allowed ...
  std::string after = {};
  TypeSet types = {};  ///< of types_added and types_removed

  bool operator==(const SchemaChange&) const = default;
};

/// One line for people: "attribute axis: the default was 1, is -1".
std::string describe(const SchemaChange& change);

std::vector<SchemaChange> changes_between(const OpSchema& before, const OpSchema& after);

}  // namespace onnxkit::spec
