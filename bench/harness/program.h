// The main program of a benchmark.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "bench/harness/report.h"

namespace plimsoll::bench {

struct Flags {
  bool quick = false;  // all of it within 30 s, with wider noise
  bool full = false;   // also what takes many minutes
  bool as_json = false;
  std::string_view only = {};       // names one Part; empty: all
  std::string_view directory = {};  // where a part keeps what took long to make; empty: nowhere
};

// Some measurements that are taken together.
struct Part {
  std::string_view name;
  std::string_view what;  // for --help
  std::function<Status(const Flags&, Report&)> measure;
};

// Reads the command line, measures, prints. Returns the exit status: 0 done, 1 a part failed (its error is on standard
// error, and the others were measured nonetheless), 2 the command line is wrong. Goals that are missed do not fail it.
int run_program(std::string_view purpose, std::span<const Part> parts, int argc, char** argv);

}  // namespace plimsoll::bench
