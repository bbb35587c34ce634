#include "ir/list_form.h"
#include "serialization/write_graph.h"
#include "support/fail.h"

namespace edgefx::detail {

void GraphWriter::writeArgument(const Argument& argument) {
  if (const Node* node = argument.findNode()) {
    writeUse(*node);
    return;
  }
  if (argument.isSequence()) {
    writeList(argument);
    return;
  }
  if (argument.isNone()) {
    writeNone(json_);
    return;
  }
  json_.beginObject();
  switch (argument.kind()) {
    case ArgumentKind::Bool:
      json_.key("as_bool");
      json_.boolean(argument.asBool());
      break;
    case ArgumentKind::Int:
      json_.key("as_int");
      json_.integer(argument.asInt());
      break;
    case ArgumentKind::Float:
      json_.key("as_float");
      json_.number(argument.asFloat());
      break;
    case ArgumentKind::Complex:
      json_.key("as_complex");
      json_.beginObject();
      json_.key("real");
      json_.number(argument.asComplex().first);
      json_.key("imag");
      json_.number(argument.asComplex().second);
      json_.endObject();
      break;
    case ArgumentKind::String:
      json_.key("as_string");
      json_.string(argument.asString());
      break;
    case ArgumentKind::Dict:
      json_.key("as_string_to_argument");
      json_.beginObject();
      for (auto [key, value] : argument.asDict()) {
        json_.key(key);
        writeArgument(value);
      }
      json_.endObject();
      break;
    case ArgumentKind::Dtype:
      json_.key("as_scalar_type");
      json_.integer(static_cast<int64_t>(argument.asDtype()));
      break;
    case ArgumentKind::Layout:
      json_.key("as_layout");
      json_.integer(static_cast<int64_t>(argument.asLayout()));
      break;
    case ArgumentKind::MemoryFormat:
      json_.key("as_memory_format");
      json_.integer(static_cast<int64_t>(argument.asMemoryFormat()));
      break;
    case ArgumentKind::Device:
      json_.key("as_device");
      writeDevice(json_, parseDevice(argument.asDevice()));
      break;
    case ArgumentKind::Operator:
      json_.key("as_operator");
      json_.string(argument.asOperator().fileText());
      break;
    default:
      fail<UnsupportedError>("a .pt2 file cannot hold an argument of kind '{}'",
                             edgefx::name(argument.kind()));
  }
  json_.endObject();
}

void GraphWriter::writeUse(const Node& node) {
  if (node.isGetAttr()) {
    writeGetAttr(node);
    return;
  }
  if (node.value() == nullptr) fail<UnsupportedError>("nothing is known of the value of '%{}'", node.name());
  std::string_view name = names_.nameOf(node);
  const auto& data = node.value()->data;
  if (std::holds_alternative<TensorMeta>(data) || std::holds_alternative<ValueMeta::Token>(data)) {
    writeNamed(json_, "as_tensor", name);
  } else if (std::holds_alternative<ValueMeta::SymIntValue>(data)) {
    writeSymbolicName(json_, "as_sym_int", name);
  } else if (std::holds_alternative<ValueMeta::SymFloatValue>(data)) {
    writeSymbolicName(json_, "as_sym_float", name);
  } else if (std::holds_alternative<ValueMeta::SymBoolValue>(data)) {
    writeSymbolicName(json_, "as_sym_bool", name);
  } else if (const auto* object = std::get_if<ValueMeta::CustomObject>(&data)) {
    json_.beginObject();
    json_.key("as_custom_obj");
    writeCustomObject(json_, name, object->className);
    json_.endObject();
  } else if (const auto* constant = std::get_if<ValueMeta::Constant>(&data)) {
    // No table of values has an entry for a constant input, so that nothing can refer to it by name.
    writeConstant(json_, constant->value);
  } else if (std::holds_alternative<ValueMeta::None>(data)) {
    writeNone(json_);
  } else {
    fail<UnsupportedError>("'%{}' has several results, of which only getitem can take one", node.name());
  }
}

void GraphWriter::writeGetAttr(const Node& node) {
  std::string_view target = node.targetText();
  auto child = children_.find(target);
  json_.beginObject();
  if (child != children_.end()) {
    json_.key("as_graph");
    json_.beginObject();
    json_.key("name");
    json_.string(target);
    json_.key("graph");
    std::string path = path_.empty() ? std::string(target) : fmt::format("{}.{}", path_, target);
    GraphWriter(model_, *child->second, std::move(path), depth_ + 1).write();
    json_.endObject();
  } else if (inHigherOrder_ && inputIndex_ == 0 && module_.findDelegate(target) != nullptr) {
    // No tag is for delegates. As text the name of one is read by all; the edge record says what it is.
    json_.key("as_string");
    json_.string(target);
  } else {
    const auto* object =
        node.value() != nullptr ? std::get_if<ValueMeta::CustomObject>(&node.value()->data) : nullptr;
    if (object == nullptr) {
      fail<UnsupportedError>(
          "'%{}' gets '{}', which is not a graph module of this graph's own; nothing else can be written",
          node.name(), target);
    }
    json_.key("as_custom_obj");
    writeCustomObject(json_, target, object->className);
  }
  json_.endObject();
}

template <typename Write>
void GraphWriter::writeItems(std::string_view tag, const Argument& list, Write&& write) {
  json_.beginObject();
  json_.key(tag);
  json_.beginArray();
  for (const Argument& item : list.items()) write(item);
  json_.endArray();
  json_.endObject();
}

void GraphWriter::writeList(const Argument& list) {
  auto integer = [&](const Argument& item) { json_.integer(item.asInt()); };
  auto number = [&](const Argument& item) { json_.number(item.asFloat()); };
  auto boolean = [&](const Argument& item) { json_.boolean(item.asBool()); };
  auto tensor = [&](const Argument& item) { writeName(json_, names_.nameOf(item.asNode())); };
  auto nested = [&](const auto& write) {
    return [&](const Argument& item) {
      json_.beginArray();
      for (const Argument& inner : item.items()) write(inner);
      json_.endArray();
    };
  };
  auto symbolic = [&](std::string_view numberTag, const auto& write) {
    return [&, numberTag](const Argument& item) {
      json_.beginObject();
      if (const Node* node = item.findNode()) {
        json_.key("as_name");
        json_.string(names_.nameOf(*node));
      } else {
        json_.key(numberTag);
        write(item);
      }
      json_.endObject();
    };
  };
  switch (listForm(list, inHigherOrder_)) {
    case ListHint::Bools:
      return writeItems("as_bools", list, boolean);
    case ListHint::Ints:
      return writeItems("as_ints", list, integer);
    case ListHint::Floats:
      return writeItems("as_floats", list, number);
    case ListHint::Strings:
      return writeItems("as_strings", list, [&](const Argument& item) { json_.string(item.asString()); });
    case ListHint::SymInts:
      return writeItems("as_sym_ints", list, symbolic("as_int", integer));
    case ListHint::SymFloats:
      return writeItems("as_sym_floats", list, symbolic("as_float", number));
    case ListHint::SymBools:
      return writeItems("as_sym_bools", list, symbolic("as_bool", boolean));
    case ListHint::Tensors:
      return writeItems("as_tensors", list, tensor);
    case ListHint::NestedTensors:
      return writeItems("as_nested_tensors", list, nested(tensor));
    case ListHint::OptionalTensors:
      return writeItems("as_optional_tensors", list, [&](const Argument& item) {
        if (isTensorItem(item)) {
          writeUse(item.asNode());
        } else {
          writeNone(json_);
        }
      });
    case ListHint::IntLists:
      return writeItems("as_int_lists", list, nested(integer));
    case ListHint::FloatLists:
      return writeItems("as_float_lists", list, nested(number));
    case ListHint::Any:
      break;
  }
  fail<UnsupportedError>("a .pt2 file cannot hold a list of such items");
}

}  // namespace edgefx::detail
