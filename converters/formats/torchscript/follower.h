#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "converters/formats/torchscript/graph_writer.h"
#include "converters/formats/torchscript/known_types.h"
#include "converters/formats/torchscript/module.h"

namespace onnxkit::torchscript {

/// Goes through the code of a module as a run of it would, with values of a graph in place of tensors.
class Follower {
 public:
  Follower(Module& module, foreign::Model& model) : module_(module), model_(model), writer_(model) {}
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  /// What a method gives; nothing after a fault.
  Item call_method(const Item& object, std::string_view method, const std::vector<NamedItem>& arguments);
  const std::optional<Error>& fault() const { return fault_; }
  GraphWriter& writer() { return writer_; }
  /// Buffers that the code gave another tensor: the stored one and what the module holds behind the run.
  const std::vector<std::pair<Item, Item>>& rebound() const { return rebound_; }
  /// Attributes, by their paths, that hold something else than in the file.
  void give(std::map<std::string, Item> attributes) { given_ = std::move(attributes); }
  /// Attributes, by path, that are no tensors, are read, and hold something else behind the run: what they hold then.
  std::map<std::string, Item> changed_attributes();
  /// The method of an object; null when its class has none of that name.
  const Function* method_of(const Item& object, std::string_view method) const;
  Item of_pickle(containers::Pickle value, const std::string& path);
  /// A number as a tensor without axes.
  Item tensor_of(const Item& number) { return tensor_of_number(number); }

 private:
  using Variables = std::map<std::string_view, Item>;

  void fail(Error error) {
    if (!fault_) fault_ = std::move(error);
  }
  Item refuse(std::string reason);

  Item inlined(const Function& function, const Item* object, const std::vector<NamedItem>& arguments);
  void follow(const std::vector<Statement>& statements, Variables& variables);
  void follow(const Statement& statement, Variables& variables);
  void assign(const Statement& statement, Variables& variables);
  void unpack(const std::vector<Expression>& targets, const Item& value, Variables& variables);
  void forked(const Statement& statement, Variables& variables);
  void context(const Statement& statement, Variables& variables);
  void branch(const Statement& statement, Variables& variables);
  /// A branch on a computed condition, or a pass of a loop whose passes only a run can count. Of lists from outside, only a pass may append to some.
  struct Inside {
    struct Grown {
      std::shared_ptr<Items> list;
      Items added;
    };
    bool is_pass = false;
    std::set<const Items*> outer, read;  ///< lists from outside; of these, those that the code looked into
    std::vector<Grown> grown;
  };
  void enter(bool is_pass, const Variables& variables);
  void note_read(const Item& item);
  Item kept(Item container);
  std::optional<Item> replace(std::string_view name, const Items& items);
  std::optional<Item> grow(std::string_view name, const Items& items);
  Item given_in_pass(const Inside::Grown& grown);
  void gather(const Inside::Grown& grown, Item all);
  std::optional<Item> of_gathered(std::string_view name, const Items& items);
  std::optional<std::int64_t> part_count(const Item& unsplit);
  Item with_parts(const Item& item);
  std::optional<Item> of_booleans(std::string_view name, const Items& items);
  Item packed(const std::vector<NamedItem>& arguments);
  Item unpacked(const std::vector<NamedItem>& arguments);
  std::optional<Item> of_packed(std::string_view name, const std::vector<NamedItem>& arguments);
  std::optional<std::vector<double>> numbers_in(const Item& item) const;
  std::optional<std::vector<double>> computed_numbers(std::string_view op, const Items& items) const;
  void note_numbers(std::string_view op, const Items& items, const Item& result);
  bool is_view_of_known(Item tensor) const;
  std::optional<Item> known_number(const Item& tensor, Item::Kind kind);
  bool is_of_type_already(const std::vector<NamedItem>& arguments);
  Item places_of(const Item& tensor);
  std::optional<foreign::ValueId> unknown_in(const std::vector<foreign::Argument>& arguments,
                                             const foreign::Graph& graph);
  std::string origin_of(const Items& items);
  static Item of_enumeration(const Class& of, std::string_view path, containers::Pickle value);
  Item begin_context(const Item& context, const std::vector<NamedItem>& arguments);
  std::optional<Item> compared_lists(std::string_view name, const Items& items);
  std::optional<Item> of_range(std::string_view name, const Items& items);
  std::optional<Item> of_unbound(std::string_view name, const Items& items);
  Item joined(const Items& parts, bool stacks, std::int64_t axis);

