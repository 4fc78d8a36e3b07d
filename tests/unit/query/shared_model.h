// What `shared` should say, summed straight from the raw profiles' samples; and the comparison with what it says.
#pragma once

#include <cmath>

#include "query/views/shared.h"
#include "statistics/binomial.h"
#include "tests/unit/query/raw_profile_model.h"

namespace plimsoll::query::model {

struct SharedQuestion {
  Question question;
  std::string across;
  bool is_total = false;
  double below = 0.05;

  Parameters parameters() const {
    Parameters parameters = question.parameters();
    parameters.insert(
        parameters.end(),
        {{"across", across}, {"part", is_total ? "total" : "self"}, {"max_share", fmt::format("{}", below)}});
    return parameters;
  }
};

struct SharedCode {
  Sampled sums;
  std::map<std::string, double> by_runner;
};

struct ExpectedShared {
  std::map<std::vector<std::string>, SharedCode> code;
  std::map<std::string, Sums> runners;
  Sampled all;

  double share_in(const SharedCode& of, const std::string& runner) const {
    return of.by_runner.at(runner) / runners.at(runner).value;
  }
  double bound_in(const SharedCode& of, const std::string& runner) const {
    const Sums& whole = runners.at(runner);
    return statistics::wilson_low(std::min(1.0, share_in(of, runner)),
                                  whole.value * whole.value / whole.squares, 3);
  }
  double highest_bound(const SharedCode& of) const {
    double highest = 0;
    for (const auto& [runner, value] : of.by_runner) {
      highest = std::max(highest, bound_in(of, runner));
    }
    return highest;
  }
};

inline ExpectedShared expected_shared(const SharedQuestion& asked, const std::vector<Sample>& samples) {
  ExpectedShared expected;
  asked.question.for_each(samples, [&](const Sample& sample) {
    const std::string& runner = sample.texts.at(asked.across);
    expected.runners[runner].value += sample.value;
    expected.runners[runner].squares += sample.squares;
    add(sample, expected.all);
    std::set<std::vector<std::string>> groups;
    for (const Frame& frame : sample.frames) {
      std::vector<std::string> group;
      for (const std::string& dimension : asked.question.by) {
        group.push_back(text_of(sample, frame, dimension));
      }
      if (asked.is_total || &frame == &sample.frames.front()) {
        groups.insert(group);
      }
    }
    for (const auto& group : groups) {
      SharedCode& code = expected.code[group];
      add(sample, code.sums);
      code.by_runner[runner] += sample.value;
    }
  });
  return expected;
}

// Every row and number but the margins; returns how many rows were compared.
inline size_t expect_shared(const Table& table, const SharedQuestion& asked, const ExpectedShared& expected) {
  const auto near = [](double a, double b) {
    return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
  };
  const std::string part = asked.is_total ? "total" : "self";
  const auto number = [&](const std::vector<Value>& row, const std::string& column) {
    return std::get<double>(row[column_of(table, column)]);
  };
  const auto text = [&](const std::vector<Value>& row, const std::string& column) {
    return std::get<std::string>(row[column_of(table, column)]);
  };
  std::set<std::vector<std::string>> shown;
  double last = INFINITY;
  for (const auto& row : table.rows) {
    std::vector<std::string> group;
    for (size_t i = 0; i < asked.question.by.size(); ++i) {
      group.push_back(std::get<std::string>(row[i]));
    }
    EXPECT_TRUE(shown.insert(group).second) << fmt::format("{} is there twice", fmt::join(group, " "));
    const auto found = expected.code.find(group);
    if (found == expected.code.end()) {
      ADD_FAILURE() << fmt::format("{} is nowhere", fmt::join(group, " "));
      continue;
    }
    const SharedCode& code = found->second;
    const double value = sum(code.sums);
    EXPECT_TRUE(near(number(row, part), value));
    EXPECT_TRUE(near(number(row, part + "_share"), value / sum(expected.all)));
    EXPECT_LE(number(row, part), last);
    last = number(row, part);
    EXPECT_EQ(std::get<int64_t>(row[column_of(table, "spread_over")]), code.by_runner.size());
    double largest = 0;
    for (const auto& [runner, of_runner] : code.by_runner) {
      largest = std::max(largest, of_runner);
    }
    EXPECT_TRUE(near(number(row, "largest_part"), largest / value));
    EXPECT_TRUE(near(code.by_runner.at(text(row, "largest_part_in")), largest));
    const std::string highest_in = text(row, "highest_share_in");
    EXPECT_TRUE(near(number(row, "highest_share"), std::min(1.0, expected.share_in(code, highest_in))));
    EXPECT_TRUE(near(expected.bound_in(code, highest_in), expected.highest_bound(code)));
  }
  for (const auto& [group, code] : expected.code) {
    const bool is_shared = code.by_runner.size() > 1 && expected.highest_bound(code) <= asked.below;
    EXPECT_EQ(shown.contains(group), is_shared) << fmt::format("{}", fmt::join(group, " "));
  }
  return shown.size();
}

}  // namespace plimsoll::query::model
