#include "converters/formats/pt2/structure.h"

#include <algorithm>

#include "converters/containers/json.h"
#include "converters/containers/json_writer.h"

namespace onnxkit::pt2 {
namespace {

using containers::Json;
using containers::JsonDocument;
using containers::JsonWriter;

bool is_leaf(Json node) { return node["type"].is_null(); }
bool is_list(Json node) {
  const auto type = node["type"].text();
  return type == "builtins.tuple" || type == "builtins.list";
}
bool is_dictionary(Json node) { return node["type"].text() == "builtins.dict"; }

/// Writes trees of names.
class TreeWriter {
 public:
  explicit TreeWriter(const std::vector<std::string_view>& names) : names_(names) {}

  void write(Json node) {
    const Json children = node["children_spec"];
    if (is_leaf(node)) {
      is_understood_ = is_understood_ && next_ < names_.size();
      if (is_understood_) out_.value(names_[next_++]);
    } else if (is_list(node)) {
      out_.open_array();
      for (const Json child : children) write(child);
      out_.close_array();
    } else if (is_dictionary(node)) {
      write_dictionary(node["context"].text().value_or(""), children);
    } else {
      is_understood_ = false;
    }
  }

  JsonWriter& out() { return out_; }
  /// Empty when a part was not understood.
  std::string text() const { return is_understood_ && next_ == names_.size() ? out_.text() : std::string(); }

 private:
  void write_dictionary(std::string_view keys_text, Json children) {
    const auto keys = JsonDocument::parse(keys_text);
    is_understood_ =
        is_understood_ && keys.ok() && (*keys)->root().is_array() && (*keys)->root().size() == children.size();
    if (!is_understood_) return;
    out_.open_object();
    auto child = children.begin();
    for (const Json key : (*keys)->root()) {
      const auto name = key.text();
      is_understood_ = is_understood_ && name.has_value();
      out_.key(name.value_or(""));
      write(*child);
      ++child;
    }
    out_.close_object();
  }

  const std::vector<std::string_view>& names_;
  JsonWriter out_;
  std::size_t next_ = 0;
  bool is_understood_ = true;
};

bool has_only_leaves(Json list) {
  for (const Json child : list["children_spec"])
    if (!is_leaf(child)) return false;
  return true;
}

/// The tree of version 1, or nothing.
Json tree_of(const JsonDocument& document) {
  const Json root = document.root();
  if (!root.is_array() || root.size() != 2 || (*root.begin()).integer() != 1) return {};
  auto at = root.begin();
  ++at;
  return *at;
}

}  // namespace

std::string structure_of_inputs(std::string_view spec, const std::vector<std::string_view>& names) {
  const auto document = JsonDocument::parse(spec);
  if (!document) return {};
  const Json tree = tree_of(**document), both = tree["children_spec"];
  if (!tree.exists() || !is_list(tree) || both.size() != 2) return {};
  auto at = both.begin();
  const Json positional = *at;
  ++at;
  const Json by_name = *at;
  if (has_only_leaves(positional) && by_name["children_spec"].size() == 0) return {};
  TreeWriter writer(names);
  writer.out().open_object().key("args");
  writer.write(positional);
  writer.out().key("kwargs");
  writer.write(by_name);
  writer.out().close_object();
  return writer.text();
}

std::string structure_of_outputs(std::string_view spec, const std::vector<std::string_view>& names) {
  const auto document = JsonDocument::parse(spec);
  if (!document) return {};
  const Json tree = tree_of(**document);
  if (!tree.exists() || is_leaf(tree) || (is_list(tree) && has_only_leaves(tree))) return {};
  TreeWriter writer(names);
  writer.write(tree);
  return writer.text();
}

}  // namespace onnxkit::pt2
