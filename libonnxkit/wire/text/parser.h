#pragma once

#include <string_view>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/wire/text/cursor.h"
#include "libonnxkit/wire/text/tensor_literal.h"
#include "onnxkit/result.h"

namespace onnxkit::wire::text {

/// Recursive descent over one text. Every parse function leaves the cursor behind what it took; after an error (see TextCursor)
/// what it made so far is dropped with the model.
class Parser {
 public:
  Parser(std::string_view text, std::string_view source_name) : text_(text), source_(source_name), in_(text) {}

  Result<ir::Model> parse();

 private:
  friend class FieldSetter;

  // parser.cpp
  void model();
  void model_header();
  void function(ir::Function& function);
  void function_header(ir::Function& function);
  void function_attributes(ir::Function& function);
  void function_values(ir::Graph& body, std::vector<ir::ValueInfo>& values);
  void graph(ir::Graph& graph);
  void graph_after_name(ir::Graph& graph, Text name);
  void graph_inputs(ir::Graph& graph);
  void graph_values(ir::Graph& graph);
  void nodes(ir::Graph& graph);
  void node(ir::Graph& graph, ir::Node& node);
  void node_operator(ir::Node& node);
  void value_ids(ir::Graph& graph, std::vector<ir::ValueId>& ids);
  void value_info(ir::Graph& graph, ir::ValueInfo& info);
  void value_infos(ir::Graph& graph, char open, std::vector<ir::ValueInfo>& infos, char close);
  void opset_imports(std::vector<ir::OpsetImport>& imports);

  // parse_attribute.cpp
  void attributes(std::vector<ir::Attribute>& attributes);
  void attribute(ir::Attribute& attribute);
  void attribute_after_name(ir::Attribute& attribute);
  void attribute_value(ir::Attribute& attribute, std::int32_t annotation);
  ir::Attribute::Payload attribute_list(std::int32_t annotation);
  ir::Attribute::Payload single_value(std::int32_t expected);
  ir::Attribute::Payload type_or_tensor();
  ir::Attribute::Payload number_value(std::int32_t expected);
  void sparse_tensor(ir::SparseTensor& tensor);

  // parse_type.cpp
  bool next_is_type();
  void type(ir::DeclaredType& type);
  void tensor_type(ir::DeclaredType& type);
  void type_arguments(std::string_view constructor, ir::DeclaredType& type);
  void opaque_arguments(ir::DeclaredType& type);
  std::optional<std::int32_t> element_type();
  void shape(std::optional<ir::DeclaredShape>& shape);
  void dim(ir::DeclaredDim& dim);

  // parse_tensor.cpp
  void tensor(ir::Tensor& tensor);
  void tensor_after_type(ir::Tensor& tensor, const std::optional<ir::DeclaredType>& type);
  void tensor_data(ir::Tensor& tensor);
  void tensor_elements(ir::Tensor& tensor);
  void numbers(ir::Tensor& tensor, LiteralForm form);
  void element(std::string& out, LiteralForm form, bool raw);
  void float_element(std::string& out, ir::TypedField field);

  // parse_extension.cpp
  template <class M>
  void extension(M& message);
  template <class M>
  void extension_fields(M& message);
  /// ": value" behind the name of a field, which stands at `start`.
  template <class M>
  void named_field(std::size_t start, std::string_view name, M& message);
  bool special_field(std::string_view name, ir::Model& model);
  bool special_field(std::string_view name, ir::Tensor& tensor);
  bool special_field(std::string_view name, ir::Attribute& attribute);
  bool special_field(std::string_view name, ir::DeclaredType& type);
  template <class M>
  bool special_field(std::string_view, M&) {
    return false;
  }

  // Values of single fields, in headers and extensions. `none` makes an optional one absent.
  bool match_none();
  void value(Text& text);
  void value(std::optional<std::int64_t>& number);
  void value(std::optional<std::int32_t>& number);
  void value(std::vector<std::int64_t>& numbers);
  void value(std::vector<Text>& texts);
  void value(std::vector<ir::StringEntry>& entries);
  void value(ir::PackedField& field, ir::TypedField typed_field);

  /// item (',' item)*. An extension block belongs to the item before it, also when it stands behind the comma.
  template <class Item, class Extend>
  void separated(Item item, Extend extend);
  template <class Item>
  void separated(Item item) {
    do {
      item();
    } while (in_.match(','));
  }
  template <class M, class Item>
  void separated_messages(std::vector<M>& messages, Item item);

  Text keep(std::string_view bytes) { return model_.keep(bytes); }
  ir::ValueId intern(ir::Graph& graph, std::string_view name);
  std::int64_t integer(const char* expected);
  void wrong(std::size_t position, std::string expected);
  Error error() const;

  /// Counts levels of protobuf messages, so that whatever parses here can be read back in binary form.
  class Nesting {
   public:
    Nesting(Parser& parser, int levels) : parser_(parser), levels_(levels) {
      parser_.depth_ += levels_;
      if (parser_.depth_ > max_message_depth) parser_.in_.fail("less nesting");
    }
    ~Nesting() { parser_.depth_ -= levels_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    static constexpr int max_message_depth = 100;
    Parser& parser_;
    int levels_;
  };

  std::string_view text_;
  std::string_view source_;
  TextCursor in_;
  ir::Model model_;
  bool raw_tensors_ = false;  ///< number literals go to raw_data
  bool has_graph_ = true;
  int depth_ = 0;
};

template <class Item, class Extend>
void Parser::separated(Item item, Extend extend) {
  bool more = true;
  while (more) {
    item();
    if (in_.next_is_extension()) extend();
    more = in_.match(',');
    if (in_.next_is_extension()) extend();
  }
}

template <class M, class Item>
void Parser::separated_messages(std::vector<M>& messages, Item item) {
  separated([&] { item(messages.emplace_back()); }, [&] { extension(messages.back()); });
}

}  // namespace onnxkit::wire::text
