#include "libonnxkit/cuda/libraries/cudnn.h"

#include <array>

#include <fmt/core.h>

namespace onnxkit::cuda::cudnn {
namespace {

/// The first function that the library lacks; null when it has all.
const char* bind_all(const SharedLibrary& library, Functions& all) {
  const char* missing = nullptr;
  const auto bind = [&](auto& function, const char* name) {
    if (!library.bind(function, name) && !missing) missing = name;
  };
  bind(all.version, "cudnnGetVersion");
  bind(all.last_error, "cudnnGetLastErrorString");
  bind(all.create, "cudnnCreate");
  bind(all.destroy, "cudnnDestroy");
  bind(all.set_stream, "cudnnSetStream");
  bind(all.create_descriptor, "cudnnBackendCreateDescriptor");
  bind(all.destroy_descriptor, "cudnnBackendDestroyDescriptor");
  bind(all.finalize, "cudnnBackendFinalize");
  bind(all.set_attribute, "cudnnBackendSetAttribute");
  bind(all.get_attribute, "cudnnBackendGetAttribute");
  bind(all.execute, "cudnnBackendExecute");
  return missing;
}

}  // namespace

std::string text_of(const Functions& functions, Status status) {
  std::array<char, 512> message{};
  functions.last_error(message.data(), message.size());
  message.back() = '\0';
  const std::string_view said = message.data();
  return said.empty() ? fmt::format("status {}", status) : fmt::format("status {}, {}", status, said);
}

Result<Functions> open(const LibraryPlaces& places) {
  auto library = SharedLibrary::open(places, {"libcudnn.so.9"});
  if (!library) return library.error();
  Functions all;
  if (const char* missing = bind_all(*library, all))
    return make_error("not-supported", fmt::format("{} has no function {}", library->path(), missing));
  constexpr std::size_t first = 90000, behind_last = 100000;
  if (const std::size_t version = all.version(); version < first || version >= behind_last)
    return make_error("not-supported", fmt::format("{} is version {}; cuDNN 9 is known", library->path(), version));
  return all;
}

}  // namespace onnxkit::cuda::cudnn
