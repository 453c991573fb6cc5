// What is no model, but is given for one: containers of several formats, failed downloads, other files.
#include <algorithm>
#include <string>

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

/// The start without blanks, in lower case.
std::string start_of_text(const Source& source) {
  constexpr std::size_t enough = 512;
  std::string_view start = source.bytes().substr(0, enough);
  start.remove_prefix(std::min(start.find_first_not_of(" \t\r\n"), start.size()));
  std::string lower(start);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

/// Pages for people, and the XML with which stores of files answer.
Match detect_answer_of_server(const Source& source) {
  const std::string start = start_of_text(source);
  const bool is_error = start.starts_with("<?xml") && start.find("<error>") != start.npos;
  return certain_if(is_error || start.starts_with("<!doctype html") || start.starts_with("<html"));
}

Match detect_webp(const Source& source) { return certain_if(source.has("RIFF"sv) && source.has("WEBP"sv, 8)); }

Match detect_text(const Source& source) { return wire::looks_like_text(source.bytes()) ? Match::weak : Match::no; }

}  // namespace

void register_other_files(Registry& registry);
void register_other_files(Registry& registry) {
  const auto add = [&](const char* title, const char* help, Match (*detect)(const Source&)) {
    registry.add({.title = title, .help = help, .detect = detect});
  };
  constexpr const char* unpack = "unpack it and give the file that is inside";
  constexpr const char* array = "an array is given for an input, run MODEL -i NAME=FILE";
  constexpr const char* picture = "PNG and JPEG pictures are given for an input, run MODEL -i NAME=FILE";
  constexpr const char* export_torch = "load it in PyTorch and export the model with torch.onnx.export";
  add("a zip archive (a PyTorch checkpoint, a .npz or a packed model?)",
      "unpack it if a model is inside; weights of PyTorch go into a model: onnxkit convert MODEL OUT --weights FILE",
      [](const Source& source) { return certain_if(source.has("PK\x03\x04"sv)); });
  add("an HDF5 file (a Keras model?)", "tf2onnx converts models of Keras",
      [](const Source& source) { return certain_if(source.has("\x89HDF\r\n"sv)); });
  add("a tar archive", unpack, [](const Source& source) { return certain_if(source.has("ustar"sv, 257)); });
  add("a model in ONNX Runtime's own format (.ort)", "give the .onnx file that it was made from",
      [](const Source& source) { return certain_if(source.has("ORTM"sv, 4)); });
  add("a GGUF file", "it has weights without a graph: export the model that it was made from to ONNX",
      [](const Source& source) { return certain_if(source.has("GGUF"sv)); });
  add("gzip-compressed data", unpack, [](const Source& source) { return certain_if(source.has("\x1f\x8b"sv)); });
  add("Zstandard-compressed data", unpack,
      [](const Source& source) { return certain_if(source.has("\x28\xb5\x2f\xfd"sv)); });
  add("a NumPy array (.npy)", array, [](const Source& source) { return certain_if(source.has("\x93NUMPY"sv)); });
  add("a Python pickle (an old PyTorch checkpoint?)", export_torch,
      [](const Source& source) { return certain_if(source.has("\x80\x02"sv)); });
  add("a Python pickle", export_torch, [](const Source& source) { return certain_if(source.has("\x80\x04"sv)); });
  add("a safetensors file",
      "it has weights without a graph, which go into a model: onnxkit convert MODEL OUT --weights FILE",
      [](const Source& source) { return certain_if(source.has("{\""sv, 8)); });
  add("a Git LFS pointer; `git lfs pull` fetches the model itself", "",
      [](const Source& source) { return certain_if(source.has("version https://git-lfs"sv)); });
  add("a web page; the download failed", "look at it in a browser, then download the file again",
      detect_answer_of_server);
  add("XML (an OpenVINO model?)", "give the .onnx file that it was made from",
      [](const Source& source) { return certain_if(source.has("<?xml"sv)); });
  add("a PNG image", picture, [](const Source& source) { return certain_if(source.has("\x89PNG"sv)); });
  add("a JPEG picture", picture, [](const Source& source) { return certain_if(source.has("\xff\xd8\xff"sv)); });
  add("a GIF picture", picture, [](const Source& source) { return certain_if(source.has("GIF8"sv)); });
  add("a WebP picture", picture, detect_webp);
  add("a PDF document", "", [](const Source& source) { return certain_if(source.has("%PDF-"sv)); });
  add("an ELF program or library", "", [](const Source& source) {
    return certain_if(
        source.has("\x7f"
                   "ELF"sv));
  });
  add("an incomplete download: it begins with zeros", "download it again", detect_zeros);
  add("text", "look into the file; the text form of ONNX begins with <ir_version: ...>", detect_text);
}

}  // namespace onnxkit::formats
