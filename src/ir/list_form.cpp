#include "ir/list_form.h"

#include <edgefx/ir/node.h>

namespace edgefx::detail {
namespace {

// What an item of a list is, as far as the choice of the list's tag goes; a set of them is a mask.
enum ListItem : uint32_t {
  kBool = 1 << 0,
  kInt = 1 << 1,
  kFloat = 1 << 2,
  kString = 1 << 3,
  kNone = 1 << 4,
  kTensor = 1 << 5,
  kSymInt = 1 << 6,
  kSymFloat = 1 << 7,
  kSymBool = 1 << 8,
  kList = 1 << 9,
  kOther = 1 << 10,
};

uint32_t itemOf(const Node& node) {
  if (node.value() == nullptr) return kOther;
  const auto& data = node.value()->data;
  if (std::holds_alternative<TensorMeta>(data) || std::holds_alternative<ValueMeta::Token>(data))
    return kTensor;
  if (std::holds_alternative<ValueMeta::SymIntValue>(data)) return kSymInt;
  if (std::holds_alternative<ValueMeta::SymFloatValue>(data)) return kSymFloat;
  if (std::holds_alternative<ValueMeta::SymBoolValue>(data)) return kSymBool;
  if (std::holds_alternative<ValueMeta::None>(data)) return kNone;
  return kOther;
}

uint32_t itemOf(const Argument& argument) {
  switch (argument.kind()) {
    case ArgumentKind::Bool:
      return kBool;
    case ArgumentKind::Int:
      return kInt;
    case ArgumentKind::Float:
      return kFloat;
    case ArgumentKind::String:
      return kString;
    case ArgumentKind::None:
      return kNone;
    case ArgumentKind::Node:
      return itemOf(argument.asNode());
    case ArgumentKind::List:
    case ArgumentKind::Tuple:
      return kList;
    default:
      return kOther;
  }
}

// The kinds of items that lists under a tag may have, and of items of their items.
struct ListForm {
  ListHint hint;
  uint32_t items;
  uint32_t inner;
};

// In the order in which torch tries them.
constexpr ListForm kForms[] = {
    {ListHint::Bools, kBool, 0},
    {ListHint::Ints, kInt, 0},
    {ListHint::Floats, kFloat, 0},
    {ListHint::Strings, kString, 0},
    {ListHint::SymInts, kInt | kSymInt, 0},
    {ListHint::SymFloats, kFloat | kSymFloat, 0},
    {ListHint::SymBools, kBool | kSymBool, 0},
    {ListHint::Tensors, kTensor, 0},
    {ListHint::NestedTensors, kList, kTensor},
    {ListHint::OptionalTensors, kTensor | kNone, 0},
    {ListHint::IntLists, kList, kInt},
    {ListHint::FloatLists, kList, kFloat},
};

struct ListItems {
  uint32_t items = 0, inner = 0;

  explicit ListItems(const Argument& list) {
    for (const Argument& item : list.items()) {
      items |= itemOf(item);
      for (const Argument& innerItem : item.items()) inner |= itemOf(innerItem);
    }
  }
  // The form of that hint, or the first one, that takes the items; Any if there is none.
  ListHint formFor(ListHint wanted) const {
    ListHint first = ListHint::Any;
    for (const ListForm& form : kForms) {
      if ((items & ~form.items) != 0 || (inner & ~form.inner) != 0) continue;
      if (form.hint == wanted) return form.hint;
      if (first == ListHint::Any) first = form.hint;
    }
    return first;
  }
};

}  // namespace

bool isTensorItem(const Argument& item) {
  return itemOf(item) == kTensor;
}

ListHint listForm(const Argument& list, bool inHigherOrder) {
  const ListItems found(list);
  if (found.items == 0 && list.listHint() == ListHint::Any)
    return inHigherOrder ? ListHint::Tensors : ListHint::Ints;
  return found.formFor(list.listHint());
}

bool hintMatters(const Argument& list) {
  if (list.listHint() == ListHint::Any) return false;
  const ListItems found(list);
  return found.items == 0 || found.formFor(list.listHint()) != found.formFor(ListHint::Any);
}

}  // namespace edgefx::detail
