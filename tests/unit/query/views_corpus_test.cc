// What is hot in real profiles, and who calls it: every number of the views, against sums made straight from
// the raw profiles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "query/views/callers.h"
#include "query/views/flame.h"
#include "query/views/top.h"
#include "tests/unit/query/real_fleet.h"
#include "tests/unit/query/shared_model.h"
#include "tests/unit/query/tree_model.h"

namespace plimsoll::query::real {
namespace {

using model::Condition;
using model::ExpectedTable;
using model::Question;
using model::Sample;
using model::Tree;
using By = std::vector<std::string>;

class RealTop : public OnRealProfiles {
 protected:
  static Table ask(const Parameters& parameters) {
    const auto request = parse_top(parameters, 0);
    EXPECT_TRUE(request) << (request ? "" : request.error().text());
    return request ? through_json(top(*request, fleet_->snapshot())) : Table();
  }

  void expect_rows(const Table& table, const ExpectedTable& expected, const Machines& machines,
                   size_t dimensions) {
    EXPECT_EQ(table.rows.size(), expected.rows.size());
    for (const auto& row : table.rows) {
      const auto group = group_of(row, dimensions);
      const auto found = expected.rows.find(group);
      ASSERT_NE(found, expected.rows.end()) << fmt::format("{}", fmt::join(group, ", "));
      RowCheck check(table, row, compared_);
      const std::initializer_list<std::pair<std::string, const Sampled*>> parts{
          {"self", &found->second.self}, {"total", &found->second.total}};
      for (const auto& [name, part] : parts) {
        check.number(name, model::sum(*part));
        check.number(name + "_share", model::sum(*part) / model::sum(expected.all));
        check.estimate(name + "_share", name + "_margin_kind",
                       ByMachine(machines, *part, expected.all).share());
      }
      ++compared_.rows;
    }
  }

  void expect_answer(const Question& question) {
    SCOPED_TRACE(text_of(question.parameters()));
    expect_rows(ask(question.parameters()), model::expected_answer(question, fleet_->samples()),
                fleet_->machines(question), question.by.size());
  }

  // What a sample of an event has, from the middle of all (as recorded) and from near their end (drawn).
  static std::vector<Condition> conditions_on(const std::string& event, const std::string& dimension) {
    std::vector<const Sample*> samples;
    for (const Sample& sample : fleet_->samples()) {
      if (sample.event == event) {
        samples.push_back(&sample);
      }
    }
    std::vector<Condition> conditions;
    for (const size_t place : {samples.size() / 2, samples.size() * 7 / 8}) {
      const Sample& sample = *samples[place];
      conditions.push_back({dimension, false, model::text_of(sample, sample.frames.back(), dimension)});
    }
    return conditions;
  }

