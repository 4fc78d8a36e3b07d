// Real programs that keep every CPU busy: Python, SQLite, Perl and a C++ compiler.
#pragma once

#include <vector>

#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"

namespace plimsoll::bench {

// They run until it is destroyed.
class Load {
 public:
  // At least one of each program, and at least as many as there are CPUs. `folder` takes the compiler's source.
  static Result<Load> start(const ScratchFolder& folder);

 private:
  std::vector<Child> programs_;
};

}  // namespace plimsoll::bench
