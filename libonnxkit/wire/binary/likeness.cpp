#include "libonnxkit/wire/binary/likeness.h"

#include "libonnxkit/wire/binary/cursor.h"
#include "libonnxkit/wire/binary/fields.h"
#include "libonnxkit/wire/text/looks.h"

namespace onnxkit::wire {
namespace {

/// Notes whether a message type has a field of the number and wire type at hand.
class SignatureProbe {
 public:
  static constexpr bool reading = true;
  Tag tag;
  bool known = false;

  template <class T>
  void operator()(std::uint32_t number, const char*, T&) {
    if constexpr (std::is_same_v<T, std::optional<std::int64_t>> || std::is_same_v<T, std::optional<std::int32_t>>) {
      note(number, WireType::varint);
    } else {
      note(number, WireType::length);
      if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) note(number, WireType::varint);
    }
  }
  void packed(std::uint32_t number, const char*, ir::PackedField&, Packing) {
    for (const WireType type : {WireType::length, WireType::varint, WireType::fixed32, WireType::fixed64})
      note(number, type);
  }
  template <class Number>
  void one_of(std::uint32_t number_field, const char*, Number&, std::uint32_t text_field, const char*, Text&) {
    note(number_field, WireType::varint);
    note(text_field, WireType::length);
  }
  template <class T>
  void payload(std::uint32_t number, const char*, ir::Attribute&) {
    note(number, std::is_same_v<T, float>          ? WireType::fixed32
                 : std::is_same_v<T, std::int64_t> ? WireType::varint
                                                   : WireType::length);
  }
  template <ir::DeclaredType::Kind>
  void kind(std::uint32_t number, const char*, ir::DeclaredType&) {
    note(number, WireType::length);
  }
  template <class T>
  void value_name(std::uint32_t number, const char*, T&) {
    note(number, WireType::length);
  }
  template <class T>
  void value_names(std::uint32_t number, const char*, T&) {
    note(number, WireType::length);
  }
  void unknown(Text&) {}

 private:
  void note(std::uint32_t number, WireType type) { known = known || (tag.number == number && tag.type == type); }
};

struct Likeness {
  int known = 0;
  int strange = 0;
};

/// Compares the outermost fields, as far as they can be followed, with those of message type M.
template <class M>
Likeness likeness(std::string_view bytes) {
  Likeness result;
  M message;
  Cursor cursor(bytes);
  while (!cursor.at_end()) {
    SignatureProbe probe;
    if (cursor.tag(probe.tag) != Fault::none) return {result.known, result.strange + 1};
    fields(probe, message);
    ++(probe.known ? result.known : result.strange);
    if (cursor.skip(probe.tag, max_depth) != Fault::none) break;
  }
  return result;
}

template <class M>
bool is_wholly(std::string_view bytes) {
  const Likeness found = likeness<M>(bytes);
  return found.known > 0 && found.strange == 0;
}

}  // namespace

bool looks_like_model(std::string_view bytes) {
  constexpr std::uint32_t graph_field = 7;
  if (!is_wholly<ir::Model>(bytes)) return false;
  Cursor cursor(bytes);
  Tag tag;
  while (!cursor.at_end() && cursor.tag(tag) == Fault::none) {
    if (tag.number == graph_field && tag.type == WireType::length) {
      std::string_view graph;
      return cursor.bytes(graph) != Fault::none || is_wholly<ir::Graph>(graph);
    }
    if (cursor.skip(tag, max_depth) != Fault::none) break;
  }
  return false;
}

std::optional<std::string> other_content(std::string_view bytes, bool well_formed, const NameContent& name_content) {
  const Likeness model = likeness<ir::Model>(bytes);
  // A model may happen to be text, or to have the first bytes of another format, say in its producer's name.
  const bool may_be_model = model.known > 0 && (well_formed || (model.strange == 0 && !looks_like_text(bytes)));
  if (!may_be_model && name_content) {
    if (auto name = name_content()) return name;
  }
  if (model.strange == 0) return std::nullopt;
  if (is_wholly<ir::Tensor>(bytes)) return "a TensorProto (one tensor, such as test data)";
  if (is_wholly<ir::Graph>(bytes)) return "a GraphProto without its model";
  if (is_wholly<ir::Function>(bytes)) return "a FunctionProto without its model";
  if (is_wholly<ir::SparseTensor>(bytes)) return "a SparseTensorProto";
  if (model.known == 0) return "an unknown format";
  return std::nullopt;
}

}  // namespace onnxkit::wire
