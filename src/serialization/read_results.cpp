#include "serialization/byte_text.h"
#include "serialization/read_graph_scope.h"
#include "support/fail.h"

#include <algorithm>

namespace edgefx::detail {

Node& GraphReader::appendGetitem(Scope& scope, Node& producer, size_t index, std::string_view candidate,
                                 const MetaRef& meta) {
  static const Target& getitem = *new Target("operator.getitem");
  Node& node = scope.builder.append(getitem, candidate);
  Argument* arguments = scope.builder.arguments().allocate(2);
  arguments[0] = ArgumentWriter::makeNode(producer);
  arguments[1] = ArgumentWriter::makeInt(static_cast<int64_t>(index));
  scope.builder.finish(node, arguments, 2, 0);
  node.setMeta(meta);
  return node;
}

void GraphReader::readResults(Scope& scope, Target target, simdjson::dom::array outputs, JsonValue* hopFlag,
                              std::string_view name, const MetaRef& meta) {
  size_t count = outputs.size();
  auto symbolicName = [&](std::string_view tag, JsonValue held) -> std::string_view {
    auto [kind, text] = json_.tagged(held, tag);
    if (kind != "as_name") json_.fail(fmt::format("result '{}' must have a name", printable(tag)));
    return checkedName(json_.string(text, "as_name"), "a result");
  };
  auto isSymbolic = [](std::string_view tag) {
    return tag == "as_sym_int" || tag == "as_sym_bool" || tag == "as_sym_float";
  };

  // What the single result is called, if the node itself is that result.
  std::string_view own;
  bool isOneTuple = false, isNone = false;
  std::optional<JsonReader::Tagged> single;
  if (count == 1) {
    single = json_.tagged(*outputs.begin(), "Argument");
    bool isHop = target.kind() == TargetKind::HigherOrder;
    if (single->tag == "as_tensor" || isSymbolic(single->tag)) {
      own = single->tag == "as_tensor" ? tensorName(single->value) : symbolicName(single->tag, single->value);
      isOneTuple = isHop && hopFlag != nullptr && !json_.boolean(*hopFlag, "is_hop_single_tensor_return");
    } else if (single->tag == "as_tensors") {
      // Files without the flag wrote a tuple of one so.
      isOneTuple = isHop && hopFlag == nullptr && json_.array(single->value, "as_tensors").size() == 1;
    } else if (single->tag == "as_none") {
      isNone = true;
    } else {
      json_.fail(fmt::format("result tag '{}' is not one a node can have", printable(single->tag)));
    }
  }

  std::string made;
  std::string_view candidate = name;
  if (isNone) {
    // torch names these after the target, whatever the file says.
    candidate = made = fmt::format("{}_unused", target.nameCandidate());
  } else if (candidate.empty()) {
    candidate = !own.empty() && !isOneTuple ? own : target.nameCandidate();
  }
  Node& node = scope.builder.append(target, candidate);
  Argument* arguments = scope.builder.arguments().allocate(positional_.size() + keyword_.size());
  std::copy(positional_.begin(), positional_.end(), arguments);
  std::copy(keyword_.begin(), keyword_.end(), arguments + positional_.size());
  scope.builder.finish(node, arguments, positional_.size(), keyword_.size() / 2);
  node.setMeta(meta);
  json_.place.node = node.name();

  if (count == 0) return;
  if (isNone) {
    node.setValue(ValueMeta::of(ValueMeta::None()));
    return;
  }
  if (!own.empty() && !isOneTuple) {
    node.setName(own);
    define(scope, own, node);
    json_.place.node = node.name();
    return;
  }

  ValueMeta::Sequence results;
  auto addTensors = [&](Node& producer, JsonValue held, ValueMeta::Sequence& into) {
    size_t i = 0;
    for (JsonValue item : json_.array(held, "as_tensors")) {
      std::string_view result = tensorName(item);
      Node& getitem = appendGetitem(scope, producer, i++, result, meta);
      define(scope, result, getitem);
      into.elements.push_back(getitem.valueRef());
    }
  };
  if (single && single->tag == "as_tensors") {
    results.isList = !isOneTuple;
    addTensors(node, single->value, results);
  } else {
    size_t i = 0;
    for (JsonValue output : outputs) {
      auto [tag, held] = json_.tagged(output, "Argument");
      if (tag == "as_tensor" || isSymbolic(tag)) {
        std::string_view result = tag == "as_tensor" ? tensorName(held) : symbolicName(tag, held);
        Node& getitem = appendGetitem(scope, node, i, result, meta);
        define(scope, result, getitem);
        results.elements.push_back(getitem.valueRef());
      } else if (tag == "as_none") {
        Node& getitem = appendGetitem(scope, node, i, "as_none", meta);
        getitem.setValue(ValueMeta::of(ValueMeta::None()));
        results.elements.push_back(getitem.valueRef());
      } else if (tag == "as_tensors") {
        Node& getitem = appendGetitem(scope, node, i, "getitem", meta);
        ValueMeta::Sequence list;
        list.isList = true;
        addTensors(getitem, held, list);
        getitem.setValue(ValueMeta::of(std::move(list)));
        results.elements.push_back(getitem.valueRef());
      } else {
        json_.fail(
            fmt::format("result {} has tag '{}', which is not one a node can have", i, printable(tag)));
      }
      ++i;
    }
  }
  node.setValue(ValueMeta::of(std::move(results)));
}

}  // namespace edgefx::detail
