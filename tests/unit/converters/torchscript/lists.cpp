#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <vector>

#include "converters/formats/torchscript/lists.h"
#include "converters/formats/torchscript/numbers.h"

// What operators over lists and numbers give while code is followed.
namespace onnxkit::tests::torchscript_lists {
namespace {

using torchscript::Item;
using torchscript::Items;
using Kind = Item::Kind;

Item integer(std::int64_t value) { return Item::of_integer(value); }

Item integers(std::initializer_list<std::int64_t> values) {
  Items items;
  for (const std::int64_t value : values) items.push_back(integer(value));
  return Item::of_items(Kind::list, std::move(items));
}

std::vector<std::int64_t> content(const std::optional<Item>& list) {
  std::vector<std::int64_t> values;
  if (list && list->items)
    for (const Item& item : *list->items) values.push_back(item.integer);
  return values;
}

template <class... Operands>
std::optional<Item> result(std::string_view op, const Operands&... operands) {
  return torchscript::known_result(op, std::array<Item, sizeof...(Operands)>{operands...});
}

using Integers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("TorchScript: slices of lists are those of Python") {
  const Item list = integers({5, 6, 7, 8});
  CHECK(content(result("slice", list, integer(-2))) == Integers{7, 8});
  CHECK(content(result("slice", list, Item(), integer(-1))) == Integers{5, 6, 7});
  CHECK(content(result("slice", list, integer(3), integer(1))).empty());
  CHECK(content(result("slice", list, integer(0), integer(9), integer(3))) == Integers{5, 8});
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  CHECK(content(result("slice", list, integer(1), integer(most), integer(most))) == Integers{6});
  CHECK_FALSE(result("slice", list, integer(0), integer(4), integer(0)));
  CHECK(content(result("slice", list, Item(), Item(), integer(-1))) == Integers{8, 7, 6, 5});
  CHECK(content(result("slice", list, integer(2), integer(0), integer(-1))) == Integers{7, 6});
  CHECK(content(result("slice", list, integer(-1), integer(-9), integer(-3))) == Integers{8, 5});
  CHECK(content(result("slice", list, Item(), Item(), integer(std::numeric_limits<std::int64_t>::min()))) ==
        Integers{8});
}

TEST_CASE("TorchScript: items are found from both ends, and nowhere beyond") {
  const Item list = integers({5, 6, 7});
  CHECK(result("__getitem__", list, integer(-3))->integer == 5);
  CHECK_FALSE(result("__getitem__", list, integer(3)));
  CHECK_FALSE(result("__getitem__", list, integer(-4)));
  CHECK(torchscript::set_item(list, integer(-1), integer(9)));
  CHECK_FALSE(torchscript::set_item(list, integer(3), integer(9)));
  CHECK(content(list) == Integers{5, 6, 9});
  CHECK(result("__contains__", list, integer(9))->integer == 1);
  CHECK(result("__contains__", list, integer(7))->integer == 0);
  CHECK(result("sum", list)->integer == 20);
  CHECK(result("min", list)->integer == 5);
  CHECK(content(result("mul", list, integer(2))) == Integers{5, 6, 9, 5, 6, 9});
  CHECK_FALSE(result("mul", list, integer(std::numeric_limits<std::int64_t>::max())));
}

TEST_CASE("TorchScript: lists change in place as in Python") {
  const Item list = integers({5, 6, 7});
  const auto change = [&](std::string_view op, const Items& others) {
    Items operands = {list};
    operands.insert(operands.end(), others.begin(), others.end());
    return torchscript::changed_list(op, operands);
  };
  CHECK(change("pop", {})->integer == 7);
  CHECK(change("insert", {integer(0), integer(4)}));
  CHECK(change("insert", {integer(99), integer(9)}));
  CHECK(content(list) == Integers{4, 5, 6, 9});
  CHECK(change("reverse", {}));
  CHECK(change("pop", {integer(1)})->integer == 6);
  CHECK_FALSE(change("pop", {integer(3)}));
  CHECK(content(list) == Integers{9, 5, 4});
  CHECK(change("clear", {}));
  CHECK_FALSE(change("pop", {}));
}

TEST_CASE("TorchScript: a dictionary keeps a key once") {
  const Item dictionary = Item::of_items(Kind::dict, {});
  CHECK(torchscript::set_item(dictionary, Item::of_text("a"), integer(1)));
  CHECK(torchscript::set_item(dictionary, Item::of_text("b"), integer(2)));
  CHECK(torchscript::set_item(dictionary, Item::of_text("a"), integer(3)));
  CHECK(content(result("values", dictionary)) == Integers{3, 2});
  CHECK(result("len", dictionary)->integer == 2);
  CHECK(result("__contains__", dictionary, Item::of_text("c"))->integer == 0);
  CHECK(result("items", dictionary)->items->size() == 2);
}

TEST_CASE("TorchScript: lists that hold themselves are not compared") {
  const Item list = integers({1});
  list.items->push_back(list);
  CHECK_FALSE(result("eq", list, Item::of_items(Kind::list, *list.items)));
  CHECK_FALSE(result("__contains__", list, list));
  list.items->clear();  // no owner of itself
}

TEST_CASE("TorchScript: powers are real numbers, of integers too, and texts are formatted") {
  CHECK(result("pow", integer(3), integer(2))->kind == Kind::real);
  CHECK(result("pow", integer(3), integer(2))->real == 9);
  CHECK(result("format", Item::of_text("{} of {}"), integer(1), Item::of_text("x"))->text == "1 of x");
  CHECK_FALSE(result("format", Item::of_text("no place"), integer(1)));
  CHECK(result("floor", Item::of_real(-1.5))->integer == -2);
  CHECK_FALSE(result("floor", Item::of_real(1e300)));
  CHECK(result("abs", integer(-4))->integer == 4);
  CHECK_FALSE(result("abs", integer(std::numeric_limits<std::int64_t>::min())));
}

}  // namespace onnxkit::tests::torchscript_lists
