#include "libonnxkit/wire/binary/writer.h"

#include <bit>
#include <concepts>

#include "libonnxkit/wire/binary/cursor.h"
#include "libonnxkit/wire/binary/fields.h"

namespace onnxkit::wire {
namespace {

constexpr std::size_t varint_size(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

/// First pass: how long each nested message is, in the order in which the second pass meets them.
class Measure {
 public:
  explicit Measure(std::vector<std::uint64_t>& sizes) : sizes_(sizes) {}

  void varint(std::uint64_t value) { total_ += varint_size(value); }
  template <class T>
  void fixed(T) {
    total_ += sizeof(T);
  }
  void bytes(std::string_view bytes) { total_ += bytes.size(); }
  template <class Body>
  void nested(Body&& body) {
    const std::size_t slot = sizes_.size();
    sizes_.push_back(0);
    const std::uint64_t before = total_;
    body();
    sizes_[slot] = total_ - before;
    varint(sizes_[slot]);
  }
  std::uint64_t total() const { return total_; }

 private:
  std::vector<std::uint64_t>& sizes_;
  std::uint64_t total_ = 0;
};

/// Second pass: small pieces gather in a buffer, long ones go straight to the sink.
class Emit {
 public:
  Emit(const std::vector<std::uint64_t>& sizes, const ByteSink& sink) : sizes_(sizes), sink_(sink) {
    buffer_.reserve(buffer_size);
  }

  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) buffer_.push_back(static_cast<char>(value | 0x80));
    buffer_.push_back(static_cast<char>(value));
    if (buffer_.size() >= buffer_size - 16) flush();
  }
  template <class T>
  void fixed(T value) {
    bytes({reinterpret_cast<const char*>(&value), sizeof(T)});
  }
  void bytes(std::string_view bytes) {
    if (bytes.size() + buffer_.size() > buffer_size) flush();
    if (bytes.size() < buffer_size / 4) {
      buffer_ += bytes;
    } else {
      flush();
      pass_on(bytes);
    }
  }
  template <class Body>
  void nested(Body&& body) {
    varint(sizes_[next_++]);
    if (status_) body();
  }
  Result<void> finish() {
    flush();
    return std::move(status_);
  }

 private:
  static constexpr std::size_t buffer_size = 256 * 1024;

  void flush() {
    if (!buffer_.empty()) pass_on(buffer_);
    buffer_.clear();
  }
  void pass_on(std::string_view bytes) {
    if (status_) status_ = sink_(bytes);
  }

  const std::vector<std::uint64_t>& sizes_;
  std::size_t next_ = 0;
  const ByteSink& sink_;
  std::string buffer_;
  Result<void> status_;
};

/// A tensor as it is but for where its bytes are.
struct PlacedTensor {
  PlacedTensor(const ir::Tensor& source, const Placement& placement)
      : offset(std::to_string(placement.offset)), length(std::to_string(placement.length)) {
    tensor.dims = source.dims;
    tensor.data_type = source.data_type;
    if (source.segment) tensor.segment = std::make_unique<ir::Tensor::Segment>(*source.segment);
    tensor.name = source.name;
    tensor.doc_string = source.doc_string;
    tensor.metadata_props = source.metadata_props;
    tensor.unknown_fields = source.unknown_fields;
    if (placement.location.empty()) {
      tensor.raw_data =
          Text(std::string_view(reinterpret_cast<const char*>(placement.raw.data()), placement.raw.size()));
      return;
    }
    tensor.data_location = ir::Tensor::location_external;
    for (const auto& [key, value] :
         {std::pair("location", placement.location), {"offset", offset}, {"length", length}}) {
      tensor.external_data.push_back({.key = key, .value = value, .unknown_fields = {}});
    }
  }

  ir::Tensor tensor;
  std::string offset, length;
};

/// Visits the fields of messages and puts those that are present into Out.
template <class Out>
class FieldWriter {
 public:
  static constexpr bool reading = false;
  FieldWriter(Out& out, const Placements& placements) : out_(out), placements_(placements) {}

  template <class T>
  void operator()(std::uint32_t number, const char*, const T& member) {
    put(number, member);
  }

  void packed(std::uint32_t number, const char*, const ir::PackedField& member, Packing) {
    if (!member.present()) return;
    tag(number, WireType::length);
    out_.varint(member.byte_count());
    for (const auto& chunk : member.chunks) out_.bytes({reinterpret_cast<const char*>(chunk.data()), chunk.size()});
  }

  template <class Number>
  void one_of(std::uint32_t number_field, const char*, const std::optional<Number>& number, std::uint32_t text_field,
              const char*, const Text& text) {
    put(number_field, number);
    put(text_field, text);
  }

