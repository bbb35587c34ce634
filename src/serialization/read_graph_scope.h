#pragma once

#include "serialization/read_graph.h"

#include <string>
#include <string_view>
#include <vector>

namespace edgefx::detail {

// One graph being read.
struct GraphReader::Scope {
  Scope(GraphModule& owner, const std::string& dottedPath, int nesting, size_t values)
      : module(owner), path(dottedPath), depth(nesting), builder(owner.graph()), table(values) {}

  GraphModule& module;
  const std::string& path;
  int depth;
  GraphBuilder builder;
  ValueTable table;
  MetaRef meta;  // of the node being read
  // Keys of keyword arguments, stored once per graph while they are few.
  std::vector<Argument> keys;

  Argument key(std::string_view text) {
    constexpr size_t kMostKeys = 32;
    for (const Argument& known : keys) {
      if (known.asString() == text) return known;
    }
    Argument made = builder.arguments().key(text);
    if (keys.size() < kMostKeys) keys.push_back(made);
    return made;
  }
};

}  // namespace edgefx::detail
