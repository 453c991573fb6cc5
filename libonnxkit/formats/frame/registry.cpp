#include "libonnxkit/formats/frame/registry.h"

#include <algorithm>
#include <array>

#include "libonnxkit/base/text/extension.h"

namespace onnxkit::formats {

void register_all_formats(Registry& registry);  // written by CMake

namespace {

/// Binary ONNX has no detector: its reader says best what is wrong with a file that no other format claims.
constexpr std::string_view fallback = "binary";

/// Who claims the extension of a name, the strongest claim first.
constexpr std::array name_claims = {&Format::extensions, &Format::shared_extensions, &Format::output_extensions};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

}  // namespace

const Registry& registry() {
  static const Registry all = [] {
    Registry made;
    register_all_formats(made);
    return made;
  }();
  return all;
}

bool has_extension(const std::filesystem::path& path, const std::vector<std::string>& extensions) {
  return std::find(extensions.begin(), extensions.end(), lower_extension(path)) != extensions.end();
}

const Format* Registry::find(std::string_view name) const {
  const auto at = std::find_if(formats_.begin(), formats_.end(),
                               [&](const Format& format) { return !name.empty() && format.name == name; });
  return at != formats_.end() ? &*at : nullptr;
}

const Format* Registry::of_path(const std::filesystem::path& path) const {
  std::error_code status;
  if (std::filesystem::is_directory(path, status)) return best_match({.path = path, .file = nullptr}, false);
  for (const auto extensions : name_claims) {
    for (const Format& format : formats_)
      if (has_extension(path, format.*extensions)) return &format;
  }
  return nullptr;
}

const Format* Registry::best_match(const Source& source, bool only_readable) const {
  const Format* best = nullptr;
  Match best_match = Match::no;
  for (const Format& format : formats_) {
    if (!format.detect || source.is_folder() != format.is_folder || (only_readable && !format.read)) continue;
    const Match match = format.detect(source);
    if (match > best_match) best = &format, best_match = match;
  }
  return best;
}

const Format* Registry::to_read(const Source& source) const {
  const bool is_empty = !source.is_folder() && source.bytes().empty();
  const Format* best = is_empty ? nullptr : best_match(source, true);
  return best ? best : find(fallback);
}

const Format* Registry::to_write(const std::filesystem::path& path) const {
  for (const Format& format : formats_)
    if (format.can_write() && format.claims && format.claims(path)) return &format;
  for (const auto extensions : name_claims) {
    for (const Format& format : formats_)
      if (format.can_write() && format.gives(extensions) && has_extension(path, format.*extensions)) return &format;
  }
  return nullptr;
}

std::optional<std::string> Registry::title_of(const Source& source) const {
  const Format* best = recognised(source);
  return best ? std::optional(best->title) : std::nullopt;
}

bool Format::gives(std::vector<std::string> Format::*names) const {
  return !is_asked_for || names != &Format::shared_extensions;
}

FormatInfo Format::info() const {
  FormatInfo info{.name = name,
                  .title = title,
                  .extensions = extensions,
                  .shared_extensions = shared_extensions,
                  .is_onnx = encode != nullptr,
                  .is_folder = is_folder,
                  .can_read = read != nullptr,
                  .can_write = can_write(),
                  .backend = backend,
                  .takes_shapes = takes_shapes,
                  .companion = companion};
  for (const auto* more : {&shared_extensions, &output_extensions})
    info.extensions.insert(info.extensions.end(), more->begin(), more->end());
  info.shared_extensions.insert(info.shared_extensions.end(), output_extensions.begin(), output_extensions.end());
  return info;
}

std::string Registry::writable() const {
  std::string text;
  for (const Format& format : formats_) {
    if (!format.can_write()) continue;
    std::vector<std::string> names;
    for (const auto extensions : name_claims)
      for (const std::string& extension : format.gives(extensions) ? format.*extensions : std::vector<std::string>())
        names.push_back(extension.empty() ? "none" : extension);
    text += (text.empty() ? "" : ", ") + format.name + (names.empty() ? "" : " (" + joined(names) + ")");
  }
  return text;
}

std::string Registry::readable() const {
  std::string text;
  for (const Format& format : formats_)
    if (format.read) text += (text.empty() ? "" : ", ") + format.name;
  return text;
}

}  // namespace onnxkit::formats
