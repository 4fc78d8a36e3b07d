// Real programs with a fixed amount of work: interpreters, a database, a compiler, compressors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/harness/scratch_folder.h"

namespace plimsoll::bench {

// What it took all copies to do their work: from the start of the first to the end of the last, and the CPU time of all.
struct Effort {
  double wall_s = 0;
  double cpu_s = 0;
};

class FixedWork {
 public:
  // All there are. `folder` takes what they read.
  static Result<std::vector<FixedWork>> all(const ScratchFolder& folder);

  std::string_view name() const { return name_; }

  // Sets the amount of work so that it takes about `wall_s` here.
  Status calibrate(double wall_s);

  // A copy on each CPU at once, so that whatever else wants a CPU takes it from them.
  Result<Effort> run() const;

 private:
  // `script` is for /bin/sh; every UNITS in it becomes the amount.
  FixedWork(std::string name, std::string script) : name_(std::move(name)), script_(std::move(script)) {}

  std::string name_;
  std::string script_;
  uint64_t units_ = 1;
};

}  // namespace plimsoll::bench
