// What is no model, but is given for one: containers of several formats, failed downloads, other files.
#include "libonnxkit/formats/frame/registry.h"
#include "libonnxkit/wire/text/looks.h"

namespace onnxkit::formats {
namespace {

using namespace std::string_view_literals;

Match certain_if(bool condition) { return condition ? Match::certain : Match::no; }

Match detect_zeros(const Source& source) {
  constexpr std::size_t enough = 4096;
  const std::string_view start = source.bytes().substr(0, enough);
  return start.size() == enough && start.find_first_not_of('\0') == start.npos ? Match::possible : Match::no;
}

Match detect_text(const Source& source) { return wire::looks_like_text(source.bytes()) ? Match::weak : Match::no; }

}  // namespace

void register_other_files(Registry& registry);
void register_other_files(Registry& registry) {
  const auto add = [&](const char* title, Match (*detect)(const Source&)) {
    registry.add({.title = title, .detect = detect});
  };
  add("a zip archive (a PyTorch checkpoint, a .npz or a packed model?)",
      [](const Source& source) { return certain_if(source.has("PK\x03\x04"sv)); });
  add("an HDF5 file (a Keras model?)", [](const Source& source) { return certain_if(source.has("\x89HDF\r\n"sv)); });
  add("a tar archive", [](const Source& source) { return certain_if(source.has("ustar"sv, 257)); });
  add("a model in ONNX Runtime's own format (.ort)",
      [](const Source& source) { return certain_if(source.has("ORTM"sv, 4)); });
  add("a GGUF file", [](const Source& source) { return certain_if(source.has("GGUF"sv)); });
  add("gzip-compressed data", [](const Source& source) { return certain_if(source.has("\x1f\x8b"sv)); });
  add("Zstandard-compressed data", [](const Source& source) { return certain_if(source.has("\x28\xb5\x2f\xfd"sv)); });
  add("a NumPy array (.npy)", [](const Source& source) { return certain_if(source.has("\x93NUMPY"sv)); });
  add("a Python pickle (an old PyTorch checkpoint?)",
      [](const Source& source) { return certain_if(source.has("\x80\x02"sv)); });
  add("a Python pickle", [](const Source& source) { return certain_if(source.has("\x80\x04"sv)); });
  add("a safetensors file", [](const Source& source) { return certain_if(source.has("{\""sv, 8)); });
  add("a Git LFS pointer; `git lfs pull` fetches the model itself",
      [](const Source& source) { return certain_if(source.has("version https://git-lfs"sv)); });
  add("a web page; the download failed",
      [](const Source& source) { return certain_if(source.has("<!DOCTYPE html"sv) || source.has("<html"sv)); });
  add("XML (an OpenVINO model?)", [](const Source& source) { return certain_if(source.has("<?xml"sv)); });
  add("a PNG image", [](const Source& source) { return certain_if(source.has("\x89PNG"sv)); });
  add("a JPEG picture", [](const Source& source) { return certain_if(source.has("\xff\xd8\xff"sv)); });
  add("an ELF program or library", [](const Source& source) {
    return certain_if(
        source.has("\x7f"
                   "ELF"sv));
  });
  add("an incomplete download: it begins with zeros", detect_zeros);
  add("text", detect_text);
}

}  // namespace onnxkit::formats
