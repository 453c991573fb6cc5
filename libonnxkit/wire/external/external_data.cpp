#include "libonnxkit/wire/external/external_data.h"

#include <sha1.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::wire {
namespace {

namespace fs = std::filesystem;

constexpr const char* outside_help = "--allow-outside-data permits it; use it only for models that you trust";

Error fault(ErrorCode code, std::string message, std::string expected = {}, std::string found = {},
            std::string help = {}) {
  Error error = make_error(code, std::move(message));
  error.diagnostic.expected = std::move(expected);
  error.diagnostic.found = std::move(found);
  error.diagnostic.help = std::move(help);
  return error;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || value < 0 || text.front() == '-')
    return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

Error bad_number(std::string_view key, std::string_view text) {
  return fault("external-range", "the " + std::string(key) + " of the external data is not a number of bytes",
               "a decimal number, not negative", quote(text));
}

/// Whether a folder called "snapshots" on the way is a link.
bool has_linked_snapshots(const fs::path& folder) {
  std::error_code ignored;
  fs::path way;
  for (const fs::path& step : fs::absolute(folder, ignored)) {
    way /= step;
    if (step == "snapshots" && fs::is_symlink(way, ignored)) return true;
  }
  return false;
}

/// <repository> for the real path of <repository>/snapshots/<revision>/..., else empty.
fs::path cache_repository(const fs::path& real_folder) {
  for (fs::path folder = real_folder; folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.parent_path().filename() == "snapshots") return folder.parent_path().parent_path();
  }
  return {};
}

/// blobs/<key> in the repository of the model's folder. The real path of a file names no links, so that neither of the folders is one.
std::optional<ResolvedLocation> cached_blob(const fs::path& folder, const fs::path& real_folder, const fs::path& named,
                                            const fs::path& target) {
  std::error_code ignored;
  const fs::path repository = cache_repository(real_folder);
  if (repository.empty() || target.parent_path() != repository / "blobs" || !fs::is_symlink(named, ignored) ||
      has_linked_snapshots(folder))
    return std::nullopt;
  return ResolvedLocation{.folder = repository, .relative = fs::path("blobs") / target.filename()};
}

Result<void> check_spelling(std::string_view location) {
  const fs::path path(location);
  if (location.find('\0') != location.npos)
    return fault("external-location", "the location contains a zero byte", {}, quote(location));
  if (path.is_absolute()) {
    return fault("external-location", "the location is an absolute path", "a path below the model's folder",
                 quote(location), outside_help);
  }
  const fs::path normal = path.lexically_normal();
  if (!normal.empty() && *normal.begin() == "..") {
    return fault("external-location", "the location leaves the model's folder", "a path below the model's folder",
                 quote(location), outside_help);
  }
  return {};
}

Error missing(std::string_view location, const fs::path& folder, const char* what) {
  return fault("external-missing", what, "a file in " + quote(folder.string()), quote(location));
}

/// `target` is the real path of `named`.
Result<ResolvedLocation> check_links(const fs::path& folder, const fs::path& named, const fs::path& target,
                                     std::string_view location) {
  std::error_code status;
  const fs::path real_folder = fs::canonical(folder, status);
  if (is_below(real_folder, target))
    return ResolvedLocation{.folder = real_folder, .relative = target.lexically_relative(real_folder)};
  if (auto blob = cached_blob(folder, real_folder, named, target)) return *std::move(blob);
  return fault("external-location", "a symbolic link leads the location out of the model's folder",
               "a file in " + quote(real_folder.string()), quote(location) + " is " + quote(target.string()),
               outside_help);
}

Error many_links(std::uint64_t links, std::string_view location) {
  return fault("external-location", "the external file has several hard links and may be any file",
               "a file with one hard link", std::to_string(links) + " hard links to " + quote(location),
               std::string("copy the file, or: ") + outside_help);
}

std::string sha1_of(std::string_view bytes) {
  SHA1_CTX context;
  SHA1Init(&context);
  constexpr std::size_t step = std::size_t{1} << 26;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const std::string_view piece = bytes.substr(at, step);
    SHA1Update(&context, reinterpret_cast<const std::uint8_t*>(piece.data()), piece.size());
  }
  std::array<char, SHA1_DIGEST_STRING_LENGTH> text{};
  SHA1End(&context, text.data());
  return text.data();
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

}  // namespace

bool is_below(const fs::path& folder, const fs::path& path) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

Result<ExternalReference> parse_external_data(const ir::Tensor& tensor) {
  ExternalReference reference;
  std::vector<std::string_view> seen;
  std::string_view offset = "0";
  std::optional<std::string_view> length;
  for (const ir::StringEntry& entry : tensor.external_data) {
    const std::string_view key = entry.key;
    const bool is_known =
        key == "location" || key == "offset" || key == "length" || key == "checksum" || key == "basepath";
    if (is_known && std::find(seen.begin(), seen.end(), key) != seen.end()) {
      return fault("external-key", "the external data repeats its " + std::string(key) + " twice");
    }
    seen.push_back(key);
    if (!is_known) reference.unknown_keys.push_back(key);
    if (key == "location") reference.location = entry.value;
    if (key == "offset") offset = entry.value;
    if (key == "length") length = entry.value;
    if (key == "checksum") reference.checksum = entry.value;
  }
  if (reference.location.empty()) return fault("external-location", "the external data has no location", "a location");
  const auto parsed_offset = parse_number(offset);
  if (!parsed_offset) return bad_number("offset", offset);
  reference.offset = *parsed_offset;
  if (length) {
    reference.length = parse_number(*length);
    if (!reference.length) return bad_number("length", *length);
  }
  return reference;
}

