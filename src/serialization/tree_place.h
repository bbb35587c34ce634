#pragma once

#include <string>

namespace edgefx::detail {

// Where in a tree of containers, for messages: "args[0]['x']". Lives on the stack of the walk.
struct TreePlace {
  const TreePlace* outer;
  std::string step;

  std::string text() const { return outer != nullptr ? outer->text() + step : step; }
};

}  // namespace edgefx::detail
