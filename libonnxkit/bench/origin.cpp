#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "libonnxkit/bench/bench.h"
#include "libonnxkit/formats/frame/data_users.h"
#include "libonnxkit/formats/frame/save.h"

namespace onnxkit::benching {
namespace {

namespace fs = std::filesystem;

/// FNV-1a, eight bytes at a time: it tells other data, not an adversary's. What is added in other pieces gives another one.
class Fingerprint {
 public:
  void add(std::span<const std::byte> bytes) {
    add_word(bytes.size());
    while (!bytes.empty()) {
      std::uint64_t word = 0;
      const std::size_t taken = std::min(bytes.size(), sizeof word);
      std::memcpy(&word, bytes.data(), taken);
      add_word(word);
      bytes = bytes.subspan(taken);
    }
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  void add_word(std::uint64_t word) {
    hash_ = (hash_ ^ word) * 0x100000001b3;
    hash_ ^= hash_ >> 29;  // the product alone carries nothing downwards
  }
  std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

void add_value(const Value& value, Fingerprint& fingerprint) {
  if (value.is_tensor() || value.kind == ValueKind::map) {
    fingerprint.add(value.tensor.bytes());
    for (const std::string& text : value.tensor.strings()) fingerprint.add(text);
  }
  for (const Value& item : value.items) add_value(item, fingerprint);
}

/// Size and time of change, for what is too large to read again.
void add_times(const fs::path& path, Fingerprint& hash) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return hash.add("missing");
  hash.add_word(static_cast<std::uint64_t>(found.st_size));
  hash.add_word(static_cast<std::uint64_t>(found.st_mtim.tv_sec));
  hash.add_word(static_cast<std::uint64_t>(found.st_mtim.tv_nsec));
}

void add_file(const fs::path& path, Fingerprint& hash) {
  constexpr std::uintmax_t most_read = std::uintmax_t{64} << 20;
  constexpr std::size_t block = std::size_t{1} << 16;
  std::error_code fault;
  const std::uintmax_t size = fs::file_size(path, fault);
  std::ifstream file(path, std::ios::binary);
  if (fault || size > most_read || !file) return add_times(path, hash);
  for (std::string bytes(block, '\0'); file; bytes.resize(block)) {
    file.read(bytes.data(), static_cast<std::streamsize>(block));
    bytes.resize(static_cast<std::size_t>(file.gcount()));
    hash.add(bytes);
  }
}

/// All files below it, in the order of their names.
void add_folder(const fs::path& folder, Fingerprint& hash) {
  std::vector<fs::path> files;
  std::error_code fault;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, fault);
  for (; !fault && at != fs::recursive_directory_iterator(); at.increment(fault)) files.push_back(at->path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    hash.add(file.lexically_relative(folder).string());
    if (fs::is_regular_file(file, fault)) add_times(file, hash);
  }
}

bool add_path(const fs::path& path, Fingerprint& hash) {
  std::error_code fault;
  if (fs::is_directory(path, fault)) return add_folder(path, hash), true;
  if (!fs::is_regular_file(path, fault)) return false;
  return add_file(path, hash), true;
}

/// Of a model that came through a pipe: what would be written.
bool add_model(const ir::Model& model, Fingerprint& hash) {
  SaveOptions options;
  options.format = "binary";
  const ByteSink sink = [&hash](std::string_view bytes) -> Result<void> {
    hash.add(bytes);
    return {};
  };
  return formats::save_model(model, sink, options) ? true : false;
}

}  // namespace

std::string model_state(const DiffSide& side) {
  Fingerprint hash;
  if (!side.model) return add_path(side.path, hash) ? hash.text() : std::string();
  const ir::Model& model = side.model->ir();
  if (!add_path(model.path, hash) && !add_model(model, hash)) return {};
  for (const std::string& location : formats::data_locations(model)) {
    hash.add(location);
    add_times(model.path.parent_path() / location, hash);
  }
  return hash.text();
}

std::string inputs_state(const InputSet& inputs) {
  Fingerprint fingerprint;
  for (const NamedValue& input : inputs.values) add_value(input.value, fingerprint);
  return fingerprint.text();
}

}  // namespace onnxkit::benching
