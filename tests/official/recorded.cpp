#include "tests/official/recorded.h"

#include <string>

#include "libonnxkit/wire/cursor.h"
#include "libonnxkit/wire/reader.h"

namespace onnxkit::official {
namespace {

using Kind = ir::DeclaredType::Kind;

// SequenceProto and OptionalProto hold their items under the same field numbers.
constexpr std::uint32_t tensor_items = 3, sequence_items = 5, optional_items = 7;

std::string field(std::uint32_t number, std::string_view payload) {
  std::string bytes(1, static_cast<char>((number << 3) | 2));
  for (std::size_t size = payload.size();; size >>= 7) {
    const bool last = size < 0x80;
    bytes += static_cast<char>((size & 0x7f) | (last ? 0 : 0x80));
    if (last) break;
  }
  return bytes.append(payload);
}

/// The reader knows models only, so the tensor becomes the initializer of one.
Recorded read_tensor(std::string_view bytes) {
  constexpr std::uint32_t model_graph = 7, graph_initializer = 5;
  const std::string wrapped = field(model_graph, field(graph_initializer, bytes));
  auto model = wire::read_binary(MappedFile::from_bytes(wrapped));
  if (!model || !model->graph || model->graph->initializers.size() != 1) return {};
  Recorded recorded;
  recorded.kind = checker::Type::Kind::tensor;
  recorded.holder = std::make_shared<ir::Model>(std::move(*model));
  const ir::Tensor& tensor = recorded.holder->graph->initializers.front();
  recorded.elem = static_cast<ElementType>(tensor.data_type.value_or(0));
  recorded.dims = tensor.dims;
  return recorded;
}

Recorded read(std::string_view bytes, Kind kind);

std::optional<Kind> item_kind(wire::Tag tag) {
  if (tag.type != wire::WireType::length) return std::nullopt;
  switch (tag.number) {
    case tensor_items:
      return Kind::tensor;
    case sequence_items:
      return Kind::sequence;
    case optional_items:
      return Kind::optional;
    default:
      return std::nullopt;
  }
}

std::vector<Recorded> read_items(std::string_view bytes) {
  std::vector<Recorded> items;
  wire::Cursor cursor(bytes);
  wire::Tag tag;
  while (!cursor.at_end() && cursor.tag(tag) == wire::Fault::none) {
    std::string_view payload;
    const auto kind = item_kind(tag);
    const wire::Fault fault = kind ? cursor.bytes(payload) : cursor.skip(tag, 10);
    if (fault != wire::Fault::none) break;
    if (kind) items.push_back(read(payload, *kind));
  }
  return items;
}

Recorded read(std::string_view bytes, Kind kind) {
  if (kind == Kind::tensor) return read_tensor(bytes);
  Recorded recorded;
  if (kind != Kind::sequence && kind != Kind::optional) return recorded;
  recorded.kind = kind == Kind::sequence ? checker::Type::Kind::sequence : checker::Type::Kind::optional;
  recorded.items = read_items(bytes);
  return recorded;
}

}  // namespace

Recorded read_recorded(const std::filesystem::path& path, Kind kind) {
  const auto file = MappedFile::open(path);
  return file ? read((*file)->view(), kind) : Recorded{};
}

}  // namespace onnxkit::official
