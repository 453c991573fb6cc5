#include "converters/formats/tflite/options.h"

#include <bit>
#include <cstring>
#include <span>

#include <flatbuffers/flexbuffers.h>
#include <flatbuffers/minireflect.h>

#include "tflite_generated.h"

namespace onnxkit::tflite {
namespace {

using foreign::Argument;

/// Options are numbers, flags, names and lists of numbers.
class OptionVisitor final : public flatbuffers::IterationVisitor {
 public:
  std::vector<Argument> options;

  void Field(std::size_t, std::size_t, flatbuffers::ElementaryType, bool, const flatbuffers::TypeTable*,
             const char* name, const std::uint8_t*) override {
    name_ = name;
  }
  void StartVector() override { list_.emplace(); }
  void EndVector() override {
    options.push_back({std::move(*list_), name_});
    list_.reset();
  }
  void Bool(bool value) override { add(value); }
  void Char(std::int8_t value, const char*) override { add(std::int64_t{value}); }
  void Int(std::int32_t value, const char*) override { add(std::int64_t{value}); }
  void Float(float value) override { add(double{value}); }
  void String(const flatbuffers::String* value) override { add(std::string_view(value->c_str(), value->size())); }

 private:
  template <class T>
  void add(T value) {
    if (list_)
      list_->push_back({value});
    else
      options.push_back({value, name_});
  }

  std::string_view name_;
  std::optional<Argument::List> list_;
};

/// Three integers, the first of which is 1 for SAME and 2 for VALID.
std::vector<Argument> transposed_options(std::span<const std::uint8_t> bytes) {
  std::int32_t numbers[3];
  if (bytes.size() < sizeof(numbers) || std::endian::native != std::endian::little) return {};
  std::memcpy(numbers, bytes.data(), sizeof(numbers));
  std::vector<Argument> options;
  options.push_back({std::int64_t{numbers[0]} - 1, "padding"});
  options.push_back({std::int64_t{numbers[1]}, "stride_w"});
  options.push_back({std::int64_t{numbers[2]}, "stride_h"});
  return options;
}

/// Numbers and flags of a map; what else it has no mapping reads.
std::vector<Argument> mapped_options(std::span<const std::uint8_t> bytes) {
  std::vector<Argument> options;
  if (bytes.empty() || !flexbuffers::VerifyBuffer(bytes.data(), bytes.size())) return options;
  const flexbuffers::Reference root = flexbuffers::GetRoot(bytes.data(), bytes.size());
  if (!root.IsMap()) return options;
  const flexbuffers::TypedVector keys = root.AsMap().Keys();
  const flexbuffers::Vector values = root.AsMap().Values();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string_view name = keys[i].AsKey();
    if (values[i].IsBool()) options.push_back({values[i].AsBool(), name});
    if (values[i].IsInt()) options.push_back({std::int64_t{values[i].AsInt64()}, name});
    if (values[i].IsFloat()) options.push_back({values[i].AsDouble(), name});
  }
  return options;
}

}  // namespace

std::vector<Argument> custom_options_of(const schema::Operator& node, std::string_view op) {
  const flatbuffers::Vector<std::uint8_t>* stored = node.custom_options();
  if (!stored) return {};
  const std::span<const std::uint8_t> bytes(stored->data(), stored->size());
  if (op == "CUSTOM Convolution2DTransposeBias") return transposed_options(bytes);
  return op == "CUSTOM TFLite_Detection_PostProcess" ? mapped_options(bytes) : std::vector<Argument>();
}

std::vector<Argument> options_of(const schema::Operator& node) {
  OptionVisitor visitor;
  const void* table = node.builtin_options();
  const flatbuffers::TypeTable* types = schema::BuiltinOptionsTypeTable();
  const std::int64_t at = flatbuffers::LookupEnum(node.builtin_options_type(), types->values, types->num_elems);
  if (!table || at <= 0 || types->type_codes[at].sequence_ref < 0) return {};
  flatbuffers::IterateObject(static_cast<const std::uint8_t*>(table),
                             types->type_refs[types->type_codes[at].sequence_ref](), &visitor);
  return std::move(visitor.options);
}

}  // namespace onnxkit::tflite
