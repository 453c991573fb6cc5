#pragma once

#include <string>
#include <string_view>

#include "converters/formats/pt2/program.h"
#include "libonnxkit/wire/zip/archive.h"
#include "onnxkit/result.h"

namespace onnxkit::pt2 {

/// Turns the program's parameters, buffers and constants, which are inputs of its graph, into tensors that view into the archive.
/// `root` is the folder of all entries, with its slash; `name` that of the program.
Result<void> add_weights(const wire::ZipArchive& archive, const std::string& root, const std::string& name,
                         Program& program);

/// The same for archives before torch 2.8, in which archives of torch.save hold the tensors.
Result<void> add_pickled_weights(const wire::ZipArchive& archive, const std::string& root, Program& program);

}  // namespace onnxkit::pt2
