#pragma once

#include "dialect/view_steps.h"
#include "dialect/write_analysis.h"

#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace edgefx::detail {

// Makes one graph functional. Memory that is written stands as a chain of values, one for each write: every
// use takes the one that holds then. Views are values of their own, behind or level with their memory; one
// that is behind is taken anew when it is used.
class FunctionalGraph {
 public:
  FunctionalGraph(GraphModule& module, WriteAnalysis& analysis);

  // Placeholders that show one memory; writes to one are seen through the other. Before run.
  void shareMemory(const Node& first, const Node& second) { sharing_.emplace_back(&first, &second); }
  // Writes into this memory are refused, for this reason. Before run.
  void protect(const Node& placeholder, std::string_view reason) {
    protected_.emplace_back(&placeholder, reason);
  }
  // The signature declares that the input is written at the end. Before run.
  void declareWritten(const Node& placeholder) { declared_.insert(&placeholder); }

  void run();

  // What a placeholder's memory holds at the end; null if nothing was written into it. After run.
  Node* finalValue(const Node& placeholder);
  // A fault that says what wrote first into a placeholder's memory. After run, if there is a final value.
  const Diagnostic& firstWrite(const Node& placeholder) const;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Memory {
    uint32_t written = 0;     // how often
    std::string_view locked;  // why it must not be written any more; empty if it may
    const Node* lockedBy = nullptr;
    Diagnostic firstWrite;
  };
  // A tensor: memory, or a view of another tensor's.
  struct Shown {
    uint32_t memory = kNone;
    uint32_t source = kNone;
    const Node* origin = nullptr;  // the node that made it
    ViewStep step;
    Node* value = nullptr;
    uint32_t written = 0;  // how often its memory was when it got the value
  };
  struct ListOfViews {
    uint32_t source;
    uint32_t written;
  };

  void visit(Node& node);
  void visitWrite(Node& call);
  void visitGraphCall(Node& call);
  void visitInPlaceView(Node& call, Target view);
  void visitGetitem(Node& getitem, int64_t index);
  void writeBack(Node& call, const std::vector<std::pair<Node*, uint32_t>>& written);
  void lockShared(Node& call);
  void returnWritten();

  bool isTracked(const Node& node) { return memory_.isWritten(node); }
  uint32_t shownBy(const Node& node) const;
  uint32_t addMemory(Node& node);
  uint32_t addView(Node& node, const ViewStep& step, uint32_t source, uint32_t written);
  void name(const Node& node, uint32_t shown);
  void lock(uint32_t shown, const Node& by, std::string_view reason);

  Arg current(const Argument& argument, const CallMaker& maker);
  Node& currentValue(uint32_t shown, const CallMaker& maker);
  void useCurrent(Node& node);
  void takeCurrent(Node& node);
  void describeAnew(Node& node);
  void write(uint32_t shown, Node& value, const CallMaker& maker);
  void checkSize(const Node& node) const;

  GraphModule& module_;
  Graph& graph_;
  WriteAnalysis& analysis_;
  WrittenMemory& memory_;
  const size_t mostNodes_;
  std::vector<std::pair<const Node*, const Node*>> sharing_;
  std::vector<std::pair<const Node*, std::string_view>> protected_;
  std::unordered_set<const Node*> declared_;  // never iterated over
  std::vector<Memory> memories_;
  std::vector<Shown> shown_;
  std::vector<uint32_t> variables_;  // what is shown by nodes that stand for one tensor
  NodeMap<uint32_t> variableOf_;
  NodeMap<char> redescribed_;  // whether a node's value is described otherwise than before
  std::unordered_map<const Node*, uint32_t> inputs_;       // memory of placeholders; never iterated over
  std::unordered_map<const Node*, ListOfViews> lists_;     // never iterated over
  std::unordered_map<const Node*, CallSharing> sharedBy_;  // of calls of graphs; never iterated over
  std::vector<Node*> erased_;
};

}  // namespace edgefx::detail
