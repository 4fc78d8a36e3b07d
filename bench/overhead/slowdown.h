// What pairs of runs, with and without profiling, come to.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/report.h"
#include "bench/harness/statistics.h"

namespace plimsoll::bench {

// A measure (wall time, or CPU time) of several programs over several rounds.
class Slowdown {
 public:
  explicit Slowdown(std::string_view measure) : measure_(measure) {}

  // One pair of a round; rounds follow each other.
  void add(size_t round, const std::string& program, double without, double with);

  // Over all programs, a value for each round: pairs of a round share what else the machine did then.
  // In per cent: how much longer it took; the median of all pairs, and the interval of the mean.
  double median_percent() const;
  Interval interval_percent() const;

  // "overhead-wall-percent" with the goals, its interval's limits, and a line for each program.
  void report(double goal_median, double goal_upper, Report& report) const;
  void report(Report& report) const;

 private:
  void report_programs(Report& report) const;

  std::string measure_;
  std::map<std::string, std::vector<double>> by_program_;  // logarithms of with / without
  std::vector<std::vector<double>> by_round_;
};

}  // namespace plimsoll::bench
