// Other programs that look addresses up.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/harness/scratch_folder.h"
#include "bench/symbolizer/subject.h"

namespace plimsoll::bench {

struct LookUpPeer {
  std::string name;
  // A command of the shell that reads addresses in hexadecimal, one a line, and prints chains of inlined calls.
  std::string command;
  // Of how many addresses it is asked: what takes it some seconds.
  size_t few = 0;
  size_t many = 0;
  std::string behind_address = {};  // on each of its lines
};

// llvm-gsymutil --convert of the subject.
std::vector<std::string> gsym_command(const Subject& subject, const std::string& gsym);

std::vector<LookUpPeer> look_up_peers(const Subject& subject, const std::string& gsym, bool quick);

// By the slope of its CPU time between few and many addresses: what it reads at the start is not in it.
Result<double> look_ups_per_s(const LookUpPeer& peer, std::span<const uint64_t> addresses,
                              const ScratchFolder& folder);

}  // namespace plimsoll::bench
