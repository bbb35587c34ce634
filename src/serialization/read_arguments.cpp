#include <edgefx/ir/fx_text.h>

#include "serialization/byte_text.h"
#include "serialization/read_graph_scope.h"
#include "support/fail.h"

#include <algorithm>
#include <array>

namespace edgefx::detail {
namespace {

constexpr std::array<std::string_view, 2> kGraphArgumentMembers = {"name", "graph"};
constexpr std::array<std::string_view, 2> kComplexMembers = {"real", "imag"};
constexpr JsonStruct kGraphArgument{"GraphArgument", kGraphArgumentMembers};
constexpr JsonStruct kComplexValue{"ComplexValue", kComplexMembers};

enum class Tag : uint8_t {
  Tensor,
  Int,
  Ints,
  Float,
  None,
  Bool,
  ScalarType,
  Device,
  SymInt,
  SymInts,
  Tensors,
  Layout,
  MemoryFormat,
  String,
  OptionalTensors,
  Graph,
  Floats,
  SymBool,
  SymFloat,
  Operator,
  Strings,
  Bools,
  SymBools,
  SymFloats,
  CustomObj,
  Complex,
  IntLists,
  FloatLists,
  NestedTensors,
  StringToArgument,
};

// In the order of Tag, the frequent ones first.
constexpr std::array<std::string_view, 30> kTags = {
    "as_tensor",  "as_int",         "as_ints",          "as_float",          "as_none",
    "as_bool",    "as_scalar_type", "as_device",        "as_sym_int",        "as_sym_ints",
    "as_tensors", "as_layout",      "as_memory_format", "as_string",         "as_optional_tensors",
    "as_graph",   "as_floats",      "as_sym_bool",      "as_sym_float",      "as_operator",
    "as_strings", "as_bools",       "as_sym_bools",     "as_sym_floats",     "as_custom_obj",
    "as_complex", "as_int_lists",   "as_float_lists",   "as_nested_tensors", "as_string_to_argument"};

}  // namespace

Node& GraphReader::use(Scope& scope, std::string_view name) {
  ValueTable::Value* value = scope.table.findUsed(name);
  if (value == nullptr || value->node == nullptr) {
    json_.fail(fmt::format("value '{}' is used, but not defined before", printable(name)));
  }
  return *value->node;
}

Argument GraphReader::symbolicArgument(Scope& scope, JsonValue held, std::string_view tag) {
  auto [kind, value] = json_.tagged(held, tag);
  if (kind == "as_name") {
    Node& node = use(scope, json_.string(value, kind));
    expectKind(node, tag);
    return ArgumentWriter::makeNode(node);
  }
  if (kind == "as_int" && tag == "as_sym_int") return ArgumentWriter::makeInt(json_.integer(value, kind));
  if (kind == "as_float" && tag == "as_sym_float")
    return ArgumentWriter::makeFloat(json_.number(value, kind));
  if (kind == "as_bool" && tag == "as_sym_bool") return ArgumentWriter::makeBool(json_.boolean(value, kind));
  json_.fail(fmt::format("unknown tag '{}' of {}", printable(kind), tag));
}

template <typename Read>
Argument GraphReader::readList(Scope& scope, JsonValue held, std::string_view tag, ListHint hint,
                               Read&& read) {
  auto items = json_.array(held, tag);
  size_t count = countOf(items);
  Argument* list = scope.builder.arguments().allocate(count);
  size_t i = 0;
  for (JsonValue item : items) list[i++] = read(item);
  return ArgumentWriter::makeItems(ArgumentKind::List, list, count, hint);
}

Argument GraphReader::readGraphArgument(Scope& scope, JsonValue held) {
  std::string_view name;
  std::optional<JsonValue> graph;
  uint32_t seen = json_.members(
      held, kGraphArgument,
      [&](size_t i, JsonValue member) {
        if (i == 0) {
          name = json_.string(member, "name");
        } else {
          graph = member;
        }
      },
      kIgnore);
  json_.require(kGraphArgument, seen, 2);
  if (name.empty() || name.find('.') != std::string_view::npos) {
    json_.fail(fmt::format("'{}' cannot name a graph argument: it must not be empty nor hold a dot",
                           printable(name)));
  }

  std::string path = childPath(scope.path, name);
  auto child = std::make_unique<GraphModule>();
  read(*graph, *child, {}, path, scope.depth + 1);
  // A module that two calls use is stored with each of them.
  if (const GraphModule* known = scope.module.findChild(name)) {
    if (fxText(*known) != fxText(*child)) {
      json_.fail(fmt::format("graph argument '{}' is given twice with different contents", printable(name)));
    }
  } else {
    scope.module.addChild(name, std::move(child));
  }

  Node& node = scope.builder.append(NodeOp::GetAttr, name, name);
  scope.builder.finish(node, nullptr, 0, 0);
  node.setMeta(scope.meta);
  return ArgumentWriter::makeNode(node);
}

Argument GraphReader::readArgument(Scope& scope, JsonValue value) {
  auto [tag, held] = json_.tagged(value, "Argument");
  return readTagged(scope, tag, held);
}

Argument GraphReader::readTagged(Scope& scope, std::string_view tag, JsonValue held) {
  ArgumentWriter& writer = scope.builder.arguments();
  auto tensorItem = [&](JsonValue item) {
    Node& node = use(scope, tensorName(item));
    expectKind(node, "as_tensor");
    return ArgumentWriter::makeNode(node);
  };
  auto intItem = [&](JsonValue item) { return ArgumentWriter::makeInt(json_.integer(item, "as_ints item")); };
  auto floatItem = [&](JsonValue item) {
    return ArgumentWriter::makeFloat(json_.number(item, "as_floats item"));
  };
  auto boolItem = [&](JsonValue item) {
    return ArgumentWriter::makeBool(json_.boolean(item, "as_bools item"));
  };

  size_t index = 0;
  while (index < kTags.size() && !sameName(kTags[index], tag)) ++index;
  if (index == kTags.size()) json_.fail(fmt::format("unknown argument tag '{}'", printable(tag)));
  switch (static_cast<Tag>(index)) {
    case Tag::None:
      return Argument();
    case Tag::Tensor:
      return tensorItem(held);
    case Tag::Int:
      return ArgumentWriter::makeInt(json_.integer(held, tag));
    case Tag::Float:
      return ArgumentWriter::makeFloat(json_.number(held, tag));
    case Tag::Bool:
      return ArgumentWriter::makeBool(json_.boolean(held, tag));
    case Tag::String:
      return writer.makeText(ArgumentKind::String, json_.string(held, tag));
    case Tag::Complex: {
      double real = 0, imaginary = 0;
      uint32_t seen = json_.members(
          held, kComplexValue,
          [&](size_t i, JsonValue member) {
            (i == 0 ? real : imaginary) = json_.number(member, kComplexMembers[i]);
          },
          kIgnore);
      json_.require(kComplexValue, seen, 2);
      return writer.makeComplex(real, imaginary);
    }
    case Tag::ScalarType:
      return ArgumentWriter::makeNumber(ArgumentKind::Dtype, static_cast<int64_t>(values_.dtype(held)));
    case Tag::Layout:
      return ArgumentWriter::makeNumber(ArgumentKind::Layout, static_cast<int64_t>(values_.layout(held)));
    case Tag::MemoryFormat:
      return ArgumentWriter::makeNumber(ArgumentKind::MemoryFormat,
                                        static_cast<int64_t>(values_.memoryFormat(held)));
    case Tag::Device:
      return writer.makeText(ArgumentKind::Device, text(values_.device(held)));
    case Tag::Operator: {
      std::string_view name = json_.string(held, tag);
      try {
        return ArgumentWriter::makeOperator(caches_.target(name));
      } catch (const UsageError& error) {
        json_.fail(
            fmt::format("operator argument '{}': {}", printable(name), error.diagnostics().front().message));
      }
    }
    case Tag::CustomObj:
      return ArgumentWriter::makeNode(use(scope, json_.customObj(held).name));
    case Tag::Graph:
      return readGraphArgument(scope, held);
    case Tag::SymInt:
    case Tag::SymFloat:
    case Tag::SymBool:
      return symbolicArgument(scope, held, tag);
    case Tag::Tensors:
      return readList(scope, held, tag, ListHint::Tensors, tensorItem);
    case Tag::Ints:
      return readList(scope, held, tag, ListHint::Ints, intItem);
    case Tag::Floats:
      return readList(scope, held, tag, ListHint::Floats, floatItem);
    case Tag::Bools:
      return readList(scope, held, tag, ListHint::Bools, boolItem);
    case Tag::Strings:
      return readList(scope, held, tag, ListHint::Strings, [&](JsonValue item) {
        return writer.makeText(ArgumentKind::String, json_.string(item, "as_strings item"));
      });
    case Tag::SymInts:
      return readList(scope, held, tag, ListHint::SymInts,
                      [&](JsonValue item) { return symbolicArgument(scope, item, "as_sym_int"); });
    case Tag::SymFloats:
      return readList(scope, held, tag, ListHint::SymFloats,
                      [&](JsonValue item) { return symbolicArgument(scope, item, "as_sym_float"); });
    case Tag::SymBools:
      return readList(scope, held, tag, ListHint::SymBools,
                      [&](JsonValue item) { return symbolicArgument(scope, item, "as_sym_bool"); });
    case Tag::OptionalTensors:
      return readList(scope, held, tag, ListHint::OptionalTensors, [&](JsonValue item) {
        auto [kind, tensor] = json_.tagged(item, "OptionalTensorArgument");
        if (kind == "as_none") return Argument();
        if (kind != "as_tensor") {
          json_.fail(fmt::format("unknown tag '{}' of OptionalTensorArgument", printable(kind)));
        }
        return tensorItem(tensor);
      });
    case Tag::NestedTensors:
      return readList(scope, held, tag, ListHint::NestedTensors, [&](JsonValue item) {
        return readList(scope, item, tag, ListHint::Tensors, tensorItem);
      });
    case Tag::IntLists:
      // FX holds these as a list of tuples.
      return readList(scope, held, tag, ListHint::IntLists, [&](JsonValue item) {
        Argument list = readList(scope, item, tag, ListHint::Ints, intItem);
        std::span<const Argument> items = list.items();
        return ArgumentWriter::makeItems(ArgumentKind::Tuple, const_cast<Argument*>(items.data()),
                                         items.size());
      });
    case Tag::FloatLists:
      return readList(scope, held, tag, ListHint::FloatLists, [&](JsonValue item) {
        return readList(scope, item, tag, ListHint::Floats, floatItem);
      });
    case Tag::StringToArgument: {
      if (++nesting_ > ArgumentWriter::kDeepest) json_.fail("arguments are nested too deep");
      auto fields = json_.object(held, tag);
      UniqueNames keys;
      std::vector<Argument> items;
      for (auto field : fields) {
        if (!keys.add(field.key))
          json_.fail(fmt::format("key '{}' occurs twice in {}", printable(field.key), tag));
        items.push_back(writer.key(field.key));
        items.push_back(readArgument(scope, field.value));
      }
      Argument* pairs = writer.allocate(items.size());
      std::copy(items.begin(), items.end(), pairs);
      --nesting_;
      return ArgumentWriter::makeItems(ArgumentKind::Dict, pairs, items.size() / 2);
    }
  }
  json_.fail(fmt::format("unknown argument tag '{}'", printable(tag)));
}

}  // namespace edgefx::detail