  void expect_filtered(const std::string& event, const std::string& dimension, const By& by) {
    for (Condition condition : conditions_on(event, dimension)) {
      expect_answer({.event = event, .by = by, .where = {condition}});
      expect_answer({.event = event, .by = by, .where = {condition, {"binary", true, "libc-2.15.so"}}});
      condition.negated = true;
      expect_answer({.event = event, .by = by, .where = {condition}});
      expect_answer({.event = event, .by = by, .where = {condition, {"binary", false, "[kernel]"}}});
    }
  }
};

TEST_F(RealTop, OfEachEventByEachDimensionIsTheNaiveSum) {
  for (const std::string& event : fleet_->events()) {
    for (const char* dimension : {"function", "linkage_name", "file", "line", "binary", "app", "thread",
                                  "machine", "hostname", "platform", "draw", "job", "stack"}) {
      expect_answer({.event = event, .by = {dimension}, .where = {}});
    }
  }
  EXPECT_GT(fleet_->events().size(), 20);
  EXPECT_GT(compared_.rows, 100'000);
  EXPECT_GT(compared_.margins, 500) << "most rows of a pprof profile are of fewer than 30 samples";
  EXPECT_GT(compared_.kinds["within one machine"], 100);
  EXPECT_GT(compared_.kinds["few machines"], 200);
  EXPECT_GT(compared_.kinds["between machines"], 50);
}

TEST_F(RealTop, ByCombinedDimensionsIsTheNaiveSum) {
  for (const char* event : {"cycles", "instructions", "cpu-clock", "branch-records", "heap-inuse-bytes"}) {
    for (const By& by :
         {By{"app", "function"}, By{"function", "file", "line"}, By{"machine", "binary"},
          By{"thread", "app", "binary"}, By{"draw", "stack"}, By{"stack", "function", "job"}}) {
      expect_answer({.event = event, .by = by, .where = {}});
    }
  }
  EXPECT_GT(compared_.rows, 5'000);
  EXPECT_GT(compared_.kinds["few machines"], 200);
}

TEST_F(RealTop, UnderFiltersIsTheNaiveSum) {
  for (const char* event : {"cycles", "instructions", "cpu-clock", "branch-records", "cache-misses"}) {
    for (const char* dimension : {"function", "file", "line", "binary", "app", "thread", "machine",
                                  "hostname", "draw", "job", "stack"}) {
      expect_filtered(event, dimension, {"app", "function"});
    }
  }
  for (const char* dimension : {"function", "linkage_name", "file", "line", "stack"}) {
    expect_filtered("app-cpu-ns", dimension, {"file", "thread"});
  }
  EXPECT_GT(compared_.rows, 5'000);
  EXPECT_GT(compared_.margins, 1'000);
  EXPECT_GT(compared_.kinds["few machines"], 100);
}

TEST_F(RealTop, OfATimeIsTheNaiveSumOfItsProfiles) {
  const int64_t until_ns = kDrawStartNs + kDrawNs;
  std::vector<wire::RawProfile> profiles;
  std::vector<Sample> samples;
  for (const wire::RawProfile& profile : fleet_->profiles()) {
    if (profile.window().start().wall_ns() < until_ns) {
      profiles.push_back(profile);
      model::add_samples(profile, fleet_->observed(), samples);
    }
  }
  ASSERT_LT(samples.size(), fleet_->samples().size());
  for (const char* event : {"cycles", "instructions", "cpu-clock"}) {
    const Question question{.event = event, .by = {"thread", "function"}, .where = {}};
    Parameters parameters = question.parameters();
    parameters.emplace_back("until", format_time(until_ns));
    SCOPED_TRACE(text_of(parameters));
    Machines machines = model::sampled_machines(question, profiles);
    for (auto& [unit, machine] : machines) {
      machine.stratum = fleet_->machines(question).at(unit).stratum;
    }
    expect_rows(ask(parameters), model::expected_answer(question, samples), machines, 2);
  }
  EXPECT_GT(compared_.rows, 300);
  EXPECT_GT(compared_.margins, 50);
}

// Each of which is compared with naive sums on its own.
TEST_F(RealTop, EventsSideBySideAreThatOfEachRatio) {
  for (const By& by : {By{"function"}, By{"line"}, By{"stack"}, By{"app", "thread"}, By{"machine"}}) {
    const std::string by_text = fmt::format("{}", fmt::join(by, ","));
    const auto together = [&](const std::vector<std::string>& events) {
      Parameters parameters{{"event", "cycles"}, {"by", by_text}, {"limit", "1000000"}};
      for (const std::string& event : events) {
        parameters.emplace_back("compare_event", event);
      }
      return ask(parameters);
    };
    for (const std::string event : {"instructions", "cache-misses", "branch-misses"}) {
      const Table table = together({event});
      const Table ratio = ask({{"ratio", event + "/cycles"}, {"by", by_text}, {"limit", "1000000"}});
      ASSERT_EQ(table.rows.size(), ratio.rows.size());
      for (size_t row = 0; row < table.rows.size(); ++row) {
        const auto same = [&](const std::string& column, const std::string& of_ratio) {
          EXPECT_EQ(table.rows[row][column_of(table, column)], ratio.rows[row][column_of(ratio, of_ratio)])
              << column;
        };
        for (const std::string part : {"", "_margin", "_low", "_high"}) {
          same(event + "/cycles" + part, "ratio" + part);
        }
        same(event + "/cycles_margin_kind", "margin_kind");
        same(event, "numerator");
        same("cycles", "denominator");
        ++compared_.rows;
      }
    }
    EXPECT_GT(together({"instructions", "branch-misses"}).rows.size(), 0U);
  }
  EXPECT_GT(compared_.rows, 300);
}

TEST_F(OnRealProfiles, WhatIsSharedIsTheNaiveSum) {
  for (const std::string& event : fleet_->events()) {
    for (const char* across : {"app", "thread", "machine"}) {
      for (const bool is_total : {false, true}) {
        const model::SharedQuestion asked{.question = {.event = event, .by = {"function"}, .where = {}},
                                          .across = across,
                                          .is_total = is_total,
                                          .below = 0.2};
        SCOPED_TRACE(text_of(asked.parameters()));
        const auto request = parse_shared(asked.parameters(), 0);
        ASSERT_TRUE(request) << request.error().text();
        compared_.rows += model::expect_shared(through_json(shared(*request, fleet_->snapshot())), asked,
                                               model::expected_shared(asked, fleet_->samples()));
      }
    }
  }
  EXPECT_GT(compared_.rows, 400);
}

class RealRatio : public RealTop {
 protected:
  // Profiles with one of the events alone say nothing of the other.
  static std::vector<wire::RawProfile> with_both(const std::string& numerator,
                                                 const std::string& denominator) {
    std::vector<wire::RawProfile> profiles = fleet_->profiles();
    std::erase_if(profiles, [&](const wire::RawProfile& profile) {
      return !model::has_event(profile, numerator) || !model::has_event(profile, denominator);
    });
    return profiles;
  }

  // A row of one machine knows of no others.
  static Machines machines_of(const By& by, const std::vector<std::string>& group,
                              const std::vector<wire::RawProfile>& profiles) {
    Question question;
    for (size_t i = 0; i < by.size(); ++i) {
      if (by[i] == "machine" || by[i] == "draw") {
        question.where.push_back({by[i], false, group[i]});
      }
    }
    Machines machines = model::sampled_machines(question, profiles);
    for (auto& [unit, machine] : machines) {
      machine.stratum = fleet_->machines({}).at(unit).stratum;
    }
    return machines;
  }

  static size_t rows_with_self(const ExpectedTable& over, const ExpectedTable& under) {
    std::set<std::vector<std::string>> groups;
    for (const ExpectedTable* table : {&over, &under}) {
      for (const auto& [group, row] : table->rows) {
        if (!row.self.empty()) {
          groups.insert(group);
        }
      }
    }
    return groups.size();
  }

  void expect_ratio(const std::string& numerator, const std::string& denominator, const By& by) {
    SCOPED_TRACE(fmt::format("{}/{} by {}", numerator, denominator, fmt::join(by, ",")));
    const auto profiles = with_both(numerator, denominator);
    std::vector<Sample> samples;
    for (const wire::RawProfile& profile : profiles) {
      model::add_samples(profile, fleet_->observed(), samples);
    }
    ExpectedTable over = model::expected_answer({.event = numerator, .by = by, .where = {}}, samples);
    ExpectedTable under = model::expected_answer({.event = denominator, .by = by, .where = {}}, samples);
    const Table table = ask({{"ratio", numerator + "/" + denominator},
                             {"by", fmt::format("{}", fmt::join(by, ","))},
                             {"limit", "1000000"}});
    EXPECT_EQ(table.rows.size(), rows_with_self(over, under));
    for (const auto& row : table.rows) {
      const auto group = group_of(row, by.size());
      const Sampled& of_over = over.rows[group].self;
      const Sampled& of_under = under.rows[group].self;
      const statistics::Estimate expected =
          ByMachine(machines_of(by, group, profiles), of_over, of_under).ratio();
      RowCheck check(table, row, compared_);
      check.number("numerator", model::sum(of_over));
      check.number("denominator", model::sum(of_under));
      const bool has_both = !of_over.empty() && !of_under.empty();
      check.number("ratio",
                   has_both ? std::optional(model::sum(of_over) / model::sum(of_under)) : std::nullopt);
      check.estimate("ratio", "margin_kind", expected);
      EXPECT_EQ(std::get<int64_t>(check.at("machines")), static_cast<int64_t>(of_over.size()));
      ++compared_.rows;
    }
  }
};

TEST_F(RealRatio, OfEventsRecordedTogetherIsThatOfTheNaiveSums) {
  for (const auto& [numerator, denominator] :
       std::vector<std::pair<std::string, std::string>>{{"instructions", "cycles"},
                                                        {"instructions:pp", "cycles:pp"},
                                                        {"branch-misses", "cache-references"},
                                                        {"cycles", "cpu-clock"},
                                                        {"branch-mispredictions", "branch-records"},
                                                        {"app-cpu-ns", "samples"},
                                                        {"heap-inuse-bytes", "heap-inuse-objects"},
                                                        {"lock-wait-ns", "lock-contentions"}}) {
    for (const By& by : {By{"app"}, By{"app", "thread", "binary"}, By{"machine", "function"}, By{"draw"},
                         By{"stack"}, By{"job", "file"}}) {
      expect_ratio(numerator, denominator, by);
    }
  }
  EXPECT_GT(compared_.rows, 3'000);
  EXPECT_GT(compared_.margins, 100);
  EXPECT_GT(compared_.kinds["few machines"], 10);
}

class RealFlame : public OnRealProfiles {
 protected:
  static Flame ask(const Question& question) {
    Parameters parameters{{"event", question.event}};
    question.add_filters(parameters);
    const auto request = parse_flame(parameters, 0);
    EXPECT_TRUE(request) << (request ? "" : request.error().text());
    const auto answer = flame(*request, fleet_->snapshot());
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().text());
    auto read_back = flame_from_json(to_json(*answer));
    EXPECT_TRUE(read_back) << (read_back ? "" : read_back.error().text());
    return std::move(*read_back);
  }

  static void expect_close(double value, double expected) {
    EXPECT_LE(std::abs(value - expected), 1e-9 * expected) << value << " is not " << expected;
  }

  void expect_share(const statistics::Estimate& share, const statistics::Estimate& expected) {
    EXPECT_EQ(share.margin_kind, expected.margin_kind);
    ASSERT_EQ(share.margin.has_value(), expected.margin.has_value());
    if (share.margin) {
      expect_close(*share.margin, *expected.margin);
      expect_close(*share.low, *expected.low);
      expect_close(*share.high, *expected.high);
      ++margins_;
    }
  }

  // Nodes are there, once each, and what they hold is right: then an equal number of them is all of them.
  void expect_tree(const Question& question) {
    SCOPED_TRACE(text_of(question.parameters()));
    Tree root;
    question.for_each(fleet_->samples(), [&](const Sample& sample) { root.add(sample); });
    const Flame answer = ask(question);
    const Machines machines = fleet_->machines(question);
    std::vector<const Tree*> path;
    std::set<const Tree*> seen;
    for (const FlameNode& node : answer.nodes) {
      path.resize(node.depth);
      const std::string& name = answer.names[node.name];
      const Tree* place = &root;
      if (node.depth > 0) {
        const auto found = path.back()->children.find(name);
        ASSERT_NE(found, path.back()->children.end()) << name;
        place = found->second.get();
      }
      EXPECT_TRUE(seen.insert(place).second) << name;
      expect_close(node.self, place->self);
      expect_close(node.total, model::sum(place->total));
      if (node.share) {
        expect_share(answer.shares[*node.share], ByMachine(machines, place->total, root.total).share());
      }
      deepest_ = std::max(deepest_, node.depth);
      kernel_nodes_ += name == "[no symbol in [kernel]]" ? 1 : 0;
      path.push_back(place);
    }
    EXPECT_EQ(seen.size(), root.nodes());
    nodes_ += seen.size();
  }

  size_t nodes_ = 0;
  size_t margins_ = 0;
  size_t kernel_nodes_ = 0;
  uint32_t deepest_ = 0;
};

TEST_F(RealFlame, OfEachEventIsTheMergedTreeOfTheStacks) {
  for (const std::string& event : fleet_->events()) {
    expect_tree({.event = event, .by = {}, .where = {}});
  }
  EXPECT_GT(nodes_, 100'000);
  EXPECT_GT(margins_, 100);
  EXPECT_GT(kernel_nodes_, 200);
  EXPECT_GT(deepest_, 50);
}

TEST_F(RealFlame, UnderFiltersIsTheMergedTreeOfTheirStacks) {
  expect_tree({.event = "cycles", .by = {}, .where = {{"draw", false, "draw-0"}}});
  expect_tree(
      {.event = "cycles", .by = {}, .where = {{"binary", false, "[kernel]"}, {"app", true, "[kernel]"}}});
  expect_tree({.event = "cpu-clock", .by = {}, .where = {{"function", true, "start_thread"}}});
  expect_tree({.event = "cpu-clock", .by = {}, .where = {{"function", false, "tcp_sendmsg"}}});
  expect_tree({.event = "cpu-clock", .by = {}, .where = {}, .patterns = {{"focus", "tcp"}, {"hide", "sys"}}});
  expect_tree({.event = "cycles", .by = {}, .where = {}, .patterns = {{"hide", "kernel"}}});
  EXPECT_GT(nodes_, 200);
}

class RealCallers : public OnRealProfiles {
 protected:
  // The functions with the largest total, and with the largest self.
  static std::set<std::string> hottest(const std::string& event) {
    std::map<std::string, double> totals;
    std::map<std::string, double> selves;
    for (const Sample& sample : fleet_->samples()) {
      if (sample.event != event) {
        continue;
      }
      selves[sample.frames.front().function] += sample.value;
      std::set<std::string> functions;
      for (const model::Frame& frame : sample.frames) {
        functions.insert(frame.function);
      }
      for (const std::string& function : functions) {
        totals[function] += sample.value;
      }
    }
    std::set<std::string> hottest;
    for (const auto* values : {&totals, &selves}) {
      std::vector<std::pair<double, std::string>> order;
      for (const auto& [function, value] : *values) {
        order.emplace_back(-value, function);
      }
      std::ranges::sort(order);
      for (size_t i = 0; i < std::min<size_t>(6, order.size()); ++i) {
        hottest.insert(order[i].second);
      }
    }
    return hottest;
  }

  static Table ask(Neighbour neighbour, const Question& question, const Condition& of) {
    Parameters parameters{{"event", question.event}, {"of", of.text()}, {"limit", "1000000"}};
    question.add_filters(parameters);
    const auto request =
        neighbour == Neighbour::kCaller ? parse_callers(parameters, 0) : parse_callees(parameters, 0);
    EXPECT_TRUE(request) << (request ? "" : request.error().text());
    return through_json(callers(*request, fleet_->snapshot()));
  }

  void expect_neighbours(const Question& question, const Condition& of) {
    for (const auto neighbour : {Neighbour::kCaller, Neighbour::kCallee}) {
      const std::string name = neighbour == Neighbour::kCaller ? "caller" : "callee";
      SCOPED_TRACE(fmt::format("{} of {}:{}", name, of.text(), text_of(question.parameters())));
      std::map<std::string, Sampled> expected;
      Sampled all;
      question.for_each(fleet_->samples(), [&](const Sample& sample) {
        if (of.holds(sample)) {
          model::add(sample, expected[model::neighbour_of(sample, of, neighbour)]);
          model::add(sample, all);
        }
      });
      const Table table = ask(neighbour, question, of);
      EXPECT_EQ(table.rows.size(), expected.size());
      for (const auto& row : table.rows) {
        RowCheck check(table, row, compared_);
        const Sampled& part = expected[std::get<std::string>(check.at(name))];
        check.number("total", model::sum(part));
        check.number("total_share", model::sum(part) / model::sum(all));
        check.estimate("total_share", "total_margin_kind",
                       ByMachine(fleet_->machines(question), part, all).share());
        ++compared_.rows;
      }
    }
  }
};

TEST_F(RealCallers, OfTheHottestFunctionsAreTheirNeighboursOnTheStacks) {
  for (const std::string& event : fleet_->events()) {
    for (const std::string& function : hottest(event)) {
      expect_neighbours({.event = event, .by = {}, .where = {}}, {"function", false, function});
    }
  }
  EXPECT_GT(compared_.rows, 300);
  EXPECT_GT(compared_.margins, 5);
}

TEST_F(RealCallers, OfALibraryUnderFiltersAreItsNeighboursOnTheStacks) {
  for (const char* event : {"cycles", "instructions", "branch-records"}) {
    expect_neighbours({.event = event, .by = {}, .where = {}}, {"binary", false, "[kernel]"});
    expect_neighbours({.event = event, .by = {}, .where = {{"app", true, "[kernel]"}}},
                      {"binary", false, "[kernel]"});
  }
  expect_neighbours({.event = "app-cpu-ns", .by = {}, .where = {}}, {"file", false, "/tmp/large/large.go"});
  expect_neighbours({.event = "app-cpu-ns", .by = {}, .where = {}, .patterns = {{"hide", "runtime"}}},
                    {"file", false, "/tmp/large/large.go"});
  EXPECT_GT(compared_.rows, 20);
}

}  // namespace
}  // namespace plimsoll::query::real
