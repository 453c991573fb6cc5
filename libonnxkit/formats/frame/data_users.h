#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "libonnxkit/ir/model.h"

namespace onnxkit::formats {

/// The location in the one spelling that the functions here compare.
std::string normal_location(std::string_view location);

/// Locations of all data files that the model refers to.
std::set<std::string> data_locations(const ir::Model& model);
/// Those of the model at `path`, as far as there is one and it can be read.
std::set<std::string> data_locations(const std::filesystem::path& path);

/// Tells which data files the models of a folder use. The folder is looked at once, when first asked: all files named
/// as models are, each without its weights, and no more than some thousand of them.
class DataUsers {
 public:
  /// For the folder of `output`, a model that is itself not counted.
  explicit DataUsers(std::filesystem::path output) : output_(std::move(output)) {}

  /// A model that uses `data`; or, in a folder of too many models, one that may. Empty when there is none.
  std::filesystem::path other_user(const std::filesystem::path& data);

 private:
  void look_around();

  std::filesystem::path output_;
  bool has_looked_ = false;
  std::map<std::filesystem::path, std::filesystem::path> users_;  ///< of each data file, by its canonical path
  std::filesystem::path not_looked_at_;
};

}  // namespace onnxkit::formats
