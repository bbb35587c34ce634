#include <edgefx/passes/pass.h>
#include <edgefx/support/error.h>

#include "passes/follow_signature.h"
#include "support/fail.h"

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace edgefx {
namespace {

class FunctionProgramPass final : public Pass {
 public:
  FunctionProgramPass(std::string_view name, std::function<bool(ExportedProgram&)> run)
      : name_(name), run_(std::move(run)) {}

  std::string_view name() const override { return name_; }
  bool run(ExportedProgram& program) const override { return run_(program); }

 private:
  std::string name_;
  std::function<bool(ExportedProgram&)> run_;
};

class FunctionGraphPass final : public GraphPass {
 public:
  FunctionGraphPass(std::string_view name, std::function<bool(GraphModule&)> run)
      : name_(name), run_(std::move(run)) {}

  std::string_view name() const override { return name_; }

 protected:
  bool runOnGraph(GraphModule& module) const override { return run_(module); }

 private:
  std::string name_;
  std::function<bool(GraphModule&)> run_;
};

void checkFunctionPass(std::string_view name, bool isCallable) {
  if (name.empty()) detail::fail<UsageError>("a pass needs a name, found an empty one");
  if (!isCallable) detail::fail<UsageError>("pass '{}' needs a function, found an empty one", name);
}

// Paths of the children that nodes of the module name, in order, the last one first.
std::vector<std::string> childrenNamed(const GraphModule& module, const std::string& path) {
  std::vector<std::string> paths;
  for (const Node* node = module.graph().back(); node != nullptr; node = node->prev()) {
    if (!node->isGetAttr() && node->op() != NodeOp::CallModule) continue;
    if (module.findChild(node->targetText()) == nullptr) continue;
    paths.push_back(childPath(path, node->targetText()));
  }
  return paths;
}

}  // namespace

bool GraphPass::run(ExportedProgram& program) const {
  const detail::SignatureFollower follower(program);
  bool isChanged = false;
  // By path: a run may erase modules that were named before.
  std::vector<std::string> pending{std::string()};
  std::unordered_set<std::string> reached;
  while (!pending.empty()) {
    const std::string path = std::move(pending.back());
    pending.pop_back();
    GraphModule* module = program.graphModule().findChild(path);
    if (module == nullptr || !reached.insert(path).second) continue;
    try {
      isChanged = runOnGraph(*module) || isChanged;
    } catch (Error& error) {
      Diagnostic known;
      known.graph = path;
      error.fillIn(known);
      throw;
    }
    for (std::string& child : childrenNamed(*module, path)) pending.push_back(std::move(child));
  }
  follower.apply(program);
  return isChanged;
}

PassRef programPass(std::string_view name, std::function<bool(ExportedProgram&)> run) {
  checkFunctionPass(name, run != nullptr);
  return std::make_shared<const FunctionProgramPass>(name, std::move(run));
}

PassRef graphPass(std::string_view name, std::function<bool(GraphModule&)> run) {
  checkFunctionPass(name, run != nullptr);
  return std::make_shared<const FunctionGraphPass>(name, std::move(run));
}

}  // namespace edgefx
