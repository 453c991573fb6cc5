#include "converters/weights/file.h"

#include <string>

#include "converters/containers/safetensors.h"
#include "converters/containers/torch_archive.h"
#include "libonnxkit/wire/values/npz.h"

namespace onnxkit::weights {
namespace {

using containers::StoredTensor;
using containers::StoredTensors;

Result<StoredTensors> read_npz_weights(const std::shared_ptr<const MappedFile>& file, std::uint64_t most_bytes) {
  auto arrays = wire::read_npz(file, {}, most_bytes);
  if (!arrays) return std::move(arrays).error();
  StoredTensors stored;
  for (const NamedValue& array : *arrays) {
    const Tensor& tensor = array.value.tensor;
    if (array.value.kind != ValueKind::tensor || tensor.type() == ElementType::string) continue;
    const auto bytes = tensor.bytes();
    auto kept = MappedFile::from_bytes(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    stored.tensors.push_back({array.name, tensor.type(), tensor.dims(), kept->bytes()});
    stored.files.push_back(std::move(kept));
  }
  return stored;
}

Error unknown_weights(const MappedFile& file) {
  Error error = make_error("unsupported-format", "this is not a file of weights that is read");
  error.diagnostic.expected = "a state_dict of PyTorch (.pt, .pth), safetensors or .npz";
  if (file.view().starts_with("\x80\x02"))
    error.diagnostic.help = "PyTorch before version 1.6 wrote it so: load it with torch.load and save it again";
  return error;
}

Result<StoredTensors> read_any(const std::shared_ptr<const MappedFile>& file, std::uint64_t most_bytes) {
  if (containers::is_safetensors(*file)) return containers::read_safetensors(file);
  if (!file->view().starts_with("PK")) return unknown_weights(*file);
  const auto zip = wire::ZipArchive::open(file);
  if (!zip) return zip.error();
  return containers::TorchArchive::matches(*zip) ? containers::read_torch_weights(file)
                                                 : read_npz_weights(file, most_bytes);
}

}  // namespace

Result<StoredTensors> read_weights_file(const std::filesystem::path& path, std::uint64_t most_bytes) {
  const auto file = MappedFile::open(path);
  if (!file) return file.error();
  auto stored = read_any(*file, most_bytes);
  if (stored) return stored;
  Error error = std::move(stored).error();
  error.diagnostic.location.file = path.string();
  return error;
}

}  // namespace onnxkit::weights
