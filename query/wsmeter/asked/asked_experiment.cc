#include "query/wsmeter/asked/asked_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "query/snapshot/event_pair.h"
#include "query/views/ratio.h"

namespace plimsoll::query {
namespace {

constexpr int64_t kWeekNs = int64_t{7} * 24 * 3600 * 1'000'000'000;
constexpr size_t kMaxInstances = 1'000'000;

// A filter of one arm alone; errors name that.
Parameter arm_parameter(std::string_view name, Selection& arm) {
  return {name, [name, read = where_parameter(arm).read](const std::string& text) -> Status {
            auto done = read(text);
            return done ? done : with_field(propagate(done), std::string(name));
          }};
}

// Verdicts call more of it better.
Parameter performance_parameter(std::string& ratio) {
  return {"ratio", [&ratio, read = ratio_parameter(ratio).read](const std::string& text) -> Status {
            auto done = read(text);
            return done ? check_more_is_better(ratio) : done;
          }};
}

// An end that moves with the clock has passed at every look, and would show the effect of a test that runs.
Parameter fixed_end_parameter(int64_t now_ns, Selection& selection) {
  const Parameter until = until_parameter(now_ns, selection);
  return {until.name, [read = until.read](const std::string& text) -> Status {
            if (moves_with_clock(text)) {
              return invalid_parameter(
                  "until", text, "a time such as 2026-11-24T12:00:00Z, which does not move with the clock");
            }
            return read(text);
          }};
}

struct ReadExperiment {
  AskedExperiment asked;
  Selection both;
  size_t min_instances = 4;
  int64_t history_ns = kWeekNs;

  std::vector<Parameter> parameters(int64_t now_ns) {
    std::vector<Parameter> known = filter_parameters(now_ns, both);
    *std::ranges::find(known, "until", &Parameter::name) = fixed_end_parameter(now_ns, both);
    known.push_back(arm_parameter("control", asked.control));
    known.push_back(performance_parameter(asked.ratio));
    known.push_back(share_parameter("margin", asked.goal.margin));
    known.push_back(share_parameter("detect", asked.goal.detect));
    known.push_back(share_parameter("power", asked.goal.power));
    known.push_back(count_parameter("min_instances", kMaxInstances, min_instances));
    return known;
  }

  Selection arm(const Selection& own) const {
    Selection joined = both;
    joined.where.insert(joined.where.end(), own.where.begin(), own.where.end());
    return joined;
  }
};

std::unexpected<Error> fail_missing(std::string_view arm) {
  return with_hint(with_field(fail(ErrorCode::kInvalid, "no filter for the {} arm", arm), std::string(arm)),
                   "give control and test, such as control=revision=41 and test=revision=42");
}

Status check_goal(const ExperimentGoal& goal) {
  if (goal.margin <= 0) {
    return invalid_parameter("margin", "0", "a share above 0, such as 1%");
  }
  if (goal.power < 0.5 || goal.power >= 1) {
    return invalid_parameter("power", fmt::format("{:g}", goal.power), "a share from 50% to below 100%");
  }
  return {};
}

bool are_same(const Selection& a, const Selection& b) {
  return std::ranges::equal(a.where, b.where, {}, &Predicate::text, &Predicate::text);
}

}  // namespace

store::TimeSpans AskedExperiment::times() const {
  return {{.from_ns = control.since_ns, .to_ns = control.until_ns}};
}

Result<AskedExperiment> parse_experiment(const Parameters& parameters, int64_t now_ns) {
  ReadExperiment read;
  std::vector<Parameter> known = read.parameters(now_ns);
  known.push_back(arm_parameter("test", read.asked.test));
  if (const auto done = read_parameters(parameters, known); !done) {
    return propagate(done);
  }
  AskedExperiment& asked = read.asked;
  if (asked.control.where.empty() || asked.test.where.empty()) {
    return fail_missing(asked.control.where.empty() ? "control" : "test");
  }
  if (are_same(asked.control, asked.test)) {
    return with_field(fail(ErrorCode::kInvalid, "the control and the test are the same"), "test");
  }
  asked.control = read.arm(asked.control);
  asked.test = read.arm(asked.test);
  asked.goal.min_instances = static_cast<int64_t>(read.min_instances);
  asked.now_ns = now_ns;
  const auto checked = check_selection(asked.control);
  const auto sound = checked ? check_goal(asked.goal) : checked;
  return sound ? Result<AskedExperiment>(std::move(asked)) : propagate(sound);
}

Result<AskedExperiment> parse_experiment_plan(const Parameters& parameters, int64_t now_ns) {
  ReadExperiment read;
  std::vector<Parameter> known = read.parameters(now_ns);
  known.push_back(duration_parameter("history", read.history_ns));
  if (const auto done = read_parameters(parameters, known); !done) {
    return propagate(done);
  }
  AskedExperiment& asked = read.asked;
  if (asked.control.where.empty()) {
    return fail_missing("control");
  }
  asked.control = read.arm(asked.control);
  // What happens once the test runs must not decide how long it is to run.
  const bool has_begun = asked.control.since_ns != INT64_MIN && asked.control.since_ns < now_ns;
  asked.control.until_ns = has_begun ? asked.control.since_ns : now_ns;
  asked.control.since_ns = asked.control.until_ns - read.history_ns;
  asked.goal.min_instances = static_cast<int64_t>(read.min_instances);
  asked.now_ns = now_ns;
  const auto sound = check_goal(asked.goal);
  return sound ? Result<AskedExperiment>(std::move(asked)) : propagate(sound);
}

}  // namespace plimsoll::query
