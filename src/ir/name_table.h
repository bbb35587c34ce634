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
  // A copy for a graph with the same nodes.
  NameTable(const NameTable& other, const NodeSlabs& slabs)
      : slabs_(slabs),
        slots_(other.slots_),
        used_(other.used_),
        reserved_(other.reserved_),
        counts_(other.counts_),
        countSlots_(other.countSlots_),
        shadowed_(other.shadowed_) {}

  // Room for that many names.
  void reserve(size_t names);
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
  // Brings the slot of a name into the cache.
  void prefetch(std::string_view name) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hashOf(name) & (slots_.size() - 1)]);
  }
  // Id of the node with that name, or kNone.
  uint32_t find(std::string_view name) const;
  size_t bytes() const;

  // Nodes keep it beside their name. Base and number are hashed apart, so that the hash of the base follows
  // from that of the name.
  static uint32_t hashOf(std::string_view name);

  static constexpr uint32_t kNone = ~uint32_t{0};

 private:
  static constexpr uint32_t kReservedBit = uint32_t{1} << 31;
  struct Slot {
    uint32_t hash = 0;
    uint32_t entry = kNone;  // a node id, or kReservedBit and an index into reserved_
  };
  struct Candidate {
    std::string asked;  // what was cleaned last; empty if its number is part of it
    std::string text;
    uint32_t hash = 0, baseHash = 0;
    size_t baseLength = 0;
    size_t slot = 0;  // where `text` was looked for last
    uint64_t number = 0;
    uint64_t firstTried = 0;  // the first of the numbers found taken, `number` + 1 if none was

    void setNumber(uint64_t number);  // of `text` and `hash`
  };
  struct Count {
    std::string_view base;
    uint32_t hash = 0;  // of the base
    uint64_t number = 0;
    // Numbers known to be taken. Without them, names that set the counter back would make naming quadratic.
    uint64_t firstTaken = 1, lastTaken = 0;
  };

  std::string_view textOf(const Slot& slot) const;
  size_t slotOf(std::string_view name, uint32_t hash) const;
  void insert(std::string_view name, uint32_t hash, uint32_t entry);
  void resize(size_t slots);
  bool isFull() const { return used_ * 4 >= slots_.size() * 3; }
  bool isUsed(Candidate& candidate) const;
  Count* findCount(std::string_view base, uint32_t hash) const;
  Count* setCount(Count* found, std::string_view base, uint32_t hash, uint64_t number);
  Count* makeUnique(std::string_view candidate) const;

  const NodeSlabs& slabs_;
  std::vector<Slot> slots_;
  size_t used_ = 0;
  std::vector<std::string_view> reserved_;
  // Bases with a number other than 0, and an open hash table of their positions plus one.
  std::vector<Count> counts_;
  std::vector<uint32_t> countSlots_;
  // Nodes that were given a name another node had; checked when that other node loses it.
  std::unordered_map<std::string, std::vector<uint32_t>, TextHash, std::equal_to<>> shadowed_;
  mutable Candidate scratch_;
};

}  // namespace edgefx::detail
