#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "libonnxkit/spec/op_schema.h"
#include "onnxkit/result.h"

namespace onnxkit::spec {

/// Schemas from a YAML file, in the form of docs/schemas.md.
class SchemaPack {
 public:
  struct Storage;

  /// `source_name` stands for the file in messages: "pack.yaml:12: ...".
  static Result<SchemaPack> from_yaml(std::string_view text, std::string_view source_name);
  static Result<SchemaPack> from_file(const std::filesystem::path& path);
  std::string_view domain() const;
  /// Sorted by (name, since_version).
  std::span<const OpSchema> schemas() const;
  SchemaPack(SchemaPack&&) noexcept;
  SchemaPack& operator=(SchemaPack&&) noexcept;
  ~SchemaPack();

 private:
  explicit SchemaPack(std::unique_ptr<Storage> storage);
  std::unique_ptr<Storage> storage_;
};

}  // namespace onnxkit::spec
