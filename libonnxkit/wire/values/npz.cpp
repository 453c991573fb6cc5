#include "libonnxkit/wire/values/npz.h"

#include <minizip/unzip.h>
#include <minizip/zip.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/system/cgroup.h"

namespace onnxkit::wire {
namespace {

Error malformed(std::string message, std::string found = {}) {
  Error error = make_error("malformed-npz", std::move(message));
  error.diagnostic.found = std::move(found);
  return error;
}

/// A file in memory behind minizip's callbacks: `bytes` to read from, or `written` to write to.
struct MemoryFile {
  std::string_view bytes;
  std::string* written = nullptr;
  std::uint64_t at = 0;

  std::uint64_t size() const { return written ? written->size() : bytes.size(); }
};

MemoryFile& memory_file(void* stream) { return *static_cast<MemoryFile*>(stream); }

zlib_filefunc64_def callbacks(MemoryFile& file) {
  zlib_filefunc64_def calls{};
  calls.opaque = &file;
  calls.zopen64_file = [](void* opaque, const void*, int) { return opaque; };
  calls.zread_file = [](void*, void* stream, void* buffer, uLong size) -> uLong {
    MemoryFile& f = memory_file(stream);
    const std::string_view all = f.written ? std::string_view(*f.written) : f.bytes;
    const std::string_view part = f.at < all.size() ? all.substr(f.at, size) : std::string_view();
    std::copy(part.begin(), part.end(), static_cast<char*>(buffer));
    f.at += part.size();
    return static_cast<uLong>(part.size());
  };
  calls.zwrite_file = [](void*, void* stream, const void* buffer, uLong size) -> uLong {
    MemoryFile& f = memory_file(stream);
    if (f.at + size > f.written->size()) f.written->resize(f.at + size);
    f.written->replace(f.at, size, static_cast<const char*>(buffer), size);
    f.at += size;
    return size;
  };
  calls.ztell64_file = [](void*, void* stream) -> ZPOS64_T { return memory_file(stream).at; };
  calls.zseek64_file = [](void*, void* stream, ZPOS64_T offset, int origin) -> long {
    MemoryFile& f = memory_file(stream);
    const std::uint64_t base = origin == ZLIB_FILEFUNC_SEEK_CUR   ? f.at
                               : origin == ZLIB_FILEFUNC_SEEK_END ? f.size()
                                                                  : 0;
    const auto target = checked_add<std::uint64_t>(base, offset);
    if (!target || *target > f.size()) return -1;
    f.at = *target;
    return 0;
  };
  calls.zclose_file = [](void*, void*) { return 0; };
  calls.zerror_file = [](void*, void*) { return 0; };
  return calls;
}

/// The entries that the record at the end of a zip file announces; nullopt without a record that reaches exactly to the end. minizip takes a
/// cut one for whole.
std::optional<std::uint32_t> announced_entries(std::string_view file) {
  constexpr std::string_view signature = "PK\5\6";
  constexpr std::size_t record = 22, longest_comment = 0xffff;
  const auto number = [&](std::size_t at) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(file[at]) | static_cast<unsigned char>(file[at + 1])
                                                                                 << 8);
  };
  for (std::size_t back = record; back <= std::min(file.size(), record + longest_comment); ++back) {
    const std::size_t at = file.size() - back;
    if (file.substr(at, signature.size()) == signature && number(at + 20) == back - record) return number(at + 10);
  }
  return std::nullopt;
}

struct Closer {
  void operator()(void* zip) const { unzClose(zip); }
};
using Archive = std::unique_ptr<void, Closer>;

struct Member {
  std::string name;
  std::uint64_t size = 0;
};

Result<Member> member_at(unzFile zip) {
  unz_file_info64 info{};
  if (unzGetCurrentFileInfo64(zip, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK)
    return malformed("the directory of the archive is damaged");
  std::string name(info.size_filename, '\0');
  if (unzGetCurrentFileInfo64(zip, nullptr, name.data(), info.size_filename, nullptr, 0, nullptr, 0) != UNZ_OK)
    return malformed("the directory of the archive is damaged");
  constexpr std::string_view ending = ".npy";
  if (!name.ends_with(ending)) return malformed("a member of the archive is not an array", quote(name));
  constexpr uLong encrypted = 1;
  if ((info.flag & encrypted) != 0) return malformed("a member of the archive is encrypted", quote(name));
  return Member{name.substr(0, name.size() - ending.size()), info.uncompressed_size};
}

/// The content of the member at hand. Memory grows with what is really there, not with what the directory says.
Result<std::string> unpack(unzFile zip, const Member& member) {
  const Error damaged = malformed("a member of the archive is damaged", quote(member.name));
  if (unzOpenCurrentFile(zip) != UNZ_OK) return damaged;
  constexpr std::size_t step = std::size_t{1} << 20;
  std::string content;
  int got = 1;
  while (got > 0 && content.size() <= member.size) {
    const std::size_t before = content.size();
    content.resize(before + static_cast<std::size_t>(std::min<std::uint64_t>(step, member.size - before + 1)));
    got = unzReadCurrentFile(zip, content.data() + before, static_cast<unsigned>(content.size() - before));
    content.resize(before + static_cast<std::size_t>(std::max(got, 0)));
  }
  const bool intact = unzCloseCurrentFile(zip) == UNZ_OK;  // compares the checksum
  if (got < 0 || !intact || content.size() != member.size) return damaged;
  return content;
}

/// Whether the members announce more bytes than may be held, or what is wrong with one. None can be larger than it announces.
std::optional<Error> exceeds(unzFile zip, std::uint64_t most) {
  std::uint64_t sum = 0;
  for (int status = unzGoToFirstFile(zip); status == UNZ_OK; status = unzGoToNextFile(zip)) {
    const auto member = member_at(zip);
    if (!member) return member.error();
    sum = checked_add(sum, member->size).value_or(UINT64_MAX);
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
  const auto announced = announced_entries(file->view());
  if (!announced) return malformed("the file is not a complete zip archive");
  if (*announced == 0) return std::vector<NamedValue>();
  MemoryFile memory{.bytes = file->view()};
  zlib_filefunc64_def calls = callbacks(memory);
  const Archive archive(unzOpen2_64("npz", &calls));
  if (!archive) return malformed("the directory of the archive is damaged");
  if (auto error = exceeds(archive.get(), most_bytes > 0 ? most_bytes : usable_memory() / 4)) return *std::move(error);
  std::vector<NamedValue> values;
  std::unordered_set<std::string> names;
  int status = unzGoToFirstFile(archive.get());
  for (; status == UNZ_OK; status = unzGoToNextFile(archive.get())) {
    auto member = member_at(archive.get());
    if (!member) return std::move(member).error();
    if (!names.insert(member->name).second) return malformed("two arrays have the same name", quote(member->name));
    auto content = unpack(archive.get(), *member);
    if (!content) return std::move(content).error();
    const auto owner = std::make_shared<const std::string>(*std::move(content));
    const ElementType void_type = void_types ? void_types(member->name) : ElementType::undefined;
    auto tensor = read_npy(std::as_bytes(std::span(*owner)), owner, {.void_type = void_type});
    if (!tensor) return about(std::move(tensor).error(), member->name);
    values.push_back({member->name, *std::move(tensor)});
  }
  unz_global_info64 info{};
  unzGetGlobalInfo64(archive.get(), &info);
  if (status != UNZ_END_OF_LIST_OF_FILE || info.number_entry != values.size())
    return malformed("the directory of the archive is damaged");
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
