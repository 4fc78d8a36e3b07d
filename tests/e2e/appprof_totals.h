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
  // One in 1.7 million where it is unbiased; a t quantile of 25 runs, one in 40,000.
  bool covers_zero(double allowed = 1e-9) const { return std::abs(mean()) <= 5 * standard_error() + allowed; }
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
