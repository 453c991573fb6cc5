// The model's own fields: IR version, imported operator sets, graph, metadata.
#include <map>
#include <optional>
#include <set>

#include <fmt/core.h>

#include "checker/rule_registry.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::checker {
namespace {

void check_ir_version(RuleContext& context) {
  const ir::Model& model = context.model;
  if (!model.ir_version || *model.ir_version < 1) {
    context.error("ir-version", context.at_model("ir_version"), "the model has no IR version",
                  fmt::format("1 to {}", spec::newest_ir_version()),
                  model.ir_version ? std::to_string(*model.ir_version) : "nothing");
  } else if (*model.ir_version > spec::newest_ir_version()) {
    context.error("ir-version", context.at_model("ir_version"), "the IR version is newer than the newest known version",
                  fmt::format("at most {}", spec::newest_ir_version()), std::to_string(*model.ir_version));
  } else if (!model.functions.empty() && *model.ir_version < 8) {
    context.error("ir-version", context.at_model("ir_version"), "model-local functions were added in IR version 8",
                  "8 or more", std::to_string(*model.ir_version));
  }
}

template <class Locate>
void check_imports(RuleContext& context, std::span<const ir::OpsetImport> imports, const Locate& location) {
  std::map<std::string_view, std::optional<std::int64_t>> seen;
  for (std::size_t i = 0; i < imports.size(); ++i) {
    const ir::OpsetImport& import = imports[i];
    const std::string_view domain = ir::canonical_domain(import.domain);
    const std::string shown = domain.empty() ? "ai.onnx" : std::string(domain);
    const auto here = [&] {
      Location found = location();
      found.item = fmt::format("opset_import {}", i);
      found.item_name = import.domain;
      return found;
    };
    if (const auto [first, is_new] = seen.try_emplace(domain, import.version); !is_new) {
      const bool same = first->second == import.version;
      const std::string message =
          fmt::format("domain {} is imported twice{}", quote(shown), same ? ", with the same version" : "");
      if (same) {
        context.warning("opset-duplicate", here(), message, "one import per domain");
      } else {
        context.error("opset-duplicate", here(), message, "one import per domain",
                      fmt::format("versions {} and {}", first->second.value_or(0), import.version.value_or(0)));
      }
      continue;
    }
    const std::int32_t newest = spec::newest_opset(domain);
    if (import.version.value_or(0) < 1) {
      context.error("opset-unknown", here(), fmt::format("the import of {} has no version", quote(shown)), "1 or more",
                    import.version ? std::to_string(*import.version) : "nothing");
    } else if (newest > 0 && *import.version > newest) {
      context.error("opset-unknown", here(),
                    fmt::format("opset {} of {} is newer than the newest known opset", *import.version, quote(shown)),
                    fmt::format("at most {}, the newest of onnx {}", newest, spec::onnx_release()),
                    std::to_string(*import.version));
    }
  }
}

void check_metadata(RuleContext& context) {
  std::set<std::string_view> keys;
  for (const ir::StringEntry& entry : context.model.metadata_props) {
    if (!keys.insert(entry.key.view()).second) {
      context.error("metadata-duplicate", context.at_model("metadata_props", entry.key),
                    fmt::format("metadata key {} occurs twice", quote(entry.key)), "distinct keys");
    }
  }
}

void check_header(RuleContext& context) {
  const ir::Model& model = context.model;
  check_ir_version(context);
  if (model.opset_imports.empty() && model.ir_version.value_or(0) >= 3) {
    context.error("opset-import", context.at_model("opset_import"), "the model imports no operator set",
                  "an import of ai.onnx with its version", "nothing",
                  "check --fix adds an import that suits all operators");
  } else if (model.ir_version && *model.ir_version >= 1 && *model.ir_version < 3 && !model.opset_imports.empty()) {
    context.error("opset-import", context.at_model("opset_import"), "opset_import requires IR version 3 or later",
                  "no opset_import");
  }
  check_imports(context, model.opset_imports, [&] { return context.at_model(); });
  for (const ir::Function& function : model.functions)
    check_imports(context, function.opset_imports, [&] { return context.at_function(function); });
  check_metadata(context);
  if (!model.graph) context.error("no-graph", context.at_model("graph"), "the model has no graph");
}

}  // namespace

void register_header(RuleRegistry& registry) { registry.add(Stage::structure, check_header); }

}  // namespace onnxkit::checker
