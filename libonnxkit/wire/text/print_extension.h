#pragma once

#include "libonnxkit/wire/binary/fields.h"
#include "libonnxkit/wire/text/plain_message.h"
#include "libonnxkit/wire/text/printer.h"
#include "libonnxkit/wire/text/spelling.h"

namespace onnxkit::wire::text {

template <class... Numbers>
constexpr std::uint64_t bits(Numbers... numbers) {
  return ((std::uint64_t{1} << numbers) | ... | 0);
}

/// Adds a field to one side of Extras.
inline void add(std::string& fields, std::string_view field) {
  if (!fields.empty()) fields += ", ";
  fields += field;
}

/// Collects the set fields of a message that the syntax around it does not state.
class FieldPrinter {
 public:
  static constexpr bool reading = false;

  FieldPrinter(Printer& printer, std::uint64_t stated) : p_(printer), stated_(stated) {}
  Extras take() { return std::move(extras_); }

  template <class T>
  void operator()(std::uint32_t number, const char* name, const T& member) {
    if constexpr (has_value_syntax<T>()) {
      if (is_wanted(number) && is_present(member)) field(name, [&] { print(member); });
    }
  }
  void packed(std::uint32_t number, const char* name, const ir::PackedField& member, Packing) {
    if (is_wanted(number) && member.byte_count() > 0) field(name, [&] { p_.packed_value(name, member); });
  }
  template <class Number>
  void one_of(std::uint32_t number_field, const char* number_name, const std::optional<Number>& number,
              std::uint32_t text_field, const char* text_name, const Text& text) {
    (*this)(number_field, number_name, number);
    (*this)(text_field, text_name, text);
  }
  void unknown(const Text& member) {
    if (!member.empty()) field("unknown_fields", [&] { append_hex(p_.out_, member); });
  }
  // What follows is written in the syntax around the block.
  template <class T>
  void payload(std::uint32_t, const char*, const ir::Attribute&) {}
  template <ir::DeclaredType::Kind kind_value>
  void kind(std::uint32_t, const char*, const ir::DeclaredType&) {}
  template <class T>
  void value_names(std::uint32_t, const char*, const std::vector<T>&) {}
  void value_name(std::uint32_t, const char*, const ir::ValueInfo&) {}

 private:
  template <class T>
  static constexpr bool has_value_syntax() {
    if constexpr (requires { typename T::value_type; }) {
      using Element = typename T::value_type;
      return PlainMessage<Element> || std::is_integral_v<Element> || std::is_same_v<Element, Text> ||
             std::is_same_v<Element, ir::StringEntry>;
    }
    return std::is_same_v<T, Text> || std::is_same_v<T, std::unique_ptr<ir::Graph>> ||
           std::is_same_v<T, std::unique_ptr<ir::Tensor::Segment>>;
  }

  bool is_wanted(std::uint32_t number) const { return ((stated_ >> number) & 1) == 0; }
  static bool is_present(const Text& member) { return member.present(); }
  template <class T>
  static bool is_present(const std::vector<T>& member) {
    return !member.empty();
  }
  template <class T>
  static bool is_present(const T& member) {
    return static_cast<bool>(member);
  }

  /// The official parser may skip what does not change what the model computes.
  static bool is_skippable(std::string_view name) {
    return name == "doc_string" || name == "metadata_props" || name == "denotation" || name == "data_location" ||
           name == "quantization_annotation" || name == "configuration" || name == "device_configurations";
  }

  template <class Print>
  void field(const char* name, Print print) {
    const bool skippable = is_skippable(name);
    const bool outer = std::exchange(p_.one_line_, p_.one_line_ || skippable);
    std::string& side = skippable ? extras_.skippable : extras_.required;
    add(side, p_.captured([&] {
      p_.put(name);
      p_.put(": ");
      print();
    }));
    p_.one_line_ = outer;
  }

  void print(const Text& member) { p_.value(member); }
  template <std::integral Number>
  void print(const std::optional<Number>& member) {
    p_.integer(*member);
  }
  void print(const std::vector<std::int64_t>& member) { p_.value(member); }
  void print(const std::vector<Text>& member) { p_.value(member); }
  void print(const std::vector<ir::StringEntry>& member) { p_.value(member); }
  void print(const std::unique_ptr<ir::Graph>& member) { p_.graph(*member); }
  void print(const std::unique_ptr<ir::Tensor::Segment>& member) { message(*member); }
  template <PlainMessage M>
  void print(const std::vector<M>& members) {
    p_.put("[");
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) p_.put(", ");
      message(members[i]);
    }
    p_.put("]");
  }
  template <class M>
  void message(const M& m) {
    const Extras all = p_.extras(m, 0);
    std::string list = all.skippable;
    if (!all.required.empty()) add(list, all.required);
    p_.put("{");
    p_.put(list);
    p_.put("}");
  }

  Printer& p_;
  std::uint64_t stated_;
  Extras extras_;
};

template <class M>
Extras Printer::extras(const M& message, std::uint64_t stated) {
  FieldPrinter printer(*this, stated);
  fields(printer, message);
  return printer.take();
}

}  // namespace onnxkit::wire::text
