#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/base/system/mapped_file.h"
#include "onnxkit/element_type.h"
#include "onnxkit/result.h"

namespace onnxkit::saved_model {

/// A tensor of a bundle, with the bytes in place.
struct StoredTensor {
  ElementType elem = ElementType::undefined;
  std::vector<std::int64_t> dims;
  std::span<const std::byte> bytes;
};

/// The variables of a SavedModel: variables.index, a sorted table, tells where in variables.data-... each of them lies.
class VariablesBundle {
 public:
  /// Of the folder of a SavedModel. A model without variables has an empty bundle. Error codes: cannot-read, malformed-model, not-supported.
  static Result<VariablesBundle> open(const std::filesystem::path& model_folder);

  bool has(std::string_view key) const { return entries_.find(key) != entries_.end(); }
  /// One of them, its place and checksum compared. Error codes: cannot-read, malformed-model, not-supported.
  Result<StoredTensor> tensor(std::string_view key);
  /// The files that have been opened.
  std::vector<std::shared_ptr<const MappedFile>> files() const;

 private:
  Result<std::shared_ptr<const MappedFile>> shard(std::int64_t number);

  std::filesystem::path folder_;
  std::map<std::string, std::string, std::less<>> entries_;
  std::int64_t shards_ = 0;
  std::map<std::int64_t, std::shared_ptr<const MappedFile>> open_;
};

}  // namespace onnxkit::saved_model
