#include "serialization/write_graph.h"

#include <edgefx/ir/operators.h>
#include <edgefx/program/lowered_module.h>

#include "support/fail.h"

namespace edgefx::detail {
namespace {

constexpr int kDeepestWrittenGraph = 128;  // what the reader takes

// An effect token has no description of its own: it is written as the empty tensor that torch has for it.
const ValueMeta& tokenTensor() {
  static const ValueRef kToken = ValueMeta::of(contiguousTensor(Dtype::Float32, {0}));
  return *kToken;
}

bool isNone(const ValueMeta* value) {
  if (value == nullptr || std::holds_alternative<ValueMeta::None>(value->data)) return true;
  const auto* constant = std::get_if<ValueMeta::Constant>(&value->data);
  return constant != nullptr && std::holds_alternative<std::monostate>(constant->value);
}

// Names of positional arguments of a function, whose schema nobody has.
std::string functionArgumentName(Target target, size_t i) {
  std::string_view name = target.name();
  if (name == "torch.sym_ite") return i < 3 ? std::string(1, "btf"[i]) : std::string();
  bool isArithmetic = name.starts_with("operator.") || name.starts_with("math.") ||
                      name.starts_with("torch.sym_") || name.starts_with("torch._sym_");
  if (isArithmetic && i < 26) return std::string(1, static_cast<char>('a' + i));
  return {};
}

}  // namespace

GraphWriter::GraphWriter(ModelWriter& model, const GraphModule& module, std::string path, int depth)
    : model_(model),
      json_(model.json),
      module_(module),
      path_(std::move(path)),
      depth_(depth),
      names_(module.graph(), path_) {
  if (depth_ > kDeepestWrittenGraph)
    fail<UnsupportedError>("graphs nested deeper than {} levels", kDeepestWrittenGraph);
  for (const GraphModule::Child& child : module.children()) children_.emplace(child.name, child.module.get());
}

// Runs `write`; errors that pass through are told that they happened at `node`.
template <typename Write>
void GraphWriter::naming(const Node& node, Write&& write) {
  try {
    write();
  } catch (Error& error) {
    Diagnostic known;
    known.graph = path_;
    known.node = node.name();
    known.nodeText = node.text();
    if (error.diagnostics().front().node.empty()) error.fillIn(known);
    throw;
  }
}

std::string GraphWriter::graphPath() const {
  return path_.empty() ? "graph_module.graph" : "graph_module.graph/" + path_;
}

void GraphWriter::write() {
  const Graph& graph = module_.graph();
  const Node& output = graph.outputNode();
  json_.beginObject();
  json_.key("inputs");
  json_.beginArray();
  for (const Node& node : graph.nodes()) {
    if (node.isPlaceholder()) naming(node, [&] { writeInput(node); });
  }
  json_.endArray();
  json_.key("outputs");
  naming(output, [&] { writeOutputs(output); });
  json_.key("nodes");
  json_.beginArray();
  for (const Node& node : graph.nodes()) {
    if (node.isPlaceholder() || node.isGetAttr() || node.isOutput() || ResultNames::isGetitem(node)) continue;
    naming(node, [&] { writeNode(node); });
  }
  json_.endArray();
  writeTables(output.arg(0).isNode());
  if (model_.hasUnknown) model_.appendUnknown(graphPath());
  json_.endObject();
}

void GraphWriter::writeOutputs(const Node& output) {
  const Argument& value = output.arg(0);
  json_.beginArray();
  if (value.isNode()) {
    writeUse(value.asNode());
  } else if (value.isSequence()) {
    for (const Argument& item : value.items()) {
      switch (item.kind()) {
        case ArgumentKind::Node:
        case ArgumentKind::None:
        case ArgumentKind::Bool:
        case ArgumentKind::Int:
        case ArgumentKind::Float:
        case ArgumentKind::String:
          writeArgument(item);
          break;
        default:
          fail<UnsupportedError>("expected nodes, numbers, text or None as results, found {}",
                                 edgefx::name(item.kind()));
      }
    }
  } else {
    fail<UnsupportedError>("expected a node or a tuple as result, found {}", edgefx::name(value.kind()));
  }
  json_.endArray();
}

void GraphWriter::writeNode(const Node& node) {
  if (!node.isCall()) fail<UnsupportedError>("a .pt2 file cannot hold a {} node", edgefx::name(node.op()));
  Target target = node.target();
  json_.beginObject();
  json_.key("target");
  if (model_.edgeTargets == EdgeTargets::Exir && target.kind() == TargetKind::EdgeOperator) {
    json_.string(fmt::format("executorch.exir.dialects.edge.ops.{}", target.name()));
  } else {
    json_.string(target.fileText());
  }
  json_.key("inputs");
  writeInputs(node);
  json_.key("outputs");
  writeResults(node);
  json_.key("metadata");
  writeMetadata(node.meta());
  if (target.kind() == TargetKind::HigherOrder) {
    json_.key("is_hop_single_tensor_return");
    json_.boolean(!isNone(node.value()) && node.value()->sequence() == nullptr);
  } else {
    json_.raw(R"("is_hop_single_tensor_return": null)");
  }
  json_.key("name");
  json_.string(node.name());
  if (model_.hasUnknown) model_.appendUnknown(fmt::format("{}.nodes[{}]", graphPath(), node.name()));
  json_.endObject();
}

void GraphWriter::writeInputs(const Node& node) {
  Target target = node.target();
  inHigherOrder_ = target.kind() == TargetKind::HigherOrder;
  inputIndex_ = 0;
  json_.beginArray();
  const OperatorInfo* schema = target.isOperator() ? findOperator(target) : nullptr;
  if (schema != nullptr) {
    writeSchemaInputs(node, *schema);
  } else {
    const std::vector<std::string>* known = nullptr;
    if (!inHigherOrder_ && !node.args().empty()) {
      auto found = model_.program.argumentNames.find(target.name());
      if (found != model_.program.argumentNames.end()) known = &found->second;
    }
    for (size_t i = 0; i < node.args().size(); ++i) {
      std::string name;
      if (known != nullptr && i < known->size()) {
        name = (*known)[i];
      } else if (target.kind() == TargetKind::Function) {
        name = functionArgumentName(target, i);
      } else if (!inHigherOrder_) {
        name = fmt::format("arg{}", i);
      }
      writeNamedArgument(node, name, node.arg(i), false);
    }
    for (auto [key, value] : node.kwargs()) writeNamedArgument(node, key, value, true);
  }
  json_.endArray();
}

void GraphWriter::writeSchemaInputs(const Node& node, const OperatorInfo& schema) {
  size_t positional = node.args().size();
  if (positional > schema.arguments.size()) {
    fail<UnsupportedError>("operator '{}' takes {} arguments, found {} positional ones", node.target().name(),
                           schema.arguments.size(), positional);
  }
  size_t keywords = 0;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const std::string& name = schema.arguments[i].name;
    if (i < positional) {
      writeNamedArgument(node, name, node.arg(i), false);
    } else if (keywords < node.kwargs().size()) {
      const Argument* value = node.findKwarg(name);
      if (value == nullptr) continue;
      writeNamedArgument(node, name, *value, true);
      ++keywords;
    }
  }
  if (keywords == node.kwargs().size()) return;
  for (auto [key, value] : node.kwargs()) {
    size_t i = 0;
    while (i < schema.arguments.size() && schema.arguments[i].name != key) ++i;
    if (i == schema.arguments.size()) {
      fail<UnsupportedError>("operator '{}' has no argument '{}'", node.target().name(), key);
    }
    if (i < positional) {
      fail<UnsupportedError>("argument '{}' of operator '{}' is given by position and by name", key,
                             node.target().name());
    }
  }
}

