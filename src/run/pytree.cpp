#include <edgefx/run/pytree.h>
#include <edgefx/support/python_text.h>

#include "serialization/tree_place.h"
#include "serialization/tree_spec.h"
#include "support/fail.h"

#include <ATen/core/ivalue.h>

#include <map>
#include <span>

namespace edgefx {
namespace detail {
namespace {

// Text of a key as Python writes it.
std::string keyText(const TreeKey& key) {
  std::string text;
  if (const auto* name = std::get_if<std::string>(&key)) {
    appendReprString(text, *name);
  } else if (const auto* number = std::get_if<int64_t>(&key)) {
    appendRepr(text, *number);
  } else if (const auto* real = std::get_if<double>(&key)) {
    appendRepr(text, *real);
  } else if (const auto* flag = std::get_if<bool>(&key)) {
    text = *flag ? "True" : "False";
  } else {
    text = "None";
  }
  return text;
}

// The key of an IValue dict; None for kinds that no spec has.
TreeKey treeKey(const c10::IValue& key) {
  if (key.isString()) return key.toStringRef();
  if (key.isInt()) return key.toInt();
  if (key.isBool()) return key.toBool();
  if (key.isDouble()) return key.toDouble();
  return std::monostate();
}

std::string_view containerName(const c10::IValue& value) {
  if (value.isTuple()) return "a tuple";
  if (value.isList()) return "a list";
  if (value.isGenericDict()) return "a dict";
  return {};
}

class TreeFlattener {
 public:
  void flatten(const c10::IValue& value, const TreeSpec& spec, const TreePlace& place) {
    switch (spec.kind) {
      case TreeKind::Leaf:
        if (const std::string_view name = containerName(value); !name.empty())
          refuse(place, "expected a single value, found {}", name);
        leaves.push_back(value);
        return;
      case TreeKind::Dict:
        return flattenDict(value, spec, place);
      case TreeKind::Tuple:
      case TreeKind::NamedTuple:
        if (!value.isTuple())
          refuse(place, "expected {} of {}, found {}", spec.type, spec.children.size(), kindOf(value));
        break;
      case TreeKind::List:
      case TreeKind::Deque:
        if (!value.isList())
          refuse(place, "expected {} of {}, found {}", spec.type, spec.children.size(), kindOf(value));
        break;
      case TreeKind::Other:
        if (!value.isTuple() && !value.isList()) {
          refuse(place, "expected the {} children of a '{}' as tuple or list, found {}", spec.children.size(),
                 spec.type, kindOf(value));
        }
        break;
    }
    if (value.isTuple()) {
      flattenItems(value.toTupleRef().elements().asArrayRef(), spec, place);
    } else {
      flattenItems(value.toListRef(), spec, place);
    }
  }

  template <typename... Args>
  [[noreturn]] static void refuse(const TreePlace& place, fmt::format_string<Args...> format,
                                  Args&&... args) {
    fail<UsageError>("{}: {}", place.text(), fmt::format(format, std::forward<Args>(args)...));
  }

  std::vector<c10::IValue> leaves;

 private:
  static std::string kindOf(const c10::IValue& value) {
    if (const std::string_view name = containerName(value); !name.empty()) return std::string(name);
    return value.tagKind();
  }

  void flattenItems(c10::ArrayRef<c10::IValue> items, const TreeSpec& spec, const TreePlace& place) {
    if (items.size() != spec.children.size())
      refuse(place, "expected {} of {}, found {} items", spec.type, spec.children.size(), items.size());
    for (size_t i = 0; i < items.size(); ++i)
      flatten(items[i], spec.children[i], TreePlace{&place, fmt::format("[{}]", i)});
  }

