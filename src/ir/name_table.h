#pragma once

#include "ir/storage.h"
#include "support/text_hash.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace edgefx::detail {

// FX's namespace (_Namespace.create_name): names once used stay used. Entries refer to nodes by id, so that
// the table holds no text of its own but for names that no node has any more.
class NameTable {
 public:
  explicit NameTable(const NodeSlabs& slabs) : slabs_(slabs) {}

  // Takes the name of a node as it is.
  void add(const Node& node);
  // The unique form of a candidate. Valid until the next call.
  std::string_view unique(std::string_view candidate) const;
  // Reserves the unique form of `candidate` for `node`, which need not have it yet, and returns it.
  struct Reserved {
    std::string_view name;
    uint32_t hash;
  };
  Reserved reserve(std::string_view candidate, const Node& node, TextPages& text);
  // `node` is about to lose its name or to be erased: the name stays used, or goes to another node that has
  // it too.
  void keepReserved(const Node& node);
  // Id of the node with that name, or kNone.
  uint32_t find(std::string_view name) const;
  size_t bytes() const;

  // Nodes keep it beside their name.
  static uint32_t hashOf(std::string_view text) { return static_cast<uint32_t>(hashText(text)); }

  static constexpr uint32_t kNone = ~uint32_t{0};

 private:
  static constexpr uint32_t kReservedBit = uint32_t{1} << 31;
  struct Slot {
    uint32_t hash = 0;
    uint32_t entry = kNone;  // a node id, or kReservedBit and an index into reserved_
  };
  struct Candidate {
    std::string text;
    uint32_t hash = 0;  // of the text
    size_t baseLength = 0;
    uint64_t number = 0;
    uint64_t firstTried = 0;  // the first of the numbers found taken, `number` + 1 if none was
  };
  struct Count {
    uint64_t number = 0;
    // Numbers known to be taken. Without them, names that set the counter back would make naming quadratic.
    uint64_t firstTaken = 1, lastTaken = 0;
  };

  std::string_view textOf(const Slot& slot) const;
  size_t slotOf(std::string_view name, uint32_t hash) const;
  void insert(std::string_view name, uint32_t hash, uint32_t entry);
  void grow();
  Count* findCount(std::string_view base) const;
  Count* setCount(std::string_view base, uint64_t number);
  void makeUnique(std::string_view candidate) const;

  const NodeSlabs& slabs_;
  std::vector<Slot> slots_;
  size_t used_ = 0;
  std::vector<std::string_view> reserved_;
  //   // Bases with a number other than 0, and an open hash table of their positions plus one.
  std::vector<std::pair<std::string_view, Count>> counts_;
  std::vector<uint32_t> countSlots_;
  // Nodes that were given a name another node had; checked when that other node loses it.
  std::unordered_map<std::string, std::vector<uint32_t>, TextHash, std::equal_to<>> shadowed_;
  mutable Candidate scratch_;
};

}  // namespace edgefx::detail