void GraphWriter::writeNamedArgument(const Node& node, std::string_view name, const Argument& value,
                                     bool isKeyword) {
  json_.beginObject();
  json_.key("name");
  json_.string(name);
  json_.key("arg");
  try {
    writeArgument(value);
  } catch (Error& error) {
    // Errors inside a nested graph name their own argument.
    if (error.diagnostics().front().node.empty()) {
      error.addNote(name.empty() ? fmt::format("in argument {}", inputIndex_)
                                 : fmt::format("in argument {} ('{}')", inputIndex_, name));
    }
    throw;
  }
  json_.raw(isKeyword ? R"("kind": 2)" : R"("kind": 1)");
  if (model_.hasUnknown) {
    model_.appendUnknown(fmt::format("{}.nodes[{}].inputs[{}]", graphPath(), node.name(), inputIndex_));
  }
  json_.endObject();
  ++inputIndex_;
}

void GraphWriter::writeMetadata(const NodeMeta& meta) {
  json_.beginObject();
  for (const NodeMeta::Entry& entry : meta.entries()) {
    json_.key(entry.key);
    if (entry.text.use_count() > 1) {
      json_.raw(model_.texts.quoted(*entry.text));
    } else {
      json_.string(*entry.text);
    }
  }
  json_.endObject();
}

