#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnxkit/result.h"

namespace onnxkit::containers {

/// Keys in ascending order, with values that view into the file.
using SortedEntries = std::vector<std::pair<std::string, std::string_view>>;

/// All entries of a sorted string table, a file of blocks of entries whose keys share beginnings. Checksums of blocks are compared. Error
/// codes: malformed-model, not-supported (a compressed block).
Result<SortedEntries> read_sorted_table(std::string_view file);

}  // namespace onnxkit::containers
