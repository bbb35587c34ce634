#include <edgefx/support/error.h>
#include <edgefx/text/fx_reader.h>

#include "support/fail.h"
#include "text/cursor.h"
#include "text/fx_value_reader.h"
#include "text/text_words.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace edgefx {
namespace detail {
namespace {

constexpr std::string_view kHeader = "graph():", kSubmodule = "# submodule ";

class FxReader {
 public:
  FxReader(std::string_view text, std::string_view fileName) : text_(text), fileName_(fileName) {}

  std::unique_ptr<GraphModule> read() {
    auto top = std::make_unique<GraphModule>();
    GraphModule* module = nullptr;
    nextLine();
    while (!isDone_) {
      if (module == nullptr) {
        module = top.get();
      } else {
        module = &submodule(*top);
      }
      readGraph(module->graph());
    }
    if (module == nullptr) refuse(text_.size(), "expected 'graph():', found the end of the text");
    return top;
  }

 private:
  [[noreturn]] void refuse(size_t at, std::string_view message) const {
    failAt(text_, fileName_, at, message);
  }

  // Goes to the next line that is not empty; blanks around it are left out.
  void nextLine() {
    while (nextStart_ <= text_.size()) {
      size_t start = nextStart_;
      size_t end = std::min(text_.find('\n', start), text_.size());
      nextStart_ = end + 1;
      while (start < end && (text_[start] == ' ' || text_[start] == '\t')) ++start;
      while (end > start && (text_[end - 1] == '\r' || text_[end - 1] == ' ')) --end;
      if (start == end) continue;
      start_ = start;
      line_ = text_.substr(start, end - start);
      return;
    }
    isDone_ = true;
    line_ = {};
    start_ = text_.size();
  }

  GraphModule& submodule(GraphModule& top) {
    if (!line_.starts_with(kSubmodule)) refuse(start_, "expected a node, 'return' or '# submodule <path>'");
    const size_t pathAt = start_ + kSubmodule.size();
    const std::string path(line_.substr(kSubmodule.size()));
    if (std::ranges::count(path, '.') >= kDeepestPath)
      refuse(pathAt, fmt::format("expected at most {} levels of graph modules", kDeepestPath));
    const size_t dot = path.rfind('.');
    const std::string_view owner =
        dot == std::string::npos ? std::string_view() : std::string_view(path).substr(0, dot);
    GraphModule* module = top.findChild(owner);
    if (module == nullptr) refuse(pathAt, fmt::format("expected graph module '{}' above", owner));
    nextLine();
    try {
      return module->addChild(std::string_view(path).substr(dot == std::string::npos ? 0 : dot + 1),
                              std::make_unique<GraphModule>());
    } catch (const UsageError& error) {
      refuse(pathAt, error.diagnostics().front().message);
    }
  }

  void readGraph(Graph& graph) {
    if (line_ != kHeader) refuse(start_, "expected 'graph():'");
    GraphBuilder builder(graph);
    lines_.clear();
    for (nextLine(); !isDone_; nextLine()) {
      if (line_.starts_with('%')) {
        readNode(graph, builder);
      } else if (line_ == "return" || line_.starts_with("return ")) {
        readReturn(graph, builder);
      } else {
        break;
      }
    }
    checkLines();
  }

  // Position of `what` on the line, from `from` on.
  size_t find(std::string_view what, size_t from) const {
    const size_t found = line_.find(what, from);
    return found == std::string_view::npos ? found : start_ + found;
  }
  size_t lineStop() const { return start_ + line_.size(); }

  // "[num_users=2] = ", after an annotation of the type, if any, which says nothing of the graph.
  size_t readUsers(size_t at, size_t& numUsers, bool& isPlain) const {
    for (std::string_view form : {"[num_users=", "[#users="}) {
      const size_t open = find(form, at - start_);
      if (open == std::string_view::npos) continue;
      isPlain = open == at && form == "[num_users=";
      const char* const digits = text_.data() + open + form.size();
      const auto [end, error] = std::from_chars(digits, text_.data() + lineStop(), numUsers);
      const auto stop = static_cast<size_t>(end - text_.data());
      constexpr std::string_view kAfter = "] = ";
      if (error != std::errc() || text_.substr(stop, kAfter.size()) != kAfter) break;
      return stop + kAfter.size();
    }
    refuse(at, "expected '[num_users=...] = '");
  }

