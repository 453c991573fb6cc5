#pragma once

#include <initializer_list>
#include <string_view>

#include "checker/infer/infer_context.h"
#include "checker/infer/shared/shape_rules.h"

// What operators of ai.onnx.ml have in common: rows of features, and lists given in one of several attributes.
namespace onnxkit::checker {

inline constexpr std::string_view ml_domain = "ai.onnx.ml";

/// Rows and features of an [N, C] input; a vector is one row. Unknown where the rank is, and for other ranks, which are reported.
struct Features {
  Dim rows, columns;
};
Features features_of(InferContext& context, std::size_t input);

/// The one attribute among `names` that is set. Reports exclusive-attributes when there are several, and missing-attribute when there is none
/// and `required`. Empty when none or several.
std::string_view one_attribute(InferContext& context, std::initializer_list<std::string_view> names, bool required);

/// Entries of a list or tensor attribute; nothing where it is absent or counts as such.
std::optional<std::size_t> attribute_length(InferContext& context, std::string_view name);

/// Reports shape-mismatch at the attribute unless it has `columns` entries or one.
void one_or_each(InferContext& context, std::string_view name, Dim columns);

}  // namespace onnxkit::checker