void GraphWriter::writeInput(const Node& node) {
  const ValueMeta* value = node.value();
  if (value == nullptr) fail<UnsupportedError>("nothing is known of the input's value");
  if (const auto* constant = std::get_if<ValueMeta::Constant>(&value->data)) {
    writeConstant(json_, constant->value);
  } else if (isNone(value)) {
    writeNone(json_);
  } else {
    writeResult(node.name(), *value);
  }
}

void GraphWriter::writeResults(const Node& node) {
  const ValueMeta* value = node.value();
  json_.beginArray();
  if (value != nullptr) {
    const auto* sequence = value->sequence();
    bool isHigherOrder = node.target().kind() == TargetKind::HigherOrder;
    if (sequence == nullptr) {
      if (isNone(value)) {
        writeNone(json_);
      } else {
        writeResult(node.name(), *value);
      }
    } else if (sequence->isList && !callsDelegate(node)) {
      writeListResult(*sequence, [&](size_t i) {
        const Node* reader = names_.getitem(node, i);
        return reader != nullptr ? reader->name() : unusedName(node, std::to_string(i));
      });
    } else {
      const auto& entries = sequence->elements;
      // One entry alone reads as the value of the node itself, unless a flag says otherwise, which only
      // tensors and numbers of higher-order calls have.
      bool isAmbiguous = entries.size() == 1 &&
                         (!isHigherOrder || isNone(entries[0].get()) || entries[0]->sequence() != nullptr);
      if (isAmbiguous) fail<UnsupportedError>("a .pt2 file cannot hold this tuple of a single result");
      for (size_t i = 0; i < entries.size(); ++i) writeTupleEntry(node, i, entries[i].get());
    }
  }
  json_.endArray();
}

void GraphWriter::writeTupleEntry(const Node& node, size_t i, const ValueMeta* value) {
  const Node* reader = names_.getitem(node, i);
  if (isNone(value)) {
    writeNone(json_);
  } else if (const auto* list = value->sequence()) {
    if (!list->isList) fail<UnsupportedError>("result {} is a tuple, which a .pt2 file cannot hold", i);
    writeListResult(*list, [&](size_t j) {
      const Node* inner = reader != nullptr ? names_.getitem(*reader, j) : nullptr;
      return inner != nullptr ? inner->name() : unusedName(node, fmt::format("{}_{}", i, j));
    });
  } else {
    writeResult(reader != nullptr ? reader->name() : unusedName(node, std::to_string(i)), *value);
  }
}

