#include <sha2.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

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

}  // namespace

CodeCache::CodeCache(std::string_view where) {
  if (where == "off") return;
  folder_ = where.empty() ? usual_folder() : fs::path(where);
}

fs::path CodeCache::file_of(const std::string& key) const {
  std::string name;
  for (const char c : digest_of(key)) name += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return folder_ / (name + ".code");
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
  return code;
}

Result<void> CodeCache::keep(const std::string& key, const std::string& code) const {
  if (folder_.empty()) return {};
  std::error_code status;
  fs::create_directories(folder_, status);
  return replace_file(file_of(key), std::string(cache_mark) + digest_of(code) + code);
}

}  // namespace onnxkit::cuda