  template <class T>
  void payload(std::uint32_t number, const char*, const ir::Attribute& attribute) {
    if (const T* held = std::get_if<T>(&attribute.payload)) put(number, *held);
    for (const ir::Attribute::Payload& other : attribute.more_payloads) {
      if (const T* held = std::get_if<T>(&other)) put(number, *held);
    }
  }

  template <ir::DeclaredType::Kind kind_value>
  void kind(std::uint32_t number, const char*, const ir::DeclaredType& type) {
    if (type.kind == kind_value) put(number, TypeBody<kind_value, const ir::DeclaredType>{type});
  }

  void value_name(std::uint32_t number, const char*, const ir::ValueInfo& info) {
    if (info.has_name) put_name(number, info.value);
  }
  void value_names(std::uint32_t number, const char*, const std::vector<ir::ValueId>& ids) {
    for (const ir::ValueId id : ids) put_name(number, id);
  }
  void value_names(std::uint32_t number, const char*, const std::vector<ir::ValueInfo>& infos) {
    for (const ir::ValueInfo& info : infos) put_name(number, info.value);
  }

  /// Unknown fields are kept with their tags.
  void unknown(const Text& member) { out_.bytes(member); }

 private:
  void tag(std::uint32_t number, WireType type) {
    out_.varint(std::uint64_t{number} << 3 | static_cast<std::uint64_t>(type));
  }

  void put_text(std::uint32_t number, std::string_view text) {
    tag(number, WireType::length);
    out_.varint(text.size());
    out_.bytes(text);
  }
  void put_name(std::uint32_t number, ir::ValueId id) { put_text(number, scope_->name_of(id)); }

  void put(std::uint32_t number, const Text& member) {
    if (member.present()) put_text(number, member);
  }
  void put(std::uint32_t number, std::integral auto member) {
    tag(number, WireType::varint);
    out_.varint(static_cast<std::uint64_t>(static_cast<std::int64_t>(member)));
  }
  void put(std::uint32_t number, float member) {
    tag(number, WireType::fixed32);
    out_.fixed(member);
  }
  template <class M>
  void put(std::uint32_t number, const std::optional<M>& member) {
    if (member) put(number, *member);
  }
  template <class M>
  void put(std::uint32_t number, const std::unique_ptr<M>& member) {
    if (member) put(number, *member);
  }
  template <class M>
  void put(std::uint32_t number, const std::vector<M>& member) {
    for (const M& element : member) put(number, element);
  }
  /// A list of texts has an element for each, present or not.
  void put(std::uint32_t number, const std::vector<Text>& member) {
    for (const Text& text : member) put_text(number, text);
  }
  template <class M>
  requires std::is_class_v<M>
  void put(std::uint32_t number, const M& message) {
    tag(number, WireType::length);
    out_.nested([&] {
      const ir::Graph* const outer = scope_;
      if (const ir::Graph* own = scope_of(message)) scope_ = own;
      fields(*this, message);
      scope_ = outer;
    });
  }

  void put(std::uint32_t number, const ir::Tensor& tensor) {
    tag(number, WireType::length);
    const auto placement = placements_.find(&tensor);
    out_.nested([&] {
      if (placement == placements_.end()) return fields(*this, tensor);
      const PlacedTensor placed(tensor, placement->second);
      fields(*this, placed.tensor);
    });
  }

  Out& out_;
  const Placements& placements_;
  const ir::Graph* scope_ = nullptr;
};

std::uint64_t measure(const ir::Model& model, const Placements& placements, std::vector<std::uint64_t>& sizes) {
  Measure out(sizes);
  FieldWriter writer(out, placements);
  fields(writer, model);
  return out.total();
}

}  // namespace

std::uint64_t encoded_size(const ir::Model& model) {
  std::vector<std::uint64_t> sizes;
  return measure(model, {}, sizes);
}

Result<void> write_binary(const ir::Model& model, const ByteSink& sink, const Placements& placements) {
  std::vector<std::uint64_t> sizes;
  measure(model, placements, sizes);
  Emit out(sizes, sink);
  FieldWriter writer(out, placements);
  fields(writer, model);
  return out.finish();
}

std::string to_bytes(const ir::Model& model, const Placements& placements) {
  std::string bytes;
  const ByteSink append = [&](std::string_view piece) {
    bytes += piece;
    return Result<void>();
  };
  static_cast<void>(write_binary(model, append, placements));  // fails only when the sink does
  return bytes;
}

}  // namespace onnxkit::wire