  void flattenDict(const c10::IValue& value, const TreeSpec& spec, const TreePlace& place) {
    if (!value.isGenericDict()) refuse(place, "expected {}, found {}", spec.type, kindOf(value));
    std::map<TreeKey, c10::IValue> entries;
    for (const auto& entry : value.toGenericDict()) {
      TreeKey key = treeKey(entry.key());
      if (std::holds_alternative<std::monostate>(key) && !entry.key().isNone())
        refuse(place, "a key of kind {}, expected text or a number", entry.key().tagKind());
      entries.emplace(std::move(key), entry.value());
    }
    for (size_t i = 0; i < spec.keys.size(); ++i) {
      const auto found = entries.find(spec.keys[i]);
      if (found == entries.end()) refuse(place, "key {} is missing", keyText(spec.keys[i]));
      flatten(found->second, spec.children[i], TreePlace{&place, fmt::format("[{}]", keyText(spec.keys[i]))});
      entries.erase(found);
    }
    if (!entries.empty()) refuse(place, "unexpected key {}", keyText(entries.begin()->first));
  }
};

c10::IValue keyValue(const TreeKey& key) {
  if (const auto* name = std::get_if<std::string>(&key)) return *name;
  if (const auto* number = std::get_if<int64_t>(&key)) return *number;
  if (const auto* real = std::get_if<double>(&key)) return *real;
  if (const auto* flag = std::get_if<bool>(&key)) return *flag;
  fail<UnsupportedError>("a dict with the key None cannot be made");
}

// The type that all keys have, or Any.
c10::TypePtr keyType(const std::vector<TreeKey>& keys) {
  for (const TreeKey& key : keys) {
    if (key.index() != keys.front().index()) return c10::AnyType::get();
  }
  if (keys.empty() || std::holds_alternative<std::string>(keys.front())) return c10::StringType::get();
  if (std::holds_alternative<int64_t>(keys.front())) return c10::IntType::get();
  if (std::holds_alternative<double>(keys.front())) return c10::FloatType::get();
  return c10::BoolType::get();
}

// Takes as many leaves from the front of the rest as the spec has.
c10::IValue build(const TreeSpec& spec, std::span<c10::IValue>& rest) {
  if (spec.kind == TreeKind::Leaf) {
    c10::IValue leaf = std::move(rest.front());
    rest = rest.subspan(1);
    return leaf;
  }
  if (spec.kind == TreeKind::Dict) {
    c10::impl::GenericDict dict(keyType(spec.keys), c10::AnyType::get());
    dict.reserve(spec.keys.size());
    for (size_t i = 0; i < spec.keys.size(); ++i)
      dict.insert(keyValue(spec.keys[i]), build(spec.children[i], rest));
    return dict;
  }
  if (spec.kind == TreeKind::List || spec.kind == TreeKind::Deque) {
    c10::impl::GenericList list(c10::AnyType::get());
    list.reserve(spec.children.size());
    for (const TreeSpec& child : spec.children) list.push_back(build(child, rest));
    return list;
  }
  std::vector<c10::IValue> items;
  items.reserve(spec.children.size());
  for (const TreeSpec& child : spec.children) items.push_back(build(child, rest));
  return c10::ivalue::Tuple::create(std::move(items));
}

}  // namespace
}  // namespace detail

using detail::fail;
using detail::TreeFlattener;
using detail::TreeKind;
using detail::TreePlace;
using detail::TreeSpec;

std::vector<c10::IValue> flatten(const c10::IValue& tree, std::string_view treeSpec) {
  const TreeSpec spec = detail::parseTreeSpec(treeSpec);
  TreeFlattener flattener;
  flattener.leaves.reserve(spec.leaves);
  flattener.flatten(tree, spec, TreePlace{nullptr, "tree"});
  return std::move(flattener.leaves);
}

c10::IValue unflatten(std::vector<c10::IValue> leaves, std::string_view treeSpec) {
  const TreeSpec spec = detail::parseTreeSpec(treeSpec);
  if (leaves.size() != spec.leaves)
    fail<UsageError>("expected {} values for the tree spec, found {}", spec.leaves, leaves.size());
  std::span<c10::IValue> rest(leaves);
  return detail::build(spec, rest);
}

std::vector<c10::IValue> flattenInputs(const ExportedProgram& program, const std::vector<c10::IValue>& args,
                                       const std::vector<NamedValue>& kwargs) {
  TreeFlattener flattener;
  if (program.moduleCallGraph.empty() || !program.moduleCallGraph.front().signature) {
    if (!kwargs.empty())
      fail<UsageError>("the program has no calling convention, and so no keyword arguments");
    const TreeSpec leaf;
    for (size_t i = 0; i < args.size(); ++i)
      flattener.flatten(args[i], leaf, TreePlace{nullptr, fmt::format("args[{}]", i)});
    return std::move(flattener.leaves);
  }
  const TreeSpec spec = detail::parseTreeSpec(program.moduleCallGraph.front().signature->inSpec);
  const bool isPair = spec.kind == TreeKind::Tuple && spec.children.size() == 2 &&
                      spec.children[0].kind == TreeKind::Tuple && spec.children[1].kind == TreeKind::Dict;
  if (!isPair)
    fail<UsageError>("expected an input tree spec of a tuple of arguments and a dict, found another");

  const std::vector<TreeSpec>& positional = spec.children[0].children;
  if (args.size() != positional.size()) {
    fail<UsageError>("expected {} positional arguments, found {}", positional.size(), args.size());
  }
  flattener.leaves.reserve(spec.leaves);
  for (size_t i = 0; i < args.size(); ++i)
    flattener.flatten(args[i], positional[i], TreePlace{nullptr, fmt::format("args[{}]", i)});

  std::map<std::string_view, const c10::IValue*> byName;
  for (const auto& [name, value] : kwargs) {
    if (!byName.emplace(name, &value).second) fail<UsageError>("keyword argument '{}' is given twice", name);
  }
  const TreeSpec& keywords = spec.children[1];
  for (size_t i = 0; i < keywords.keys.size(); ++i) {
    const auto* name = std::get_if<std::string>(&keywords.keys[i]);
    const auto found = name != nullptr ? byName.find(*name) : byName.end();
    if (found == byName.end())
      fail<UsageError>("keyword argument {} is missing", detail::keyText(keywords.keys[i]));
    flattener.flatten(*found->second, keywords.children[i], TreePlace{nullptr, *name});
    byName.erase(found);
  }
  if (!byName.empty()) fail<UsageError>("unexpected keyword argument '{}'", byName.begin()->first);
  return std::move(flattener.leaves);
}

}  // namespace edgefx
