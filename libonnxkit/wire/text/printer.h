#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/wire/text/tensor_literal.h"

namespace onnxkit::wire::text {

/// What the syntax around an item cannot say of it; becomes an extension block.
struct Extras {
  std::string skippable;  ///< fields without which the model means the same
  std::string required;

  bool empty() const { return skippable.empty() && required.empty(); }
};

class Printer {
 public:
  std::string print(const ir::Model& model);

 private:
  friend class FieldPrinter;
  friend struct PayloadPrinter;

  // printer.cpp
  void model_header(const ir::Model& model);
  void function(const ir::Function& function);
  void function_header(const ir::Function& function);
  void function_attributes(const ir::Function& function);
  void function_values(const ir::Graph& body, const std::vector<ir::ValueInfo>& values);
  void graph(const ir::Graph& graph);
  void graph_values(const ir::Graph& graph);
  void value_infos(const ir::Graph& graph, char open, const std::vector<ir::ValueInfo>& infos, char close);
  Extras value_info(const ir::Graph& graph, const ir::ValueInfo& info);
  void nodes(const ir::Graph& graph);
  void node(const ir::Graph& graph, const ir::Node& node);
  void value_ids(const ir::Graph& graph, const std::vector<ir::ValueId>& ids);
  void opset_imports(const std::vector<ir::OpsetImport>& imports);

  // print_attribute.cpp
  void attributes(const std::vector<ir::Attribute>& attributes);
  Extras attribute(const ir::Attribute& attribute);
  Extras valueless(const ir::Attribute& attribute);
  /// '=' and value, with the type before it where it is not plain. The extras of the value are left to the caller.
  Extras payload(const ir::Attribute::Payload& payload);
  Extras attribute_extras(const ir::Attribute& attribute);

  // print_type.cpp
  void element_type(std::optional<std::int32_t> type);
  Extras type(const ir::DeclaredType& type);
  void tensor_type(const ir::DeclaredType& type);
  void type_arguments(const ir::DeclaredType& type);
  void opaque_arguments(const ir::DeclaredType& type);
  Extras type_extras(const ir::DeclaredType& type);

  // print_tensor.cpp
  enum class TensorRole { initializer, attribute, part };
  Extras tensor(const ir::Tensor& tensor, TensorRole role);
  Extras tensor_head(const ir::Tensor& tensor, TensorRole role);
  Extras tensor_data(const ir::Tensor& tensor);
  Extras sparse_tensor(const ir::SparseTensor& tensor);
  void raw_numbers(std::string_view raw, LiteralForm form);
  void typed_numbers(const ir::PackedField& field, ir::TypedField kind);
  void packed_value(std::string_view name, const ir::PackedField& field);

  // print_extension.cpp
  /// The fields of `message` that are set and whose numbers are not in the bit set `stated`.
  template <class M>
  Extras extras(const M& message, std::uint64_t stated);
  void emit(const Extras& extras);
  void emit_block(const Extras& extras);
  bool is_comment(const Extras& extras) const { return !in_block_ && extras.required.empty(); }
  /// Keeps a block that follows from being read as the one of the inner item, which has none.
  void emit_inner(const Extras& inner, const Extras& outer);

  // Values of single fields, in headers and extensions.
  void value(const Text& text);
  void value(const std::vector<std::int64_t>& numbers);
  void value(const std::vector<Text>& texts);
  void value(const std::vector<ir::StringEntry>& entries);

  /// Leaves a line that ends with a comment.
  void leave_comment();
  void put(std::string_view text);
  void newline();
  void name(std::string_view name);
  /// A name where types are not expected, so that any identifier may stand bare.
  void word(std::string_view word);
  void integer(std::int64_t number);
  /// What `print` adds, as content of an extension block.
  template <class Print>
  std::string captured(Print print);
  /// Items separated by commas, each with its extension block behind the comma. `print(index)` returns an item's extras.
  template <class Print>
  void list(std::size_t count, bool lines, Print print);

  std::string out_;
  int indent_ = 0;
  bool comment_open_ = false;  ///< the line ends with a comment
  bool in_block_ = false;      ///< inside an extension block, where comments are out of location
  bool one_line_ = false;      ///< inside a block that must stay on its line
  bool raw_tensors_ = false;
};

template <class Print>
std::string Printer::captured(Print print) {
  std::string outer = std::exchange(out_, {});
  const bool outer_comment = std::exchange(comment_open_, false);
  const bool outer_block = std::exchange(in_block_, true);
  print();
  in_block_ = outer_block;
  comment_open_ = outer_comment;
  return std::exchange(out_, std::move(outer));
}

template <class Print>
void Printer::list(std::size_t count, bool lines, Print print) {
  for (std::size_t i = 0; i < count; ++i) {
    if (lines) {
      newline();
    } else if (i > 0 && !comment_open_) {
      put(" ");
    }
    const Extras extras = print(i);
    const bool more = i + 1 < count;
    // A comment reaches to the end of the line, so the comma goes before it.
    const bool comment = is_comment(extras);
    if (more && comment) put(",");
    emit(extras);
    if (more && !comment) put(",");
  }
}

}  // namespace onnxkit::wire::text
