#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "onnxkit/diff.h"

namespace onnxkit::tools {

/// What a side came to in one plain sentence, with what to make of it.
std::string diff_summary(const SideReport& side, const DiffReport& report);

/// A table for every side, then runtimes, failures, layers, and for every side its sentence.
std::string diff_text(const DiffReport& report, bool color);

/// docs/json/diff.schema.json
std::string diff_json(const DiffReport& report);

/// diff_json as an object; `with_pictures` adds what only plots need: pairs of elements and maps of classes, of the worst outputs.
nlohmann::ordered_json diff_object(const DiffReport& report, bool with_pictures);

/// One self-contained page with plots.
std::string diff_html(const DiffReport& report);

}  // namespace onnxkit::tools
