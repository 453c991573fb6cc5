#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/result.h"

namespace onnxkit::wire {

/// The entries of TensorProto.external_data, parsed.
struct ExternalReference {
  std::string_view location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;  ///< absent: what the shape asks for, up to the end of the file
  std::string_view checksum;
  std::vector<std::string_view> unknown_keys;
};

/// Fails with external-key (a key twice), external-location (none, or empty) or external-range (offset or length is no decimal number of
/// 63 bits).
Result<ExternalReference> parse_external_data(const ir::Tensor& tensor);

struct ExternalDataOptions {
  bool allow_outside = false;  ///< follow locations that leave the model's folder
  bool verify_checksums = false;
};

/// Finds the bytes of tensors that lie outside the model file, mapping each file once. Not thread-safe.
///
/// A location is relative to the folder of the model's path or, when that path is a symbolic link and has no such file beside it, to the
/// folder of the link's target. Without allow_outside a location must not leave that folder: no absolute path, no "..", no symbolic
/// link to elsewhere, and no file with several hard links, since an archive can carry a hard link to any file of the person who
/// unpacks it. One layout is recognised beyond that: in a Hugging Face cache a file of snapshots/<revision>/ may be a symbolic link
/// to a file directly in the cache's own blobs/, where neither folder is itself a link. The file is opened step by step without
/// following links, so that nobody can exchange it between the test and the use.
class ExternalData {
 public:
  explicit ExternalData(std::filesystem::path model_path, ExternalDataOptions options = {});

  /// The tensor's bytes, valid while this object or the file from `files` lives. Fails with the codes of parse_external_data,
  /// external-location, external-missing, external-range (beyond the end), external-size (length against type and shape) or
  /// external-checksum. Precondition: tensor.is_external().
  Result<std::span<const std::byte>> bytes(const ir::Tensor& tensor);

  /// The whole file that a location names.
  Result<std::shared_ptr<const MappedFile>> file(std::string_view location);
  /// Files that were opened so far.
  std::vector<std::shared_ptr<const MappedFile>> files() const;

 private:
  struct Entry {
    Result<std::shared_ptr<const MappedFile>> file;
    std::string sha1;  ///< lower-case hex, empty until asked for
  };
  Entry& entry(std::string_view location);
  Result<void> check_sum(const ExternalReference& reference);

  std::filesystem::path model_path_;
  ExternalDataOptions options_;
  std::map<std::string, Entry, std::less<>> entries_;
};

/// The file that a location names, and how it is reached.
struct ResolvedLocation {
  std::filesystem::path folder;    ///< empty: any file may be read
  std::filesystem::path relative;  ///< below the folder, without links; else the path itself

  std::filesystem::path path() const { return folder / relative; }
  Result<std::shared_ptr<const MappedFile>> open() const;
};

/// The file that a location names, if the rules of ExternalData allow it.
Result<ResolvedLocation> resolve_location(const std::filesystem::path& model_path, std::string_view location,
                                          bool allow_outside);

/// Both paths canonical: whether `path` is `folder` or lies in it.
bool is_below(const std::filesystem::path& folder, const std::filesystem::path& path);

}  // namespace onnxkit::wire
