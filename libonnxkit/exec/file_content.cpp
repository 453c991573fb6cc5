#include "libonnxkit/exec/file_content.h"

#include <array>

#include "libonnxkit/formats/frame/registry.h"
#include "libonnxkit/wire/binary/likeness.h"

namespace onnxkit::exec {
namespace {

constexpr const char* accepted =
    "an input takes a .npy or .npz file, a tensor in protobuf (.pb), a PNG or JPEG picture";

/// What readers say of a file that may be of another kind.
bool may_be_of_another_kind(std::string_view code) {
  static constexpr std::array codes = {"truncated-file", "malformed-protobuf", "malformed-npz", "nesting-depth",
                                       "tensor-type"};
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

Error not_values(const std::string& what, std::string help) {
  Error error = make_error("not-onnx", "not a file of values: this looks like " + what);
  error.diagnostic.help = std::move(help);
  return error;
}

}  // namespace

Error content_error(const std::shared_ptr<const MappedFile>& file, Error error) {
  const std::string_view code = error.diagnostic.code;
  if (!may_be_of_another_kind(code)) return error;
  if (wire::looks_like_model(file->view()))
    return not_values("an ONNX model", std::string("a model is given without -i; ") + accepted);
  if (file->view().starts_with("PK")) {
    if (code == "malformed-npz") return error;
    return not_values("an archive of arrays (.npz)", "an archive names its inputs: give it without NAME=, as -i FILE");
  }
  const formats::Format* other = formats::registry().recognised({.path = {}, .file = file});
  return other && code != "tensor-type" ? not_values(other->title, accepted) : error;
}

}  // namespace onnxkit::exec
