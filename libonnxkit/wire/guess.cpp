#include "libonnxkit/wire/guess.h"

#include <algorithm>

#include "libonnxkit/base/text/utf8.h"
#include "libonnxkit/wire/binary/cursor.h"
#include "libonnxkit/wire/binary/fields.h"
#include "libonnxkit/wire/binary/reader.h"

namespace onnxkit::wire {
namespace {

using namespace std::string_view_literals;

/// Notes whether a message type has a field of the number and wire type at hand.
class SignatureProbe {
 public:
  static constexpr bool reading = true;
  Tag tag;
  bool known = false;

  template <class T>
  void operator()(std::uint32_t number, const char*, T&) {
    if constexpr (std::is_same_v<T, std::optional<std::int64_t>> || std::is_same_v<T, std::optional<std::int32_t>>) {
      note(number, WireType::varint);
    } else {
      note(number, WireType::length);
      if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) note(number, WireType::varint);
    }
  }
  void packed(std::uint32_t number, const char*, ir::PackedField&, Packing) {
    for (const WireType type : {WireType::length, WireType::varint, WireType::fixed32, WireType::fixed64})
      note(number, type);
  }
  template <class Number>
  void one_of(std::uint32_t number_field, const char*, Number&, std::uint32_t text_field, const char*, Text&) {
    note(number_field, WireType::varint);
    note(text_field, WireType::length);
  }
  template <class T>
  void payload(std::uint32_t number, const char*, ir::Attribute&) {
    note(number, std::is_same_v<T, float>          ? WireType::fixed32
                 : std::is_same_v<T, std::int64_t> ? WireType::varint
                                                   : WireType::length);
  }
  template <ir::DeclaredType::Kind>
  void kind(std::uint32_t number, const char*, ir::DeclaredType&) {
    note(number, WireType::length);
  }
  template <class T>
  void value_name(std::uint32_t number, const char*, T&) {
    note(number, WireType::length);
  }
  template <class T>
  void value_names(std::uint32_t number, const char*, T&) {
    note(number, WireType::length);
  }
  void unknown(Text&) {}

 private:
  void note(std::uint32_t number, WireType type) { known = known || (tag.number == number && tag.type == type); }
};

struct Likeness {
  int known = 0;
  int strange = 0;
};

/// Compares the outermost fields, as far as they can be followed, with those of message type M.
template <class M>
Likeness likeness(std::string_view bytes) {
  Likeness result;
  M message;
  Cursor cursor(bytes);
  while (!cursor.at_end()) {
    SignatureProbe probe;
    if (cursor.tag(probe.tag) != Fault::none) return {result.known, result.strange + 1};
    fields(probe, message);
    ++(probe.known ? result.known : result.strange);
    if (cursor.skip(probe.tag, max_depth) != Fault::none) break;
  }
  return result;
}

template <class M>
bool is_wholly(std::string_view bytes) {
  const Likeness found = likeness<M>(bytes);
  return found.known > 0 && found.strange == 0;
}

struct Magic {
  std::size_t offset;
  std::string_view bytes;
  const char* name;
};

constexpr Magic magics[] = {
    {0, "PK\x03\x04"sv, "a zip archive (a PyTorch checkpoint, a .npz or a packed model?)"},
    {0, "\x89HDF\r\n"sv, "an HDF5 file (a Keras model?)"},
    {4, "TFL3"sv, "a TensorFlow Lite model"},
    {4, "ORTM"sv, "a model in ONNX Runtime's own format (.ort)"},
    {0, "GGUF"sv, "a GGUF file"},
    {0, "\x1f\x8b"sv, "gzip-compressed data"},
    {0, "\x28\xb5\x2f\xfd"sv, "Zstandard-compressed data"},
    {0, "\x93NUMPY"sv, "a NumPy array (.npy)"},
    {0, "\x80\x02"sv, "a Python pickle (an old PyTorch checkpoint?)"},
    {0, "\x80\x04"sv, "a Python pickle"},
    {8, "{\""sv, "a safetensors file"},
    {0, "version https://git-lfs"sv, "a Git LFS pointer; `git lfs pull` fetches the model itself"},
    {0, "<!DOCTYPE html"sv, "a web page; the download went wrong"},
    {0, "<html"sv, "a web page; the download went wrong"},
    {0, "<?xml"sv, "XML (an OpenVINO model?)"},
    {0, "\x89PNG"sv, "a PNG picture"},
    {0,
     "\x7f"
     "ELF"sv,
     "an ELF program or library"},
};

}  // namespace