Result<ResolvedLocation> resolve_location(const fs::path& model_path, std::string_view location, bool allow_outside) {
  if (model_path.empty()) {
    return fault("external-missing", "the model does not come from a file, so its external data has no folder", {},
                 quote(location));
  }
  if (!allow_outside) {
    if (Result<void> spelled = check_spelling(location); !spelled) return std::move(spelled).error();
  }
  std::error_code status;
  fs::path folder = model_path.has_parent_path() ? model_path.parent_path() : fs::path(".");
  if (!fs::exists(folder / location, status) && fs::is_symlink(model_path, status)) {
    const fs::path linked = fs::canonical(model_path, status).parent_path();
    if (fs::exists(linked / location, status)) folder = linked;
  }
  const fs::path named = folder / location;
  const fs::path target = fs::canonical(named, status);
  if (status) return missing(location, folder, "the file of the external data does not exist");
  if (!fs::is_regular_file(target, status))
    return missing(location, folder, "the external data is not in a regular file");
  if (allow_outside) return ResolvedLocation{.folder = {}, .relative = target};
  return check_links(folder, named, target, location);
}

Result<std::shared_ptr<const MappedFile>> ResolvedLocation::open() const {
  return folder.empty() ? MappedFile::open(relative) : MappedFile::open_beneath(folder, relative);
}

ExternalData::ExternalData(fs::path model_path, ExternalDataOptions options)
    : model_path_(std::move(model_path)), options_(options) {}

ExternalData::Entry& ExternalData::entry(std::string_view location) {
  const auto known = entries_.find(location);
  if (known != entries_.end()) return known->second;
  auto open = [&]() -> Result<std::shared_ptr<const MappedFile>> {
    auto path = resolve_location(model_path_, location, options_.allow_outside);
    if (!path) return std::move(path).error();
    auto mapped = path->open();
    if (!mapped)
      return fault("external-missing", "the external file cannot be read: " + mapped.error().diagnostic.message, {},
                   quote(location));
    if (!options_.allow_outside && (*mapped)->hard_links() > 1) return many_links((*mapped)->hard_links(), location);
    return *std::move(mapped);
  };
  return entries_.emplace(std::string(location), Entry{open(), {}}).first->second;
}

Result<std::shared_ptr<const MappedFile>> ExternalData::file(std::string_view location) { return entry(location).file; }

std::vector<std::shared_ptr<const MappedFile>> ExternalData::files() const {
  std::vector<std::shared_ptr<const MappedFile>> files;
  for (const auto& [location, held] : entries_) {
    if (held.file) files.push_back(*held.file);
  }
  return files;
}

Result<void> ExternalData::check_sum(const ExternalReference& reference) {
  Entry& held = entry(reference.location);
  if (held.sha1.empty()) held.sha1 = sha1_of((*held.file)->view());
  if (lower(reference.checksum) == held.sha1) return {};
  return fault("external-checksum",
               "the external file " + quote(reference.location) + " does not match the checksum in the model",
               "SHA1 " + quote(reference.checksum), held.sha1);
}

Result<std::span<const std::byte>> ExternalData::bytes(const ir::Tensor& tensor) {
  const auto reference = parse_external_data(tensor);
  if (!reference) return reference.error();
  const auto needed = ir::expected_bytes(tensor);
  if (reference->length && needed && *reference->length != *needed) {
    return fault("external-size", "the length of the external data does not match its type and shape",
                 std::to_string(*needed) + " bytes", std::to_string(*reference->length) + " bytes");
  }
  const auto& opened = entry(reference->location).file;
  if (!opened) return opened.error();
  const std::span<const std::byte> all = (*opened)->bytes();
  const std::uint64_t rest = all.size() - std::min<std::uint64_t>(reference->offset, all.size());
  const std::uint64_t size = reference->length.value_or(needed.value_or(rest));
  const auto end = checked_add(reference->offset, size);
  if (!end || *end > all.size()) {
    return fault("external-range", "the external data extends beyond the end of its file",
                 "at most " + std::to_string(all.size()) + " bytes in " + quote(reference->location),
                 std::to_string(size) + " bytes from byte " + std::to_string(reference->offset));
  }
  if (options_.verify_checksums && !reference->checksum.empty()) {
    if (Result<void> sum = check_sum(*reference); !sum) return std::move(sum).error();
  }
  return all.subspan(static_cast<std::size_t>(reference->offset), static_cast<std::size_t>(size));
}

}  // namespace onnxkit::wire
