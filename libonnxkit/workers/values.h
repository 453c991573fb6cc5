#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libonnxkit/workers/fields.h"
#include "libonnxkit/workers/segments.h"
#include "onnxkit/value.h"

// Values as messages carry them: a description in JSON, and bytes in segments.
namespace onnxkit::workers {

/// Describes values and gathers their bytes for one segment. The values must outlive it.
class ValueWriter {
 public:
  Json describe(const NamedValue& value);
  /// The bytes of all values that were described.
  Result<Descriptor> segment() const;

 private:
  Json describe(const Value& value);
  Json describe(const Tensor& tensor);
  std::span<const std::byte> packed(std::span<const std::string> strings);

  std::vector<Piece> pieces_;
  std::deque<std::vector<std::byte>> owned_;  ///< of strings
  std::uint64_t size_ = segment_alignment;    ///< not 0, so that it can be mapped
};

using Segments = std::vector<std::shared_ptr<const Segment>>;

/// The value that `description` means. Numbers are viewed in the segments, which they keep alive. A description that is wrong or reaches beyond its
/// segment is a fault of `fields`.
Value read_value(const Json& description, const Segments& segments, Fields& fields, const std::string& where);

/// The kind that a word of the protocol means, tensor for null.
ValueKind read_kind(const Json& word, Fields& fields, const std::string& where);
/// The element type of a number; undefined for null.
ElementType read_type(const Json& number, Fields& fields, const std::string& where);

}  // namespace onnxkit::workers
