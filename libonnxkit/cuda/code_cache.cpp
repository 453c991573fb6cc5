#include <sha2.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include <fmt/core.h>

#include "libonnxkit/base/system/atomic_file.h"
#include "libonnxkit/cuda/kernels.h"

namespace onnxkit::cuda {
namespace {

namespace fs = std::filesystem;

// A file: the mark, the SHA-256 of the code, the code.
constexpr std::string_view cache_mark = "onnxkit code 1\n\n";
constexpr std::size_t digest_bytes = SHA256_DIGEST_LENGTH;
constexpr std::uintmax_t most_code_bytes = std::uintmax_t{1} << 30;
constexpr std::string_view code_ending = ".code";

std::string digest_of(std::string_view text) {
  SHA2_CTX context;
  SHA256Init(&context);
  SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  std::array<std::uint8_t, digest_bytes> digest{};
  SHA256Final(digest.data(), &context);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

fs::path usual_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache) return fs::path(cache) / "onnxkit" / "cuda";
  const char* home = std::getenv("HOME");
  if (home && *home) return fs::path(home) / ".cache" / "onnxkit" / "cuda";
  return {};
}

/// Whether it is a name that this cache gives: what else lies in a user's folder is none of its business.
bool is_name_of_code(const std::string& name) {
  constexpr std::size_t digits = 2 * digest_bytes;
  return name.size() == digits + code_ending.size() && name.ends_with(code_ending) &&
         name.find_first_not_of("0123456789abcdef") == digits;
}

struct CodeFile {
  fs::path path;
  std::uintmax_t bytes = 0;
  fs::file_time_type used;
};

/// Those that another process removes meanwhile are left out.
std::vector<CodeFile> codes_in(const fs::path& folder) {
  std::vector<CodeFile> files;
  std::error_code status;
  for (fs::directory_iterator at(folder, status), end; !status && at != end; at.increment(status)) {
    if (!is_name_of_code(at->path().filename().string())) continue;
    std::error_code gone;
    CodeFile file{.path = at->path(), .bytes = at->file_size(gone), .used = {}};
    if (!gone) file.used = at->last_write_time(gone);
    if (!gone) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace

CodeCache::CodeCache(std::string_view where, std::uintmax_t most_bytes) : most_bytes_(most_bytes) {
  if (where == "off") return;
  folder_ = where.empty() ? usual_folder() : fs::path(where);
}

fs::path CodeCache::file_of(const std::string& key) const {
  std::string name;
  for (const char c : digest_of(key)) name += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return folder_ / name.append(code_ending);
}

std::optional<std::string> CodeCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const fs::path path = file_of(key);
  std::error_code status;
  const std::uintmax_t size = fs::file_size(path, status);
  if (status || size > most_code_bytes || size < cache_mark.size() + digest_bytes) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  std::string content(static_cast<std::size_t>(size), '\0');
  if (!in.read(content.data(), static_cast<std::streamsize>(size)) || !content.starts_with(cache_mark))
    return std::nullopt;
  std::string code = content.substr(cache_mark.size() + digest_bytes);
  if (digest_of(code) != content.substr(cache_mark.size(), digest_bytes)) return std::nullopt;
  fs::last_write_time(path, fs::file_time_type::clock::now(), status);  // a folder that is only read stays as it is
  return code;
}

Result<void> CodeCache::keep(const std::string& key, const std::string& code) const {
  if (folder_.empty()) return {};
  std::error_code status;
  fs::create_directories(folder_, status);
  const auto failure = [this](std::string_view why) {
    return make_error("cannot-write", fmt::format("{}: {}", quote(folder_.string()), why));
  };
  if (status) return failure(status.message());
  const fs::path path = file_of(key);
  if (auto kept = replace_file(path, std::string(cache_mark) + digest_of(code) + code); !kept)
    return failure(kept.error().diagnostic.message);
  make_room(path);
  return {};
}

void CodeCache::make_room(const fs::path& newest) const {
  std::vector<CodeFile> files = codes_in(folder_);
  std::uintmax_t bytes = 0;
  for (const CodeFile& file : files) bytes += file.bytes;
  std::ranges::sort(files, {}, &CodeFile::used);
  for (const CodeFile& file : files) {
    if (bytes <= most_bytes_) return;
    if (file.path == newest) continue;
    std::error_code status;
    fs::remove(file.path, status);  // another process may have done it
    bytes -= file.bytes;
  }
}

}  // namespace onnxkit::cuda
