// User stacks as `perf script` finds them in a recording, and as a profile holds them, in the same terms.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/profile.pb.h"

namespace plimsoll::testing {

// A user stack, leaf first: "FILE+OFFSET" for each frame.
struct UserStack {
  std::vector<std::string> frames;
  bool reaches_root = false;  // its outermost frame is where programs and threads begin
  // perf stopped at main()'s caller: in some recordings of programs that another one turned into, it goes no further.
  bool stops_at_main = false;
  std::string end;  // why it has no more frames, where that is told

  auto operator<=>(const UserStack&) const = default;
};

using StacksByThread = std::map<uint32_t, std::vector<UserStack>>;

// From the output of `perf script --no-inline -F pid,tid,ip,sym,dso`, which gives addresses as file offsets.
StacksByThread stacks_of_perf(const std::string& script);

// The samples of all events. Files are read for their segments.
StacksByThread stacks_of_profile(const wire::RawProfile& profile);

struct Comparison {
  uint64_t compared = 0;                        // stacks of perf's that reach a root
  uint64_t equal = 0;                           // of these
  uint64_t not_compared = 0;                    // perf found no root
  std::map<std::string, uint64_t> differences;  // by kind
  std::map<std::string, std::string> examples;  // of each kind: both stacks
};

// Each of perf's stacks that reach a root, with a stack of ours of the same thread: the same one, else the most similar.
Comparison compare(StacksByThread perf, StacksByThread ours);

}  // namespace plimsoll::testing
