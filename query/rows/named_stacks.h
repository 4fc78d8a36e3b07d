// Whole stacks, told apart by the names of their functions.
#pragma once

#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "query/snapshot/frame_keys.h"
#include "query/snapshot/hidden_frames.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

// A tree of names from the root on, in which stacks share what they have in common: a text for each of a million deep stacks would take
// gigabytes. Takes about 40 bytes for each frame that none of the stacks before had at this place. Borrows the snapshot.
class NamedStacks {
 public:
  // Frames that are hidden are in no name.
  NamedStacks(const Snapshot& snapshot, const std::shared_ptr<const HiddenFrames>& hidden);

  // Dense from 0, in the order of asking; of equal names equal. One thread.
  uint32_t number_of(uint32_t stack);
  // "main;parse;lex"; "[no stack]" without a frame.
  std::string text(uint32_t number) const;
  // By number: their order by the names from the root on. Sorts all names.
  std::vector<uint32_t> ranks() const;

 private:
  // Parents come before their children; 0 is the root, which is no frame.
  struct Node {
    uint32_t parent;
    uint32_t name;  // key of frames_

    bool operator==(const Node&) const = default;
    friend size_t hash_value(const Node& node) {
      return boost::hash<uint64_t>()(uint64_t{node.parent} << 32U | node.name);
    }
  };

  uint32_t node_of(uint32_t stack);
  uint32_t child_of(uint32_t parent, uint32_t name);
  // By name: its place in the order of the texts.
  std::vector<uint32_t> name_ranks() const;

  std::shared_ptr<const FrameKeys> frames_;
  std::vector<Node> nodes_{{0, 0}};
  boost::unordered_flat_map<Node, uint32_t, boost::hash<Node>> number_of_node_;  // in nodes_
  std::vector<uint32_t> node_of_stack_;                                          // kUnknown: not asked for
  boost::unordered_flat_map<uint32_t, uint32_t> numbers_;                        // by node
  std::vector<uint32_t> node_of_number_;
};

}  // namespace plimsoll::query