template <typename NameOf>
void GraphWriter::writeListResult(const ValueMeta::Sequence& list, NameOf&& nameOf) {
  json_.beginObject();
  json_.key("as_tensors");
  json_.beginArray();
  for (size_t i = 0; i < list.elements.size(); ++i) {
    const ValueMeta* element = list.elements[i].get();
    if (element == nullptr || element->tensor() == nullptr) {
      fail<UnsupportedError>("expected a list of tensors as result, found {} at {}",
                             element != nullptr ? element->text() : "None", i);
    }
    std::string_view name = nameOf(i);
    writeName(json_, name);
    tensors_.emplace_back(name, element);
  }
  json_.endArray();
  json_.endObject();
}

void GraphWriter::writeResult(std::string_view name, const ValueMeta& value) {
  const auto& data = value.data;
  auto symbolic = [&](std::string_view tag, Produced& table) {
    writeSymbolicName(json_, tag, name);
    table.emplace_back(name, &value);
  };
  if (value.tensor() != nullptr || std::holds_alternative<ValueMeta::Token>(data)) {
    writeNamed(json_, "as_tensor", name);
    tensors_.emplace_back(name, value.tensor() != nullptr ? &value : &tokenTensor());
  } else if (std::holds_alternative<ValueMeta::SymIntValue>(data)) {
    symbolic("as_sym_int", symInts_);
  } else if (std::holds_alternative<ValueMeta::SymFloatValue>(data)) {
    symbolic("as_sym_float", symFloats_);
  } else if (std::holds_alternative<ValueMeta::SymBoolValue>(data)) {
    symbolic("as_sym_bool", symBools_);
  } else if (const auto* object = std::get_if<ValueMeta::CustomObject>(&data)) {
    json_.beginObject();
    json_.key("as_custom_obj");
    writeCustomObject(json_, name, object->className);
    json_.endObject();
    customObjects_.emplace_back(name, &value);
  } else {
    fail<UnsupportedError>("a .pt2 file cannot hold the result {}", value.text());
  }
}

// The name of a result that no node reads; not that of any node, since tables of values are keyed by names.
std::string_view GraphWriter::unusedName(const Node& node, std::string_view suffix) {
  std::string name = fmt::format("{}_unused_{}", node.name(), suffix);
  while (module_.graph().find(name) != nullptr) name += '_';
  return madeNames_.emplace_back(std::move(name));
}

template <typename Write>
void GraphWriter::writeTable(std::string_view key, const Produced& values, Write&& write) {
  json_.key(key);
  json_.beginObject();
  for (const auto& [name, value] : values) {
    json_.key(name);
    write(name, *value);
  }
  json_.endObject();
}

void GraphWriter::writeTables(bool isSingle) {
  writeTable("tensor_values", tensors_, [&](std::string_view name, const ValueMeta& value) {
    if (!model_.hasUnknown) {
      json_.raw(model_.texts.tensorMeta(*value.tensor()));
      return;
    }
    openTensorMeta(json_, *value.tensor());
    model_.appendUnknown(fmt::format("{}.tensor_values[{}]", graphPath(), name));
    json_.endObject();
  });
  writeTable("sym_int_values", symInts_, [&](std::string_view, const ValueMeta& value) {
    writeSymInt(json_, std::get<ValueMeta::SymIntValue>(value.data).value);
  });
  writeTable("sym_bool_values", symBools_, [&](std::string_view, const ValueMeta& value) {
    writeSymBool(json_, std::get<ValueMeta::SymBoolValue>(value.data));
  });
  json_.key("is_single_tensor_return");
  json_.boolean(isSingle);
  writeTable("custom_obj_values", customObjects_, [&](std::string_view name, const ValueMeta& value) {
    writeCustomObject(json_, name, std::get<ValueMeta::CustomObject>(value.data).className);
  });
  writeTable("sym_float_values", symFloats_, [&](std::string_view, const ValueMeta& value) {
    writeSymFloat(json_, std::get<ValueMeta::SymFloatValue>(value.data));
  });
}

}  // namespace edgefx::detail
