#include <edgefx/backend/delegation_report.h>

#include "support/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace edgefx {
namespace {

using detail::JsonWriter;

std::string onOneLine(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  return line;
}

// Code points.
size_t widthOf(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
}

// Columns under their titles, numbers to the right, all else to the left.
class TextTable {
 public:
  struct Column {
    std::string title;
    bool isNumber = false;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
    for (const Column& column : columns_) widths_.push_back(widthOf(column.title));
  }

  void add(std::vector<std::string> cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      cells[i] = onOneLine(cells[i]);
      widths_[i] = std::max(widths_[i], widthOf(cells[i]));
    }
    rows_.push_back(std::move(cells));
  }

  // Appends nothing if there are no rows.
  void appendTo(std::string& out, std::string_view indent) const {
    if (rows_.empty()) return;
    std::vector<std::string> titles;
    for (const Column& column : columns_) titles.push_back(column.title);
    appendRow(out, indent, titles);
    for (const std::vector<std::string>& row : rows_) appendRow(out, indent, row);
  }

 private:
  void appendRow(std::string& out, std::string_view indent, const std::vector<std::string>& cells) const {
    out += indent;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string blanks(widths_[i] - widthOf(cells[i]), ' ');
      if (i > 0) out += "  ";
      out += columns_[i].isNumber ? blanks + cells[i] : cells[i] + blanks;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }

  std::vector<Column> columns_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

std::string countsText(const NodeCounts& nodes) {
  std::string text = fmt::format("{} of {} nodes delegated", nodes.delegated, nodes.total());
  if (const std::optional<double> percent = nodes.percent()) text += fmt::format(" ({:.1f} %)", *percent);
  return text;
}

void appendOperators(std::string& out, const std::vector<OperatorCounts>& operators,
                     std::string_view indent) {
  TextTable table({{"operator"}, {"delegated", true}, {"not", true}, {"%", true}});
  for (const OperatorCounts& row : operators) {
    table.add({row.name, std::to_string(row.nodes.delegated), std::to_string(row.nodes.undelegated),
               fmt::format("{:.1f}", row.nodes.percent().value_or(0))});
  }
  table.appendTo(out, indent);
}

void appendPartitions(std::string& out, const std::vector<PartitionReport>& partitions) {
  TextTable table({{"delegate"},
                   {"backend"},
                   {"nodes", true},
                   {"inputs", true},
                   {"outputs", true},
                   {"payload bytes", true}});
  for (const PartitionReport& row : partitions) {
    table.add({row.delegate, row.backend, std::to_string(row.nodes), std::to_string(row.inputs),
               std::to_string(row.outputs), std::to_string(row.payloadBytes)});
  }
  table.appendTo(out, "    ");
}

void appendUndelegated(std::string& out, const std::vector<UndelegatedNode>& nodes) {
  TextTable table({{"not delegated"}, {"operator"}, {"source"}, {"reason"}});
  auto orDash = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
  for (const UndelegatedNode& row : nodes) {
    table.add({row.name, row.operatorName, orDash(row.source), orDash(row.reason)});
  }
  table.appendTo(out, "    ");
}

void writeCounts(JsonWriter& writer, const NodeCounts& nodes) {
  writer.beginObject();
  writer.key("delegated");
  writer.integer(static_cast<int64_t>(nodes.delegated));
  writer.key("undelegated");
  writer.integer(static_cast<int64_t>(nodes.undelegated));
  writer.key("percent");
  if (const std::optional<double> percent = nodes.percent()) {
    writer.number(*percent);
  } else {
    writer.null();
  }
  writer.endObject();
}

void writeField(JsonWriter& writer, std::string_view key, std::string_view value) {
  writer.key(key);
  writer.string(value);
}

void writeField(JsonWriter& writer, std::string_view key, size_t value) {
  writer.key(key);
  writer.integer(static_cast<int64_t>(value));
}

void writeField(JsonWriter& writer, std::string_view key, const NodeCounts& nodes) {
  writer.key(key);
  writeCounts(writer, nodes);
}

// One object an item, whose fields `write` writes.
template <typename T, typename Write>
void writeObjects(JsonWriter& writer, std::string_view key, const std::vector<T>& items, Write write) {
  writer.key(key);
  writer.beginArray();
  for (const T& item : items) {
    writer.beginObject();
    write(writer, item);
    writer.endObject();
  }
  writer.endArray();
}

void writeOperator(JsonWriter& writer, const OperatorCounts& counts) {
  writeField(writer, "name", counts.name);
  writeField(writer, "nodes", counts.nodes);
}

void writePartition(JsonWriter& writer, const PartitionReport& partition) {
  writeField(writer, "delegate", partition.delegate);
  writeField(writer, "backend", partition.backend);
  writeField(writer, "nodes", partition.nodes);
  writeField(writer, "inputs", partition.inputs);
  writeField(writer, "outputs", partition.outputs);
  writeField(writer, "payload_bytes", partition.payloadBytes);
}

void writeUndelegated(JsonWriter& writer, const UndelegatedNode& node) {
  writeField(writer, "name", node.name);
  writeField(writer, "operator", node.operatorName);
  writeField(writer, "source", node.source);
  writeField(writer, "reason", node.reason);
}

void writeModule(JsonWriter& writer, const GraphModuleReport& module) {
  writeField(writer, "path", module.path);
  writeField(writer, "nodes", module.nodes);
  writeObjects(writer, "operators", module.operators, writeOperator);
  writeObjects(writer, "partitions", module.partitions, writePartition);
  writeObjects(writer, "undelegated", module.undelegated, writeUndelegated);
}

void writeMethod(JsonWriter& writer, const MethodReport& method) {
  writeField(writer, "name", method.method);
  writeField(writer, "nodes", method.nodes);
  writeObjects(writer, "operators", method.operators, writeOperator);
  writeObjects(writer, "modules", method.modules, writeModule);
}

}  // namespace

std::string text(const DelegationReport& report) {
  std::string out;
  for (const MethodReport& method : report.methods) {
    out += fmt::format("method {}: {}\n", onOneLine(method.method), countsText(method.nodes));
    if (method.modules.size() > 1) appendOperators(out, method.operators, "  ");
    for (const GraphModuleReport& module : method.modules) {
      const std::string name =
          module.path.empty() ? "top level" : fmt::format("graph module {}", onOneLine(module.path));
      out += fmt::format("  {}: {}\n", name, countsText(module.nodes));
      appendOperators(out, module.operators, "    ");
      appendPartitions(out, module.partitions);
      appendUndelegated(out, module.undelegated);
    }
  }
  if (report.methods.size() != 1) out += fmt::format("all methods: {}\n", countsText(report.nodes()));
  return out;
}

std::string json(const DelegationReport& report) {
  JsonWriter writer;
  writer.beginObject();
  writeField(writer, "nodes", report.nodes());
  writeObjects(writer, "methods", report.methods, writeMethod);
  writer.endObject();
  return writer.take();
}

}  // namespace edgefx
