#include <edgefx/program/compare_programs.h>
#include <edgefx/program/lowered_module.h>
#include <edgefx/program/tensor_table.h>

#include "ir/list_form.h"
#include "program/same_keyed.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace edgefx {
namespace {

bool isSameNumber(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// Alternatives of variants, of which the numbers are compared by their bits.
template <typename Variant>
bool isSameScalar(const Variant& a, const Variant& b) {
  const auto* left = std::get_if<double>(&a);
  const auto* right = std::get_if<double>(&b);
  return left != nullptr && right != nullptr ? isSameNumber(*left, *right) : a == b;
}

bool isSameSymbolic(const Symbolic& a, const Symbolic& b) {
  return a.expression.text() == b.expression.text() && isSameScalar(a.hint, b.hint);
}

bool isSameSymInt(const SymInt& a, const SymInt& b) {
  if (a.isSymbolic() != b.isSymbolic()) return false;
  return a.isSymbolic() ? isSameSymbolic(*a.symbolic(), *b.symbolic()) : a.value() == b.value();
}

bool isSameTensor(const TensorMeta& a, const TensorMeta& b) {
  return a.dtype == b.dtype && a.layout == b.layout && a.requiresGrad == b.requiresGrad &&
         a.device == b.device && std::ranges::equal(a.sizes, b.sizes, isSameSymInt) &&
         std::ranges::equal(a.strides, b.strides, isSameSymInt) &&
         isSameSymInt(a.storageOffset, b.storageOffset);
}

template <typename Value>
bool isSamePlainOrSymbolic(const Value& a, const Value& b) {
  if (a.index() != b.index()) return false;
  const auto* symbolic = std::get_if<Symbolic>(&a);
  if (symbolic != nullptr) return isSameSymbolic(*symbolic, std::get<Symbolic>(b));
  return isSameNumber(static_cast<double>(std::get<0>(a)), static_cast<double>(std::get<0>(b)));
}

bool isSameValue(const ValueMeta* a, const ValueMeta* b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr || a->data.index() != b->data.index()) return false;
  struct Compare {
    const ValueMeta::Data& other;

    bool operator()(const TensorMeta& tensor) const {
      return isSameTensor(tensor, std::get<TensorMeta>(other));
    }
    bool operator()(const ValueMeta::SymIntValue& number) const {
      return isSameSymInt(number.value, std::get<ValueMeta::SymIntValue>(other).value);
    }
    bool operator()(const ValueMeta::SymFloatValue& number) const {
      return isSamePlainOrSymbolic(number.value, std::get<ValueMeta::SymFloatValue>(other).value);
    }
    bool operator()(const ValueMeta::SymBoolValue& value) const {
      return isSamePlainOrSymbolic(value.value, std::get<ValueMeta::SymBoolValue>(other).value);
    }
    bool operator()(const ValueMeta::Token&) const { return true; }
    bool operator()(const ValueMeta::CustomObject& object) const {
      return object.className == std::get<ValueMeta::CustomObject>(other).className;
    }
    bool operator()(const ValueMeta::Constant& constant) const {
      return isSameScalar(constant.value, std::get<ValueMeta::Constant>(other).value);
    }
    bool operator()(const ValueMeta::Sequence& sequence) const {
      const auto& right = std::get<ValueMeta::Sequence>(other);
      const auto same = [](const ValueRef& x, const ValueRef& y) { return isSameValue(x.get(), y.get()); };
      return sequence.isList == right.isList && std::ranges::equal(sequence.elements, right.elements, same);
    }
    bool operator()(const ValueMeta::None&) const { return true; }
  };
  return std::visit(Compare{b->data}, a->data);
}

using Positions = std::unordered_map<const Node*, size_t>;

Positions positionsOf(const Graph& graph) {
  Positions positions;
  positions.reserve(graph.size());
  for (const Node& node : graph.nodes()) positions.emplace(&node, positions.size());
  return positions;
}

class ArgumentComparison {
 public:
  ArgumentComparison(const Graph& before, const Graph& after)
      : before_(positionsOf(before)), after_(positionsOf(after)) {}

  bool same(std::span<const Argument> a, std::span<const Argument> b) const {
    return std::ranges::equal(a, b, [this](const Argument& x, const Argument& y) { return same(x, y); });
  }
  bool same(const KeyedArguments& a, const KeyedArguments& b) const {
    return detail::sameKeyed(a, b, [this](const Argument& x, const Argument& y) { return same(x, y); });
  }

 private:
  bool same(const Argument& a, const Argument& b) const {
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
      case ArgumentKind::Node: {
        const auto left = before_.find(a.findNode()), right = after_.find(b.findNode());
        return left != before_.end() && right != after_.end() && left->second == right->second;
      }
      case ArgumentKind::List:
      case ArgumentKind::Tuple:
        return (a.listHint() == b.listHint() || (!detail::hintMatters(a) && !detail::hintMatters(b))) &&
               same(a.items(), b.items());
      case ArgumentKind::Slice:
      case ArgumentKind::Range:
        return same(a.items(), b.items());
      case ArgumentKind::Dict:
        return same(a.asDict(), b.asDict());
      case ArgumentKind::Symbolic:
        return a.asSymbolic().text() == b.asSymbolic().text();
      default:
        return a == b;
    }
  }

