#include "rewrite/owned_copy.h"

#include <string>
#include <utility>

namespace edgefx::detail {

Arg ownedCopy(const Argument& argument) {
  const auto copies = [&] {
    Arg::List items;
    for (const Argument& item : argument.items()) items.push_back(ownedCopy(item));
    return items;
  };
  switch (argument.kind()) {
    case ArgumentKind::None:
      return {};
    case ArgumentKind::Bool:
      return argument.asBool();
    case ArgumentKind::Int:
      return argument.asInt();
    case ArgumentKind::Float:
      return argument.asFloat();
    case ArgumentKind::Complex: {
      const auto [real, imaginary] = argument.asComplex();
      return Arg::complex(real, imaginary);
    }
    case ArgumentKind::String:
      return std::string(argument.asString());
    case ArgumentKind::Node:
      return argument.asNode();
    case ArgumentKind::List:
      return Arg::list(copies());
    case ArgumentKind::Tuple:
      return Arg::tuple(copies());
    case ArgumentKind::Dict: {
      Arg::Items items;
      for (auto [key, value] : argument.asDict()) items.emplace_back(std::string(key), ownedCopy(value));
      return Arg::dict(std::move(items));
    }
    case ArgumentKind::Slice: {
      Arg::List items = copies();
      return Arg::slice(items[0], items[1], items[2]);
    }
    case ArgumentKind::Range: {
      Arg::List items = copies();
      return Arg::range(items[0], items[1], items[2]);
    }
    case ArgumentKind::Ellipsis:
      return Arg::ellipsis();
    case ArgumentKind::Symbolic:
      return argument.asSymbolic();
    case ArgumentKind::Dtype:
      return argument.asDtype();
    case ArgumentKind::Layout:
      return argument.asLayout();
    case ArgumentKind::MemoryFormat:
      return argument.asMemoryFormat();
    case ArgumentKind::Device:
      return Arg::device(std::string(argument.asDevice()));
    case ArgumentKind::Operator:
      return argument.asOperator();
  }
  return {};
}

}  // namespace edgefx::detail