  void readNode(Graph& graph, GraphBuilder& builder) {
    const size_t colon = line_.find(" : ");
    if (colon == std::string_view::npos) refuse(start_, "expected '%name : [num_users=...] = ...'");
    const std::string name(line_.substr(1, colon - 1));
    if (name.empty()) refuse(start_, "expected the name of a node");
    if (graph.find(name) != nullptr)
      refuse(start_, fmt::format("expected a new name, found '%{}' again", name));
    size_t numUsers = 0;
    bool isPlain = true;
    size_t at = readUsers(start_ + colon + 3, numUsers, isPlain);

    const std::string_view rest = text_.substr(at, lineStop() - at);
    constexpr std::string_view kOpen = "[target=";
    const size_t open = rest.find(kOpen);
    const std::string_view op = rest.substr(0, open);
    if (open == std::string_view::npos || !isPlainWord(op))
      refuse(at, "expected 'call_function[target=...' or the like");
    const size_t targetAt = at + open + kOpen.size();
    FxValueReader::Arguments arguments;
    Node* node = nullptr;
    const auto target = [&](std::string_view after) {
      const size_t end = find(after, targetAt - start_);
      if (end == std::string_view::npos)
        refuse(targetAt, fmt::format("expected '{}' after the target", after));
      return text_.substr(targetAt, end - targetAt);
    };
    const auto readCall = [&](std::string_view path, std::optional<Target> callee) {
      FxValueReader reader(text_, fileName_, targetAt + path.size() + 1, lineStop(), graph, builder);
      if (callee) reader.setCallee(*callee);
      arguments = reader.callArguments();
    };
    if (op == "call_function") {
      const std::string_view path = target("](args = ");
      const Target callee = targetOf(path, targetAt);
      readCall(path, callee);
      node = &builder.append(callee, name);
    } else if (op == "call_module") {
      const std::string_view path = target("](args = ");
      readCall(path, std::nullopt);
      node = &builder.append(NodeOp::CallModule, path, name);
    } else if (op == "get_attr") {
      if (!line_.ends_with(']')) refuse(lineStop(), "expected ']'");
      node = &builder.append(NodeOp::GetAttr, text_.substr(targetAt, lineStop() - 1 - targetAt), name);
    } else if (op == "placeholder") {
      const size_t value = find("](default=", targetAt - start_);
      if (value == std::string_view::npos) {
        if (!line_.ends_with(']')) refuse(lineStop(), "expected ']'");
        node = &builder.append(NodeOp::Placeholder, text_.substr(targetAt, lineStop() - 1 - targetAt), name);
      } else {
        if (!line_.ends_with(')')) refuse(lineStop(), "expected ')'");
        FxValueReader reader(text_, fileName_, value + std::string_view("](default=").size(), lineStop() - 1,
                             graph, builder);
        arguments.first = builder.arguments().allocate(1);
        *arguments.first = reader.standalone();
        arguments.numArgs = 1;
        reader.expectEnd();
        node = &builder.append(NodeOp::Placeholder, text_.substr(targetAt, value - targetAt), name);
      }
    } else {
      refuse(at, fmt::format("expected placeholder, get_attr, call_function or call_module, found '{}'", op));
    }
    finish(builder, *node, name, arguments);
    lines_.push_back({node, start_, line_, numUsers, isPlain});
  }

  Target targetOf(std::string_view path, size_t at) const {
    try {
      return Target(path);
    } catch (const UsageError& error) {
      refuse(at, error.diagnostics().front().message);
    }
  }

  void readReturn(Graph& graph, GraphBuilder& builder) {
    constexpr std::string_view kReturn = "return ";
    if (line_.size() <= kReturn.size()) refuse(start_, "expected a returned value");
    FxValueReader reader(text_, fileName_, start_ + kReturn.size(), lineStop(), graph, builder);
    FxValueReader::Arguments arguments;
    arguments.first = builder.arguments().allocate(1);
    *arguments.first = reader.standalone();
    arguments.numArgs = 1;
    reader.expectEnd();
    Node& node = builder.append(NodeOp::Output, "output", "output");
    finish(builder, node, node.name(), arguments);
    lines_.push_back({&node, start_, line_, 0, true});
  }

  void finish(GraphBuilder& builder, Node& node, std::string_view name,
              const FxValueReader::Arguments& arguments) const {
    if (node.name() != name) node.setName(name);
    builder.finish(node, arguments.first, arguments.numArgs, arguments.numKwargs);
  }

  // The graph must print as it was written.
  void checkLines() const {
    for (const Line& line : lines_) {
      if (line.node->numUsers() != line.numUsers) {
        refuse(line.at, fmt::format("expected {} users of '%{}', as the line says; the graph has {}",
                                    line.numUsers, line.node->name(), line.node->numUsers()));
      }
      if (!line.isPlain) continue;
      const std::string again = line.node->text();
      if (again != line.text) {
        const auto differs = std::ranges::mismatch(again, line.text).in2 - line.text.begin();
        refuse(line.at + static_cast<size_t>(differs),
               "this could not be read: from here on it would print otherwise");
      }
    }
  }

  struct Line {
    const Node* node;
    size_t at;
    std::string_view text;
    size_t numUsers;
    bool isPlain;  // just as fxText writes it
  };

  std::string_view text_;
  std::string_view fileName_;
  size_t start_ = 0, nextStart_ = 0;
  std::string_view line_;
  bool isDone_ = false;
  std::vector<Line> lines_;
};

}  // namespace
}  // namespace detail

std::unique_ptr<GraphModule> readFxText(std::string_view text, std::string_view fileName) {
  return detail::FxReader(text, fileName).read();
}

}  // namespace edgefx
