#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/result.h"

namespace onnxkit {

/// Where the libraries of CUDA may lie.
struct LibraryPlaces {
  /// Folders in the order in which they are looked at; an empty one stands for the path of the loader.
  std::vector<std::filesystem::path> folders;
  /// The variable that names them all; empty for the usual ones.
  std::string named_by = {};

  /// The folders in ONNXKIT_CUDA_PATH, and nothing else where it is set. Else the loader's path, CUDA_HOME and /usr/local/cuda, the packages
  /// nvidia-* of the active Python: VIRTUAL_ENV, CONDA_PREFIX, and the one that the command `python` starts.
  static LibraryPlaces of_environment(std::string_view python);
};

/// A library that was opened. It stays loaded when this ends: NVIDIA's libraries do not all bear to be closed.
class SharedLibrary {
 public:
  /// The first of the names ("libcuda.so.1") that opens, in the order of the places, then of the names. Error missing-module: what was looked for, and
  /// what the loader said of a file that is there but does not open.
  static Result<SharedLibrary> open(const LibraryPlaces& places, std::initializer_list<std::string_view> names);

  /// Null when there is none.
  void* symbol(const char* name) const;
  /// Sets a pointer to a function. False when the library lacks it.
  template <class Function>
  bool bind(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr;
  }

  /// The file that the loader opened.
  const std::string& path() const { return path_; }

 private:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace onnxkit