  /// A branch on a computed condition: its graph, the variables behind it, and what it takes from outside.
  struct Side {
    std::unique_ptr<foreign::Graph> graph;
    Variables after;
    Items captured;
    std::vector<Inside::Grown> grown;
    std::set<const Items*> read;  ///< lists from outside
  };
  Side follow_side(const std::vector<Statement>& statements, const Variables& variables);
  Item stand_in(const Item& value, ElementType type);
  std::vector<ElementType> types_of_absent(Side& side, const std::vector<std::string_view>& names,
                                           const Variables& others);
  void give(Side& side, const std::vector<std::string_view>& names, const Variables& others,
            const std::vector<ElementType>& types_of_others);
  void take(Side& side, const Items& others, std::size_t first = 0);
  void open_branch(const Statement& statement, const Item& condition, Variables& variables);
  /// A loop whose number of passes only a run can tell: `limit`, or null where it has a condition. `names` go from pass to pass.
  void open_loop(const Statement& statement, const Item* limit, std::vector<std::string_view> names,
                 Variables& variables);
  void open_pass(Side& side, const std::vector<std::string_view>& names, const Items& carried);
  Side follow_condition(const Statement& statement, const std::vector<std::string_view>& names, const Variables& before,
                        const Items& carried);
  Side follow_pass(const Statement& statement, const std::vector<std::string_view>& names, const Variables& before,
                   const Items& carried);
  /// What the code was told of types and has to be so in all passes of a loop that it was told in.
  struct Told {
    std::size_t ranks = 0, sizes = 0;
  };
  void check_type(std::string_view name, const Item& given, const Item& first, const Told& before);
  Item number_of(const Item& tensor, Item::Kind kind);
  void loop(const Statement& statement, Variables& variables);

  Item value_of(const Expression& expression, Variables& variables);
  Items values_of(const std::vector<Expression>& expressions, Variables& variables);
  Item attribute(const Item& object, std::string_view name);
  bool is_written_in_place(const Item& tensor, const Item& result);
  void set_attribute(const Item& object, std::string_view name, const Item& value);
  void set_tensor(const Item& object, std::string_view name, const Item& value);
  void set_field(const Item& made, std::string_view name, const Item& value);
  void change_attribute(const Item& object, std::string_view name, const Item& value);
  Item named(const Expression& expression, Variables& variables);
  Item operation(const Expression& expression, Variables& variables);
  Item call(const Expression& expression, Variables& variables);
  Item is_instance(const Expression& expression, Variables& variables);
  Item make(std::string_view class_name);
  Item named_tuple(const Class& of, const std::vector<NamedItem>& arguments);
  Item boxes_apart(const Item& boxes);
  Item call_path(const std::string& path, std::vector<NamedItem> arguments);
  std::optional<Item> builtin(std::string_view path, const std::vector<NamedItem>& arguments);
  std::optional<Item> of_numbers(std::string_view name, const Items& items);
  Item aten(std::string_view name, std::vector<NamedItem> arguments);
  Item converted(std::string_view op, const Item& item, Item::Kind kind);
  std::optional<Item> tensor_of(const std::vector<NamedItem>& arguments, int depth = 0);
  Item of_data(const std::vector<NamedItem>& arguments);
  Item tensor_of_number(const Item& number);
  std::optional<Item> number_from(std::string_view path, const Item& from);
  static std::optional<bool> state_of_run(std::string_view path);
  std::optional<Item> of_type(std::string_view name, const Items& items);
  Item sizes_of(const Item& tensor, const std::vector<std::int64_t>& sizes);
  KnownTypes& types();
  const foreign::Node* producer(const Item& tensor) const;
  Item written(Item tensor) const;
  bool is_stored(const Item& tensor) const;
  Item parameter(containers::Pickle value, const std::string& path);

  Module& module_;
  foreign::Model& model_;
  GraphWriter writer_;
  std::optional<Error> fault_;
  std::optional<KnownTypes> types_;
  Told told_;
  std::map<std::pair<const foreign::Graph*, std::size_t>, Item> parts_;  ///< of nodes that give lists: those lists
  std::map<std::uint32_t, Item> parameters_;                             ///< by identity in the pickle of objects
  std::map<std::int64_t, Item> constants_;                               ///< by place
  std::map<std::pair<const foreign::Graph*, foreign::ValueId>, Item> numbers_;  ///< that tensors were made of
  std::map<std::pair<const foreign::Graph*, foreign::ValueId>, std::vector<double>> known_;  ///< what tensors hold
  std::vector<std::pair<Item, Item>> rebound_;
  std::map<std::string, Item> given_;  ///< attributes by path
  /// An attribute that is no tensor, or was none, and that the code changes.
  struct Changed {
    containers::Pickle stored;
    std::string path;
    Item now;
    bool was_read = false;  ///< before it was changed
  };
  using Attribute = std::pair<std::uint32_t, std::string>;  ///< of the object with this identity
  std::map<Attribute, Changed> changed_;
  std::set<Attribute> read_;
  std::vector<Inside> insides_;                    ///< that the code is in
  std::set<std::shared_ptr<Items>> stored_lists_;  ///< attributes and constants
  std::set<std::shared_ptr<Items>> lists_;         ///< that hold others, maybe themselves, to any depth
  std::size_t steps_ = 0, depth_ = 0;
  bool has_returned_ = false;
  Item returned_;
};

}  // namespace onnxkit::torchscript
