// A program on its way through profile-guided optimization: built, profiled by the daemon, built with our profile and with one of
// instrumentation.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll::bench {

struct FdoProgram {
  std::string source;
  std::vector<std::string> libraries = {};
  std::string training;  // its argument for profiles of instrumentation
  std::string work;      // its argument for runs that are compared
  std::string endless;   // its argument while it is profiled: longer than any profile
  double profiled_s = 30;
  std::string min_quality = "poor";
};

// Files in `folder`: base, ours, instrumented (-fprofile-use), and ours.prof.
class FdoPipeline {
 public:
  FdoPipeline(std::string folder, FdoProgram program)
      : folder_(std::move(folder)), program_(std::move(program)) {}

  // clang-19 -O2 with -gmlt -fdebug-info-for-profiling, and the same with instrumented PGO.
  Status build_base() const;
  Status build_instrumented() const;
  // plimsolld --once at 499 Hz, plimsoll import, plimsoll fdo autofdo; the report lies in report.json.
  Status profile() const;
  Status build_ours() const;

  std::string operator/(const std::string& name) const { return folder_ + "/" + name; }
  // The number behind `"name": ` in the report; 0 where there is none.
  double in_report(const std::string& name) const;
  std::string text_in_report(const std::string& name) const;
  const FdoProgram& program() const { return program_; }

 private:
  Status build(const std::string& name, const std::vector<std::string>& flags) const;
  Status run(const std::vector<std::string>& argv) const;

  std::string folder_;
  FdoProgram program_;
};

}  // namespace plimsoll::bench
