#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/program/lowered_module.h>

#include "serialization/json_reader.h"

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace edgefx::detail {

// The record in which edgefx keeps what a model's own JSON has no place for, since PyTorch and viewers are to
// read that: the dialect, for edge operators are called by the ATen operators they wrap; delegates, of which
// the JSON says only the name; and small things of which it says nothing. Each member is absent where there
// is nothing to say:
//
//   {"dialect": "EDGE",
//    "aten_nodes": ["PATH:NODE", ...],       operators that are not edge operators
//    "verifiers": ["EDGE"],                  of an edge program, if not ["ATEN"]
//    "modules": [                            graph modules with delegates
//      {"path": "true_graph_0",
//       "delegates": [{"name": "lowered_module_0", "number": 2}, ...],
//       "get_attrs": [{"name": ..., "target": "lowered_module_0", "metadata": {...},
//                      "calls": [{"at": 7, "is_list": true}, ...]}, ...]}],
//    "list_outputs": ["PATH", ...],          graph modules that return a list and not a tuple
//    "orders": [{"path": "", "nodes": ["x", ...]}, ...],  all nodes, where not in the order of readers
//    "metadata": [{"path": "", "node": "x", "entries": {...}}, ...]}
//
// `at` counts nodes of the JSON, which has none for get_attr and getitem. `metadata` is that of placeholders,
// outputs, and of getitem and get_attr nodes if it differs from that of the call.
struct EdgeRecord {
  using Metadata = std::vector<std::pair<std::string, std::string>>;
  struct Call {
    uint64_t at = 0;
    bool isList = false;  // the call's value is a list and not a tuple
  };
  struct GetAttr {
    std::string name, target;
    Metadata metadata;
    std::vector<Call> calls;
  };
  struct Module {
    std::string path;
    std::vector<std::pair<std::string, uint64_t>> delegates;  // name, number in the archive
    std::vector<GetAttr> getAttrs;
  };

  struct Order {
    std::string path;
    std::vector<std::string> nodes;
  };
  struct NodeMetadata {
    std::string path, node;
    Metadata entries;
  };

  bool isEdge = false;
  std::set<std::string, std::less<>> atenNodes;
  std::vector<std::string> verifiers;
  bool hasVerifiers = false;
  std::vector<Module> modules;
  std::vector<std::string> listOutputs;
  std::vector<Order> orders;
  std::vector<NodeMetadata> metadata;
};

using DelegateNumbers = std::unordered_map<const LoweredModule*, size_t>;

// Whether there is anything for the record to say.
bool needsEdgeRecord(const ExportedProgram& program);

// The text of the record. `numbers` has all delegates of the program. Throws UnsupportedError for a delegate
// that is used otherwise than as the first argument of executorch_call_delegate.
std::string edgeRecord(const ExportedProgram& program, const DelegateNumbers& numbers = {});

// Throws ParseError, as does the next.
EdgeRecord readEdgeRecord(JsonValue json, std::string_view record);

// Gives the nodes of a graph the order of `names`, if these are the names of all its nodes. Returns whether
// it could: false, changing nothing, if a node would come after one that uses it.
bool reorder(Graph& graph, const std::vector<std::string>& names);

// Completes a program read from the JSON of its model. `delegate` gives the one of a number.
void applyEdgeRecord(const EdgeRecord& edge, std::string_view record, ExportedProgram& program,
                     const std::function<LoweredModuleRef(uint64_t)>& delegate);

// Drops the getitem nodes of results that nobody uses: files name every result, edge graphs hold only those
// in use.
void dropUnusedResults(ExportedProgram& program);

// Makes the value of a call of a delegate a list or a tuple, of no results if nothing is known of it: files
// say neither.
void restoreDelegateResults(Node& call, bool isList);

}  // namespace edgefx::detail
