#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace onnxkit::torchscript {

/// What an argument of an operator of ATen may be.
struct ArgumentType {
  enum class Kind : char {
    tensor = 'T',
    integer = 'I',
    real = 'F',
    number = 'N',
    boolean = 'B',
    text = 'S',
    elem = 'K',
    device = 'D',
    ignored = '-',
  };
  Kind kind = Kind::ignored;
  bool is_optional = false;
  bool is_list = false;
  bool has_optional_items = false;
  bool takes_one = false;  ///< of a list: a single number stands for all
};

struct SchemaArgument {
  std::string_view name;
  ArgumentType type;
  bool has_default = false, is_keyword_only = false;
  std::string_view fallback;  ///< "[1, 1]", "None", "0.5", "'constant'"; empty where it says nothing about the result
};

/// An overload of an operator of ATen, or of torchvision, whose names say so: "torchvision.nms".
struct Schema {
  std::string_view name, overload;  ///< "add", "Tensor"
  std::vector<SchemaArgument> arguments;
  std::vector<ArgumentType> results;
};

/// The rows of the table, sorted by name: "add.Tensor(self:T,other:T,*,alpha:N=1)T". See scripts/gen_torch_schemas.
std::span<const std::string_view> schema_rows();

Schema parse_schema(std::string_view row);

/// Overloads by name, in the order in which PyTorch tries them. A program uses few of the table's rows: they are parsed
/// when they are asked for.
class Schemas {
 public:
  std::span<const Schema> of(std::string_view name) const;

 private:
  mutable std::unordered_map<std::string, std::vector<Schema>> by_name_;
};

}  // namespace onnxkit::torchscript
