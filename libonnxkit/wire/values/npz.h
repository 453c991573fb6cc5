#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/wire/values/npy.h"
#include "libonnxkit/wire/values/tensor_proto.h"

// Archives of arrays as numpy.savez and numpy.savez_compressed write them: a zip file of .npy files, each named after its array.
namespace onnxkit::wire {

/// NpyOptions::void_type of the array of a name; empty: undefined for all.
using VoidTypes = std::function<ElementType(std::string_view name)>;

/// Reads every array, in the order of the archive; names lack ".npy". Fails with malformed-npz (no zip file, a damaged, encrypted or foreign
/// member, a name twice, or more data than such a file should unpack to), or as read_npy does, location.item_name naming the array.
/// Fails with memory-limit before it unpacks anything when all arrays together would take more than `most_bytes`; 0: a quarter of the memory.
Result<std::vector<NamedValue>> read_npz(const std::shared_ptr<const MappedFile>& file,
                                         const VoidTypes& void_types = {}, std::uint64_t most_bytes = 0);

/// The name that write_npz gives the member of an array, without ".npy": what would lead out of a folder when the archive is unpacked, and
/// what members cannot have, is written as % and two digits. And the name that it stands for; nullopt for a name that is none of these.
std::string member_name(std::string_view name);
std::optional<std::string> named_by_member(std::string_view member);

struct NpzOptions {
  bool compress = false;
};

/// The bytes of an archive. Tensors are written as by write_npy. Elements of a sequence become the arrays name.0, name.1 and so on, those of
/// an optional name.0 or nothing, a map name.keys and name.values. Fails with unsupported-npy.
Result<std::string> write_npz(std::span<const NamedValue> values, const NpzOptions& options = {});

}  // namespace onnxkit::wire
