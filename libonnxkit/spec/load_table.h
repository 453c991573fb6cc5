#pragma once

#include <filesystem>
#include <span>

#include "libonnxkit/spec/op_table.h"
#include "onnxkit/result.h"

namespace onnxkit::spec {

/// The official operators, com.microsoft's, and those of the user's schema packs.
inline Result<spec::OpTable> load_table(std::span<const std::filesystem::path> schemas) {
  spec::OpTable table;
  for (const std::filesystem::path& path : schemas) {
    auto pack = spec::SchemaPack::from_file(path);
    if (!pack) return std::move(pack).error();
    table.add(*std::move(pack));
  }
  return table;
}

}  // namespace onnxkit::spec
