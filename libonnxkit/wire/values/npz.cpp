#include "libonnxkit/wire/values/npz.h"

#include <minizip/zip.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/system/cgroup.h"
#include "libonnxkit/wire/values/npy_header.h"
#include "libonnxkit/wire/zip/archive.h"
#include "libonnxkit/wire/zip/memory_file.h"

namespace onnxkit::wire {
namespace {

Error malformed(std::string message, std::string found = {}) {
  Error error = make_error("malformed-npz", std::move(message));
  error.diagnostic.found = std::move(found);
  return error;
}

/// An error of the archive as one of the file of arrays.
Error as_npz(Error error) {
  if (error.diagnostic.code == "malformed-archive") error.diagnostic.code = "malformed-npz";
  return error;
}

/// The name of the array that an entry of the archive is.
Result<std::string> array_name(const ZipEntry& entry) {
  constexpr std::string_view ending = ".npy";
  if (!entry.name.ends_with(ending)) return malformed("a member of the archive is not an array", quote(entry.name));
  return entry.name.substr(0, entry.name.size() - ending.size());
}

/// Whether the arrays announce more bytes than may be held, or what is wrong with one. None can be larger than it announces.
std::optional<Error> exceeds(const ZipArchive& archive, std::uint64_t most) {
  std::uint64_t sum = 0;
  for (const ZipEntry& entry : archive.entries()) {
    const auto name = array_name(entry);
    if (!name) return name.error();
    sum = checked_add(sum, entry.size).value_or(UINT64_MAX);
  }
  if (sum <= most) return std::nullopt;
  Error error = make_error("memory-limit", "the arrays of the archive take more memory than allowed");
  error.diagnostic.expected = "at most " + std::to_string(most) + " bytes";
  error.diagnostic.found = std::to_string(sum) + " bytes";
  return error;
}

Error about(Error error, std::string_view name) {
  error.diagnostic.location.item = "array";
  error.diagnostic.location.item_name = std::string(name);
  return error;
}

/// The array of an entry. Its header is read before memory is taken for the rest.
Result<Tensor> read_array(const ZipArchive& archive, const ZipEntry& entry, const NpyOptions& options,
                          std::uint64_t most) {
  const auto start = archive.unpack_start(entry, longest_npy_header);
  if (!start) return as_npz(start.error());
  if (auto sound = check_npy_start(std::as_bytes(std::span(*start)), entry.size, options); !sound)
    return std::move(sound).error();
  auto content = archive.unpack(entry, most);
  if (!content) return as_npz(std::move(content).error());
  const auto owner = std::make_shared<const std::string>(*std::move(content));
  return read_npy(std::as_bytes(std::span(*owner)), owner, options);
}

bool add_member(zipFile zip, const std::string& name, std::string_view content, bool compress) {
  zip_fileinfo info{};
  info.dosDate = 1 << 21 | 1 << 16;  // 1980-01-01, the first day that zip knows
  constexpr std::size_t beyond_32_bits = 0xffffffff;
  const int wide = content.size() >= beyond_32_bits ? 1 : 0;
  const int level = compress ? Z_DEFAULT_COMPRESSION : 0;
  if (zipOpenNewFileInZip64(zip, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, compress ? Z_DEFLATED : 0, level,
                            wide) != ZIP_OK)
    return false;
  constexpr std::size_t step = std::size_t{1} << 30;
  bool written = true;
  for (std::size_t at = 0; written && at < content.size(); at += step) {
    const std::string_view part = content.substr(at, step);
    written = zipWriteInFileInZip(zip, part.data(), static_cast<unsigned>(part.size())) == ZIP_OK;
  }
  return zipCloseFileInZip(zip) == ZIP_OK && written;
}

/// A value as arrays of one name each.
void flatten(const std::string& name, const Value& value, std::vector<std::pair<std::string, Tensor>>& arrays) {
  if (value.kind == ValueKind::tensor) return void(arrays.emplace_back(name, value.tensor));
  if (value.kind == ValueKind::map) arrays.emplace_back(name + ".keys", value.tensor);
  for (std::size_t i = 0; i < value.items.size(); ++i)
    flatten(value.kind == ValueKind::map ? name + ".values" : fmt::format("{}.{}", name, i), value.items[i], arrays);
}

}  // namespace

std::string member_name(std::string_view name) {
  std::string out;
  const auto is_hex = [&](std::size_t at) {
    return at < name.size() && std::isxdigit(static_cast<unsigned char>(name[at]));
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    const bool starts_step = i == 0 || name[i - 1] == '/';
    const bool climbs = starts_step && name.substr(i, 2) == ".." && (i + 2 == name.size() || name[i + 2] == '/');
    const bool starts_root = byte == '/' && i == 0;
    const bool is_drive = byte == ':' && i == 1;
    const bool looks_escaped = byte == '%' && is_hex(i + 1) && is_hex(i + 2);
    if (climbs || starts_root || is_drive || looks_escaped || byte == '\\' || byte < 0x20 || byte == 0x7f)
      out += fmt::format("%{:02X}", byte);
    else
      out += name[i];
  }
  return out;
}

std::optional<std::string> named_by_member(std::string_view member) {
  std::string name;
  for (std::size_t i = 0; i < member.size(); ++i) {
    unsigned code = 0;
    const bool is_escape = member[i] == '%' && i + 2 < member.size() &&
                           std::from_chars(&member[i + 1], &member[i] + 3, code, 16).ptr == &member[i] + 3;
    name += is_escape ? static_cast<char>(code) : member[i];
    if (is_escape) i += 2;
  }
  if (name == member || member_name(name) != member) return std::nullopt;
  return name;
}

Result<std::vector<NamedValue>> read_npz(const std::shared_ptr<const MappedFile>& file, const VoidTypes& void_types,
                                         std::uint64_t most_bytes) {
  const auto archive = ZipArchive::open(file);
  if (!archive) return as_npz(archive.error());
  const std::uint64_t most = most_bytes > 0 ? most_bytes : usable_memory() / 4;
  if (auto error = exceeds(*archive, most)) return *std::move(error);
  std::vector<NamedValue> values;
  for (const ZipEntry& entry : archive->entries()) {
    auto name = array_name(entry);
    if (!name) return std::move(name).error();
    const ElementType void_type = void_types ? void_types(*name) : ElementType::undefined;
    auto tensor = read_array(*archive, entry, {.void_type = void_type}, most);
    if (!tensor) return about(std::move(tensor).error(), *name);
    values.push_back({*std::move(name), *std::move(tensor)});
  }
  return values;
}

Result<std::string> write_npz(std::span<const NamedValue> values, const NpzOptions& options) {
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (const NamedValue& named : values) flatten(named.name, named.value, arrays);
  std::string bytes;
  MemoryFile memory{.bytes = {}, .written = &bytes};
  zlib_filefunc64_def calls = callbacks(memory);
  const zipFile zip = zipOpen2_64("npz", APPEND_STATUS_CREATE, nullptr, &calls);
  std::optional<Error> error;
  for (const auto& [name, tensor] : arrays) {
    const auto content = write_npy(tensor);
    if (!content) error = about(content.error(), name);
    if (content && !add_member(zip, member_name(name) + ".npy", *content, options.compress))
      error = about(make_error("unsupported-npy", "the archive cannot store this array"), name);
    if (error) break;
  }
  const bool closed = zipClose(zip, nullptr) == ZIP_OK;
  if (error) return *std::move(error);
  if (!closed) return make_error("unsupported-npy", "the archive cannot be written");
  return bytes;
}

}  // namespace onnxkit::wire
