#include "libonnxkit/formats/frame/data_users.h"

#include <algorithm>
#include <iterator>

#include "libonnxkit/formats/frame/load.h"
#include "libonnxkit/formats/frame/registry.h"
#include "libonnxkit/ir/tensor/tensors.h"
#include "libonnxkit/wire/external/external_data.h"

namespace onnxkit::formats {
namespace {

namespace fs = std::filesystem;

/// Only forms of ONNX have data files.
bool is_named_as_model(const fs::path& path) {
  const std::vector<Format>& formats = registry().formats();
  return std::any_of(formats.begin(), formats.end(), [&](const Format& format) {
    return format.encode && (has_extension(path, format.extensions) || has_extension(path, format.shared_extensions));
  });
}

}  // namespace

std::string normal_location(std::string_view location) { return fs::path(location).lexically_normal().string(); }

std::set<std::string> data_locations(const ir::Model& model) {
  std::set<std::string> locations;
  ir::each_tensor(model, [&](const ir::Tensor& tensor, ir::TensorRole) {
    if (!tensor.is_external()) return;
    if (const auto reference = wire::parse_external_data(tensor))
      locations.insert(normal_location(reference->location));
  });
  return locations;
}

std::set<std::string> data_locations(const fs::path& path) {
  const auto source = open_source(path);
  if (!source) return {};
  ReadReport report;
  const auto model = load_model(*source, {}, report);
  return model ? data_locations(*model) : std::set<std::string>();
}

fs::path DataUsers::other_user(const fs::path& data) {
  if (!has_looked_) look_around();
  std::error_code status;
  const auto user = users_.find(fs::weakly_canonical(data, status));
  return user != users_.end() ? user->second : not_looked_at_;
}

void DataUsers::look_around() {
  constexpr std::size_t most_models = 1000;
  has_looked_ = true;
  const fs::path folder = output_.has_parent_path() ? output_.parent_path() : fs::path(".");
  std::error_code status;
  // Not fs::equivalent: a hard link to the output keeps the old model when the output is replaced.
  const fs::path itself = fs::weakly_canonical(output_, status);
  std::size_t count = 0;
  for (fs::directory_iterator at(folder, status); !status && at != fs::directory_iterator(); at.increment(status)) {
    const fs::path model = output_.parent_path() / at->path().filename();
    std::error_code unseen;
    if (!is_named_as_model(model) || !fs::is_regular_file(model, unseen) ||
        fs::weakly_canonical(model, unseen) == itself)
      continue;
    if (++count > most_models) {
      not_looked_at_ = model;
      return;
    }
    for (const std::string& location : data_locations(model))
      users_.emplace(fs::weakly_canonical(folder / location, unseen), model);
  }
}

}  // namespace onnxkit::formats
