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
// read that: the dialect, for edge operators are called by the ATen operators they wrap; and delegates, where
// the JSON says only their name:
//
//   {"dialect": "EDGE",                      absent for other dialects
//    "aten_nodes": ["PATH:NODE", ...],       operators that are not edge operators; absent if none
//    "verifiers": ["EDGE"],                  of an edge program, if not ["ATEN"]
//    "modules": [                            graph modules with delegates; absent if none
//      {"path": "true_graph_0",
//       "delegates": [{"name": "lowered_module_0", "number": 2}, ...],
//       "get_attrs": [{"name": ..., "target": "lowered_module_0", "before": 7, "metadata": {...},
//                      "calls": [{"at": 7, "is_list": true,
//                                 "results": [{"index": 0, "metadata": {...}}, ...]}, ...]}, ...]}]}
//
// Of the get_attr nodes in such modules those of branches are listed, too, for their places. `results` has
// the getitem nodes whose metadata differ from that of the call; absent if none do. Places in a graph are
// counted in nodes of the JSON, which has none for get_attr and getitem.
struct EdgeRecord {
  using Metadata = std::vector<std::pair<std::string, std::string>>;
  struct Result {
    int64_t index = 0;
    Metadata metadata;
  };
  struct Call {
    uint64_t at = 0;
    bool isList = false;  // the call's value is a list and not a tuple
    std::vector<Result> results;
  };
  struct GetAttr {
    std::string name, target;
    uint64_t before = 0;
    Metadata metadata;
    std::vector<Call> calls;
  };
  struct Module {
    std::string path;
    std::vector<std::pair<std::string, uint64_t>> delegates;  // name, number in the archive
    std::vector<GetAttr> getAttrs;
  };

  bool isEdge = false;
  std::set<std::string, std::less<>> atenNodes;
  std::vector<std::string> verifiers;
  bool hasVerifiers = false;
  std::vector<Module> modules;
};

using DelegateNumbers = std::unordered_map<const LoweredModule*, size_t>;

// Whether there is anything for the record to say.
bool needsEdgeRecord(const ExportedProgram& program);

// The text of the record. `numbers` has all delegates of the program. Throws UnsupportedError for a delegate
// that is used otherwise than as the first argument of executorch_call_delegate.
std::string edgeRecord(const ExportedProgram& program, const DelegateNumbers& numbers = {});

// Throws ParseError, as does the next.
EdgeRecord readEdgeRecord(JsonValue json, std::string_view record);

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
