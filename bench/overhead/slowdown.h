// What pairs of runs, with and without profiling, come to.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/report.h"
#include "bench/harness/statistics.h"

namespace plimsoll::bench {

// A measure (wall time, or CPU time) of several programs. Each pair tells how much longer it took with profiling.
class Slowdown {
 public:
  explicit Slowdown(std::string_view measure) : measure_(measure) {}

  void add(const std::string& program, double without, double with);

  struct Goals {
    double median_percent;
    double upper_percent;
  };
  // "overhead-MEASURE-median-percent", "overhead-MEASURE-upper-percent", and a line for each program.
  void report(const Goals& goals, Report& report) const;
  void report(Report& report) const;

 private:
  Measurement median_of_all() const;
  Measurement upper_limit() const;
  void report_programs(Report& report) const;

  std::string measure_;
  std::vector<double> pairs_;  // logarithms of with / without
  std::map<std::string, std::vector<double>> by_program_;
};

}  // namespace plimsoll::bench
