#include "dialect/view_copies.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace edgefx::detail {
namespace {

// Without "aten.", in the order of their bytes. The copy is called "<op>_copy" but for those of the second
// table.
constexpr std::string_view kViews[] = {"alias.default",
                                       "as_strided.default",
                                       "detach.default",
                                       "diagonal.default",
                                       "expand.default",
                                       "permute.default",
                                       "select.int",
                                       "slice.Tensor",
                                       "split.Tensor",
                                       "split_with_sizes.default",
                                       "squeeze.default",
                                       "squeeze.dim",
                                       "squeeze.dims",
                                       "t.default",
                                       "transpose.int",
                                       "unbind.int",
                                       "unfold.default",
                                       "unsqueeze.default",
                                       "view.default",
                                       "view.dtype",
                                       "view_as_complex.default",
                                       "view_as_real.default"};

}  // namespace

std::optional<Target> viewCopyOf(Target target) {
  if (target.ns() != "aten") return std::nullopt;
  if (target.name() == "aten._unsafe_view.default") return Target("aten.view_copy.default");
  if (target.name() == "aten._reshape_alias.default") return Target("aten._reshape_alias_copy.default");
  const std::string_view name = target.name().substr(std::string_view("aten.").size());
  if (!std::binary_search(std::begin(kViews), std::end(kViews), name)) return std::nullopt;
  std::string copy = "aten.";
  copy += target.op();
  copy += "_copy.";
  copy += target.overload();
  return Target(copy);
}

bool isViewOrPacket(Target target) {
  if (target.kind() != TargetKind::Packet) return viewCopyOf(target).has_value();
  return target.ns() == "aten" &&
         std::any_of(std::begin(kViews), std::end(kViews),
                     [&](std::string_view view) { return view.substr(0, view.find('.')) == target.op(); });
}

}  // namespace edgefx::detail