  Positions before_, after_;
};

bool isSameMeta(const NodeMeta& a, const NodeMeta& b) {
  const auto same = [](const NodeMeta::Entry& x, const NodeMeta::Entry& y) {
    return x.key == y.key && *x.text == *y.text;
  };
  return a.delegationTag() == b.delegationTag() && std::ranges::equal(a.entries(), b.entries(), same);
}

std::string_view textOfBytes(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A nan is not equal to itself, and must not make specs differ.
template <typename Spec>
bool isSameSpec(Spec a, Spec b) {
  if (!isSameScalar(a.arg.value, b.arg.value)) return false;
  a.arg.value = b.arg.value = ConstantScalar();
  return a == b;
}

class ContentComparison {
 public:
  std::optional<Diagnostic> compare(const ExportedProgram& before, const ExportedProgram& after,
                                    const std::string& path) {
    if (auto found = compareModules(before.graphModule(), after.graphModule(), path)) return found;
    const auto part = [&]() -> const char* {
      if (!isSameSignature(before.signature, after.signature)) return "graph signature";
      if (before.rangeConstraints != after.rangeConstraints) return "range constraints";
      if (before.moduleCallGraph != after.moduleCallGraph) return "module call graph";
      if (before.namedTupleFields != after.namedTupleFields) return "fields of named tuples";
      if (before.opsetVersion != after.opsetVersion) return "opset versions";
      if (!(before.schemaVersion == after.schemaVersion)) return "schema version";
      if (before.torchVersion != after.torchVersion) return "version of torch";
      if (before.verifiers != after.verifiers) return "verifiers";
      if (before.guardsCode != after.guardsCode) return "guards";
      if (before.dialect != after.dialect) return "dialect";
      if (before.exampleInputs.text() != after.exampleInputs.text()) return "example inputs";
      if (before.unknownMembers != after.unknownMembers) return "unknown members";
      if (before.argumentNames != after.argumentNames) return "argument names";
      return nullptr;
    }();
    if (part != nullptr) return difference(path, fmt::format("the {} changed", part));
    if (auto found = compareTables(before.stateDict(), after.stateDict(), path, "state dict")) return found;
    return compareTables(before.constants(), after.constants(), path, "table of constants");
  }

 private:
  static Diagnostic difference(const std::string& path, std::string message) {
    Diagnostic diagnostic(std::move(message));
    diagnostic.graph = path;
    return diagnostic;
  }

  static bool isSameSignature(const GraphSignature& a, const GraphSignature& b) {
    return std::ranges::equal(a.inputs, b.inputs, isSameSpec<InputSpec>) &&
           std::ranges::equal(a.outputs, b.outputs, isSameSpec<OutputSpec>);
  }

  static const char* differingPart(const Node& a, const Node& b, const ArgumentComparison& arguments) {
    if (a.op() != b.op()) return "kind";
    if (a.name() != b.name()) return "name";
    if (a.isCall() ? !(a.target() == b.target()) : a.targetText() != b.targetText()) return "target";
    if (!arguments.same(a.args(), b.args())) return "arguments";
    if (!arguments.same(a.kwargs(), b.kwargs())) return "keyword arguments";
    if (!isSameValue(a.value(), b.value())) return "value";
    if (!isSameMeta(a.meta(), b.meta())) return "metadata";
    return nullptr;
  }

  static std::optional<Diagnostic> compareGraphs(const Graph& before, const Graph& after,
                                                 const std::string& path) {
    const ArgumentComparison arguments(before, after);
    const Node* a = before.front();
    const Node* b = after.front();
    for (; a != nullptr && b != nullptr; a = a->next(), b = b->next()) {
      const char* part = differingPart(*a, *b, arguments);
      if (part == nullptr) continue;
      Diagnostic found = difference(
          path, fmt::format("the {} of a node changed: expected {}, found {}", part, a->text(), b->text()));
      found.node = a->name();
      return found;
    }
    if (a == nullptr && b == nullptr) return std::nullopt;
    Diagnostic found = difference(path, a != nullptr ? "a node was removed" : "a node was added");
    found.node = (a != nullptr ? *a : *b).name();
    return found;
  }

  std::optional<Diagnostic> compareModules(const GraphModule& before, const GraphModule& after,
                                           const std::string& top) {
    struct Pair {
      const GraphModule *before, *after;
      std::string path;
    };
    std::vector<Pair> pending{{&before, &after, top}};
    while (!pending.empty()) {
      const Pair pair = std::move(pending.back());
      pending.pop_back();
      if (auto found = compareGraphs(pair.before->graph(), pair.after->graph(), pair.path)) return found;
      const auto sameName = [](const auto& a, const auto& b) { return a.name == b.name; };
      if (!std::ranges::equal(pair.before->children(), pair.after->children(), sameName))
        return difference(pair.path, "the nested graph modules changed");
      const auto sameDelegate = [](const auto& a, const auto& b) {
        return a.name == b.name && a.hasEffect == b.hasEffect;
      };
      if (!std::ranges::equal(pair.before->delegates(), pair.after->delegates(), sameDelegate))
        return difference(pair.path, "the delegates changed");
      if (pair.before->metadata != pair.after->metadata)
        return difference(pair.path, "the module's metadata changed");
      for (size_t i = 0; i < pair.before->delegates().size(); ++i) {
        const GraphModule::Delegate &left = pair.before->delegates()[i], &right = pair.after->delegates()[i];
        if (auto found = compareLowered(*left.module, *right.module, childPath(pair.path, left.name)))
          return found;
      }
      for (size_t i = pair.before->children().size(); i-- > 0;) {
        const GraphModule::Child& child = pair.before->children()[i];
        pending.push_back(
            {child.module.get(), pair.after->children()[i].module.get(), childPath(pair.path, child.name)});
      }
    }
    return std::nullopt;
  }

  std::optional<Diagnostic> compareLowered(const LoweredModule& before, const LoweredModule& after,
                                           const std::string& path) {
    const auto [left, isNew] = lowered_.emplace(&before, &after);
    const auto [right, isNewAfter] = loweredAfter_.emplace(&after, &before);
    if (left->second != &after || right->second != &before)
      return difference(path, "which delegates are one changed");
    if (!isNew) return std::nullopt;
    const auto sameData = [](const NamedData& a, const NamedData& b) {
      return a.key == b.key && a.bytes.text() == b.bytes.text() && a.alignment == b.alignment &&
             a.externalTag == b.externalTag;
    };
    const char* part = before.backendId != after.backendId                                ? "backend"
                       : before.processedBytes.text() != after.processedBytes.text()      ? "payload"
                       : before.compileSpecs != after.compileSpecs                        ? "compile specs"
                       : before.debugHandleMap != after.debugHandleMap                    ? "debug handles"
                       : !std::ranges::equal(before.namedData, after.namedData, sameData) ? "named data"
                                                                                          : nullptr;
    if (part != nullptr) return difference(path, fmt::format("the {} of a delegate changed", part));
    return compare(before.program, after.program, path);
  }

  std::optional<Diagnostic> compareTables(const TensorTable& before, const TensorTable& after,
                                          const std::string& path, std::string_view what) {
    auto other = after.begin();
    for (const TensorTable::Entry& entry : before) {
      if (other == after.end() || other->name != entry.name) {
        return difference(path,
                          fmt::format("the {} changed: expected an entry '{}', found {}", what, entry.name,
                                      other == after.end() ? "none" : "'" + other->name + "'"));
      }
      if (!isSameStored(entry.value, other->value))
        return difference(path, fmt::format("the {} changed: '{}' is another tensor", what, entry.name));
      ++other;
    }
    if (other == after.end()) return std::nullopt;
    return difference(path, fmt::format("the {} changed: found a new entry '{}'", what, other->name));
  }

  // Also whether each shares its memory with the same earlier ones.
  bool isSameStored(const StoredTensor& a, const StoredTensor& b) {
    if (a.isParameter != b.isParameter || a.isTensor() != b.isTensor() || a.isRaw() != b.isRaw())
      return false;
    if (a.opaquePrefix() != b.opaquePrefix() ||
        a.opaqueRecord().text().size() != b.opaqueRecord().text().size())
      return false;
    if (a.isOpaque() && a.opaqueRecord().text() != b.opaqueRecord().text()) return false;
    if ((a.meta() == nullptr) != (b.meta() == nullptr)) return false;
    if (a.meta() != nullptr && !isSameTensor(*a.meta(), *b.meta())) return false;
    if (a.isOpaque()) return true;
    const std::span<const std::byte> left = a.storage(), right = b.storage();
    if (left.size() != right.size()) return false;
    if (left.empty()) return true;
    const auto [before, isNew] = storages_.emplace(std::pair(left.data(), left.size()), right.data());
    const auto [after, isNewAfter] =
        storagesAfter_.emplace(std::pair(right.data(), right.size()), left.data());
    if (before->second != right.data() || after->second != left.data()) return false;
    return !isNew || textOfBytes(left) == textOfBytes(right);
  }

  std::unordered_map<const LoweredModule*, const LoweredModule*> lowered_, loweredAfter_;
  std::map<std::pair<const std::byte*, size_t>, const std::byte*> storages_,
      storagesAfter_;  // looked up only
};

}  // namespace

std::optional<Diagnostic> findContentDifference(const ExportedProgram& before, const ExportedProgram& after) {
  return ContentComparison().compare(before, after, "");
}

}  // namespace edgefx
