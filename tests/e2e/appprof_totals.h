// Of tests that compare a program's own profiles with what it did, run by run.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "appprof/mappings.h"
#include "appprof/profile.h"
#include "appprof/symbols.h"
#include "statistics/student_t.h"

namespace plimsoll::appprof {

// So many where the variable does not say otherwise.
inline int runs(int usual) {
  const char* text = std::getenv("PLIMSOLL_TEST_APPPROF_RUNS");
  return text == nullptr ? usual : std::atoi(text);
}

// Relative errors of one total, run by run.
struct Errors {
  void add(double error) {
    sum += error;
    sum_of_squares += error * error;
    ++count;
  }
  double mean() const { return sum / count; }
  double standard_error() const {
    return std::sqrt(std::max(0.0, sum_of_squares / count - mean() * mean()) / (count - 1));
  }
  // Whether the interval of the mean error covers zero: Student's t, and Bonferroni's correction for the `intervals` that a test
  // looks at together. A soak of 200 runs and more has intervals of 99 %. Fewer runs belong to each change, which must
  // not fail by chance: 99.999 %.
  bool covers_zero(int intervals, double allowed = 1e-9) const {
    constexpr int kRunsOfSoak = 200;
    const double outside = count >= kRunsOfSoak ? 1e-2 : 1e-5;
    const double quantile = statistics::student_t_quantile(1 - outside / (2.0 * intervals), count - 1);
    return std::abs(mean()) <= quantile * standard_error() + allowed;
  }
  double sum = 0, sum_of_squares = 0;
  int count = 0;
};

using Totals = std::map<std::string, std::array<double, 2>>;

// Sums by whichever of these functions is on the stack.
inline Totals totals(const Profile& profile, const std::vector<std::string>& functions) {
  static const auto* code = new CodeMap(CodeMap::read());
  static auto* names = new std::map<uintptr_t, std::string>();
  Totals sums;
  for (const Sample& sample : profile.samples) {
    for (const uintptr_t address : sample.stack) {
      const auto [name, is_new] = names->try_emplace(address);
      if (is_new) {
        name->second = names_of(*code, std::vector<uintptr_t>{address - 1})[0];
      }
      for (const std::string& function : functions) {
        if (name->second.find(function) != std::string::npos) {
          sums[function][0] += sample.values[0];
          sums[function][1] += sample.values[1];
        }
      }
    }
  }
  return sums;
}

}  // namespace plimsoll::appprof
