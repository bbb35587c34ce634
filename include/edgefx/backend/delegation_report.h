#pragma once

#include <edgefx/program/exported_program.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx {

// Call nodes by where they run. A call of a delegate is none itself, and neither is a getitem, which goes
// with its producer. Everything inside of a delegate is delegated: branches of control flow that moved into
// it, and delegates of its own program.
struct NodeCounts {
  size_t delegated = 0;
  size_t undelegated = 0;

  size_t total() const { return delegated + undelegated; }
  // How much of the total is delegated, rounded down to a tenth, so that 100 means all; none if there are no
  // nodes.
  std::optional<double> percent() const;
  bool operator==(const NodeCounts&) const = default;
};

struct OperatorCounts {
  std::string name;  // "aten.add.Tensor" in every dialect
  NodeCounts nodes;

  bool operator==(const OperatorCounts&) const = default;
};

// A delegate that a graph calls.
struct PartitionReport {
  std::string delegate;  // its name in the graph module
  std::string backend;
  size_t nodes = 0;
  size_t inputs = 0;   // that every call passes
  size_t outputs = 0;  // that every call returns
  size_t payloadBytes = 0;

  bool operator==(const PartitionReport&) const = default;
};

struct UndelegatedNode {
  std::string name;
  std::string operatorName;
  std::string source;  // NodeMeta::sourceFrame, may be empty
  std::string reason;  // the partitioner's, see kWhyNotDelegated; may be empty

  bool operator==(const UndelegatedNode&) const = default;
};

// One graph and the delegates that it calls, but not the graphs nested in it.
struct GraphModuleReport {
  std::string path;  // dotted, empty for the top level
  NodeCounts nodes;
  std::vector<OperatorCounts> operators;     // by total, most first, then by name
  std::vector<PartitionReport> partitions;   // in order of their first call, each once
  std::vector<UndelegatedNode> undelegated;  // in graph order
};

struct MethodReport {
  std::string method;
  NodeCounts nodes;
  std::vector<OperatorCounts> operators;   // of all graph modules
  std::vector<GraphModuleReport> modules;  // in the order of namedModules
};

struct DelegationReport {
  std::vector<MethodReport> methods;

  NodeCounts nodes() const;
};

// Which calls of a program are delegated and which are not. O(nodes, delegates' included), besides sorting
// operators.
MethodReport reportDelegation(const ExportedProgram& program, std::string_view method = "forward");

// Tables for people; ends with a line end. Texts of programs are shown on one line, control characters as
// blanks.
std::string text(const DelegationReport& report);

// The same for programs, as one line of JSON without a line end. Objects have the fields above as keys, with
// '_' between words, "name" for methods and "operator" for operatorName, and counts are objects of
// "delegated", "undelegated" and "percent", which is null where there are no nodes. Throws UsageError for
// texts that are not UTF-8.
std::string json(const DelegationReport& report);

}  // namespace edgefx