bool looks_like_text(std::string_view bytes) {
  constexpr std::size_t enough = 512;
  constexpr std::size_t cut_character = 3;
  const std::string_view start = bytes.substr(0, enough);
  const bool has_controls = std::any_of(start.begin(), start.end(), [](char c) {
    return c == 0x7f || (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t');
  });
  const std::size_t invalid = find_invalid_utf8(start);
  return !start.empty() && !has_controls &&
         (invalid == start.npos || (start.size() == enough && invalid >= enough - cut_character));
}

bool looks_like_json(std::string_view bytes) {
  const auto first = bytes.find_first_not_of(" \t\r\n");
  return first != bytes.npos && bytes[first] == '{' && looks_like_text(bytes);
}

bool looks_like_text_syntax(std::string_view bytes) {
  if (!looks_like_text(bytes)) return false;
  const auto skip_space = [&] { bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size())); };
  skip_space();
  while (bytes.starts_with('#')) {
    bytes.remove_prefix(std::min(bytes.find('\n'), bytes.size()));
    skip_space();
  }
  if (!bytes.starts_with('<')) return false;
  bytes.remove_prefix(1);
  skip_space();
  constexpr std::string_view keys[] = {"ir_version",    "opset_import", "producer_name",  "producer_version",
                                       "model_version", "doc_string",   "metadata_props", "domain"};
  return std::any_of(std::begin(keys), std::end(keys), [&](std::string_view key) { return bytes.starts_with(key); });
}

namespace {

std::optional<std::string> guess_by_content(std::string_view bytes, bool is_text) {
  for (const Magic& magic : magics) {
    if (bytes.size() >= magic.offset && bytes.substr(magic.offset).starts_with(magic.bytes)) return magic.name;
  }
  constexpr std::size_t enough_zeros = 4096;
  const std::string_view start = bytes.substr(0, enough_zeros);
  if (start.size() == enough_zeros && start.find_first_not_of('\0') == start.npos)
    return "a download that broke off: it begins with zeros";
  if (!is_text) return std::nullopt;
  if (looks_like_json(bytes)) return "JSON";
  return looks_like_text_syntax(bytes) ? "the ONNX text form" : "text";
}

}  // namespace

std::optional<std::string> guess_other_format(std::string_view bytes, bool well_formed) {
  const Likeness model = likeness<ir::Model>(bytes);
  const bool is_text = looks_like_text(bytes);
  // A model may happen to be text, or to have the bytes of a magic, say in its producer's name.
  const bool may_be_model = model.known > 0 && (well_formed || (model.strange == 0 && !is_text));
  if (!may_be_model) {
    if (const auto name = guess_by_content(bytes, is_text)) return name;
  }
  if (model.strange == 0) return std::nullopt;
  if (is_wholly<ir::Tensor>(bytes)) return "a TensorProto (one tensor, such as test data)";
  if (is_wholly<ir::Graph>(bytes)) return "a GraphProto without its model";
  if (is_wholly<ir::Function>(bytes)) return "a FunctionProto without its model";
  if (is_wholly<ir::SparseTensor>(bytes)) return "a SparseTensorProto";
  if (model.known == 0) return "nothing that onnxkit knows";
  return std::nullopt;
}

}  // namespace onnxkit::wire
