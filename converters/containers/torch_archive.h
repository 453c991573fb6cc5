#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "converters/containers/pickle.h"
#include "converters/containers/stored_tensors.h"
#include "converters/containers/strided.h"
#include "libonnxkit/wire/zip/archive.h"
#include "onnxkit/result.h"

namespace onnxkit::containers {

/// The folder that all entries of an archive of PyTorch lie in, with its slash.
std::string root_of(const wire::ZipArchive& archive);

/// What a deflated storage may take: numbers of networks hardly shrink, so that a small entry that promises gigabytes is no network.
std::uint64_t most_unpacked(const wire::ZipEntry& entry);

/// Error codes: malformed-archive, not-supported (the archive says that its numbers are not little-endian).
Result<void> check_byte_order(const wire::ZipArchive& archive, const std::string& root);

/// A tensor as a pickle describes it.
struct TensorRecord {
  std::string_view storage;  ///< the name of its entry, without the folder
  ElementType elem = ElementType::undefined;
  StridedView view;
  bool is_complete = false;  ///< all of it could be read
};

/// A zip archive that torch.save or torch.jit.save wrote: pickles in which tensors refer to entries with their elements.
class TorchArchive {
 public:
  /// Whether the archive has the pickle that all of them have.
  static bool matches(const wire::ZipArchive& archive);
  /// Error codes: malformed-archive, not-supported.
  static Result<TorchArchive> open(std::shared_ptr<const MappedFile> file);
  static Result<TorchArchive> open(wire::ZipArchive zip);

  /// The pickle in the entry of this name ("data.pkl"). Only tensors and plain containers may be in it, and objects of the archive's own classes
  /// when `has_classes`. Error codes: those of PickleDocument::parse, malformed-archive.
  Result<std::unique_ptr<const PickleDocument>> pickle(std::string_view name, bool has_classes) const;

  /// What a value of such a pickle says of a tensor; nothing when it is no tensor.
  static std::optional<TensorRecord> record_of(Pickle value);
  /// The tensor that a value of such a pickle describes, nothing when it is no tensor. Storages are entries of `folder`.
  Result<std::optional<StoredTensor>> tensor(Pickle value, std::string_view name, std::string_view folder = "data/");

  const wire::ZipArchive& zip() const { return zip_; }
  const std::string& root() const { return root_; }
  /// Of what the tensors that were asked for view into.
  const std::vector<std::shared_ptr<const MappedFile>>& files() const { return files_; }

 private:
  explicit TorchArchive(wire::ZipArchive zip)
      : zip_(std::move(zip)), root_(root_of(zip_)), budget_(zip_.bytes().size()) {
    files_.push_back(zip_.file());
  }
  Result<std::span<const std::byte>> storage(const std::string& path);

  wire::ZipArchive zip_;
  std::string root_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
  std::unordered_map<std::string, std::span<const std::byte>> unpacked_;
  CopyBudget budget_;
};

/// The tensors of a state_dict, of a checkpoint that has one, or of a TorchScript module, under their names in the module. Error codes: those of
/// TorchArchive, malformed-model, not-supported.
Result<StoredTensors> read_torch_weights(const std::shared_ptr<const MappedFile>& file);

}  // namespace onnxkit::containers
