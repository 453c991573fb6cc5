#include "converters/formats/tflite/options.h"

#include <flatbuffers/minireflect.h>

#include "tflite_generated.h"

namespace onnxkit::tflite {
namespace {

using foreign::Argument;

/// Options are numbers, flags and lists of numbers.
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

}  // namespace

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
