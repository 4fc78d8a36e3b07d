#include "cli/calibrate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <random>

#include "base/time.h"
#include "cli/profiled_runs.h"
#include "cli/views/terminal.h"
#include "scheduler/calibration/slowdown.h"

namespace plimsoll::cli {
namespace {

using scheduler::Slowdown;

// What each round runs: without a profiler, likewise as a control, and at each rate.
constexpr size_t kWithout = 0;
constexpr size_t kControl = 1;
constexpr size_t kFirstRate = 2;

// Of each arm, by round.
using TimesByRound = std::vector<std::vector<double>>;

class Progress {
 public:
  explicit Progress(size_t runs) : runs_(runs), is_shown_(::isatty(STDERR_FILENO) == 1) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { show("\r\x1b[K"); }

  void begin_run(size_t round, size_t rounds, uint32_t rate_hz) {
    const auto left_ns = done_ == 0 ? 0
                                    : (monotonic_now_ns() - start_ns_) / static_cast<int64_t>(done_) *
                                          static_cast<int64_t>(runs_ - done_);
    show(fmt::format("\r\x1b[Kround {} of {}, {}{} ", round, rounds,
                     rate_hz == 0 ? "without a profiler" : fmt::format("at {} Hz", rate_hz),
                     done_ == 0 ? "" : fmt::format("; {} s left", left_ns / kNsPerSecond)));
    ++done_;
  }

 private:
  void show(const std::string& text) const {
    if (is_shown_) {
      std::fputs(text.c_str(), stderr);
      std::fflush(stderr);
    }
  }

  const size_t runs_;
  const bool is_shown_;
  const int64_t start_ns_ = monotonic_now_ns();
  size_t done_ = 0;
};

uint32_t rate_of(size_t arm, const CalibrateOptions& options) {
  return arm < kFirstRate ? 0 : options.rates_hz[arm - kFirstRate];
}

Result<TimesByRound> measure(const CalibrateOptions& options, ProfiledRuns& runs) {
  std::vector<size_t> arms(kFirstRate + options.rates_hz.size());
  std::iota(arms.begin(), arms.end(), size_t{0});
  TimesByRound times(arms.size());
  Progress progress(options.rounds * arms.size() + 1);
  std::mt19937_64 random(std::random_device{}());
  // What the first run reads from the disk the others find in memory.
  progress.begin_run(0, options.rounds, 0);
  if (const auto warmed = runs.run(0); !warmed) {
    return propagate(warmed);
  }
  for (uint32_t round = 1; round <= options.rounds; ++round) {
    std::ranges::shuffle(arms, random);
    for (const size_t arm : arms) {
      progress.begin_run(round, options.rounds, rate_of(arm, options));
      const auto time = runs.run(rate_of(arm, options));
      if (!time) {
        return propagate(time, "round {}", round);
      }
      times[arm].push_back(static_cast<double>(options.measures_cpu_time ? time->cpu_ns : time->wall_ns));
    }
  }
  return times;
}

struct Findings {
  Slowdown control;
  std::vector<Slowdown> by_rate;
  std::optional<size_t> permitted;  // its place
};

Result<Findings> judge(const CalibrateOptions& options, const TimesByRound& times) {
  Findings findings;
  for (size_t arm = kControl; arm < times.size(); ++arm) {
    const auto slowdown =
        scheduler::slowdown_of(times[kWithout], times[arm], options.confidence_percent / 100);
    if (!slowdown) {
      return with_hint(propagate(slowdown), "use a command that runs for a second or longer");
    }
    if (arm == kControl) {
      findings.control = *slowdown;
    } else {
      findings.by_rate.push_back(*slowdown);
    }
  }
  findings.permitted = scheduler::highest_permitted(findings.by_rate, options.overhead_percent / 100);
  return findings;
}

query::GridCell percent_cell(double share, bool is_wary) {
  return {.text = fmt::format("{:+.2f} %", 100 * share),
          .emphasis = is_wary ? query::Emphasis::kWary : query::Emphasis::kNone};
}

void print_text(const CalibrateOptions& options, const Findings& findings) {
  query::GridColumn rates{.header = {"rate"}, .cells = {{"none"}}, .is_text = true};
  query::GridColumn means{.header = {"slowdown"}, .cells = {percent_cell(findings.control.mean, false)}};
  query::GridColumn limits{.header = {"upper limit"},
                           .cells = {percent_cell(findings.control.upper_limit, false)}};
  for (size_t i = 0; i < findings.by_rate.size(); ++i) {
    const Slowdown& slowdown = findings.by_rate[i];
    rates.cells.push_back({.text = fmt::format("{} Hz", options.rates_hz[i])});
    means.cells.push_back(percent_cell(slowdown.mean, false));
    limits.cells.push_back(
        percent_cell(slowdown.upper_limit, slowdown.upper_limit > options.overhead_percent / 100));
  }
  fmt::print(
      "{} of {} relative to runs without a profiler, {} rounds; upper limits with a confidence of {:g} "
      "%\n\n{}\n",
      options.measures_cpu_time ? "CPU time" : "time", fmt::join(options.command, " "), options.rounds,
      options.confidence_percent, query::to_grid({rates, means, limits}, style_of_output()).text);
  if (findings.control.upper_limit > options.overhead_percent / 100) {
    fmt::print("This machine is noisy: runs without a profiler differ by as much as --overhead permits.\n");
  }
  if (const std::optional<size_t>& permitted = findings.permitted) {
    fmt::print(
        "{0} Hz is the highest of these rates with less than {1:g} % overhead.\nIn the server's "
        "configuration, set rate_hz = {0} in [collect]\n",
        options.rates_hz[*permitted], options.overhead_percent);
  }
}

void print_json(const CalibrateOptions& options, const Findings& findings) {
  query::Table table;
  table.notes = {
      fmt::format("command: {}", fmt::join(options.command, " ")),
      fmt::format("slowdown in {} time relative to runs without a profiler, {} rounds; upper limits with a "
                  "confidence of {:g} %; permitted: upper limit of at most {:g} %",
                  options.measures_cpu_time ? "CPU" : "elapsed", options.rounds, options.confidence_percent,
                  options.overhead_percent)};
  table.columns = {{"rate_hz", "Hz"},
                   {"slowdown", "share"},
                   {"upper_limit", "share"},
                   {"log_deviation", "log"},
                   {"verdict", ""}};
  const auto add = [&](query::Value rate_hz, const Slowdown& slowdown, const char* verdict) {
    table.rows.push_back({std::move(rate_hz), slowdown.mean, slowdown.upper_limit, slowdown.log_deviation,
                          std::string(verdict)});
  };
  add(int64_t{0}, findings.control, "without profiler");
  for (size_t i = 0; i < findings.by_rate.size(); ++i) {
    const bool is_permitted = findings.by_rate[i].upper_limit <= options.overhead_percent / 100;
    add(int64_t{options.rates_hz[i]}, findings.by_rate[i],
        findings.permitted == i ? "highest permitted"
        : is_permitted          ? "permitted"
                                : "over the limit");
  }
  fmt::print("{}", query::to_json(table));
}

Status none_is_permitted(const CalibrateOptions& options, const Slowdown& lowest) {
  const double most = options.overhead_percent / 100;
  const auto needed = scheduler::pairs_needed(lowest, most, options.confidence_percent / 100);
  return with_hint(
      fail(ErrorCode::kNotFound,
           "no rate is within --overhead: at {} Hz the upper limit of the slowdown is {:.2f} %, over {:g} %",
           options.rates_hz[0], 100 * lowest.upper_limit, options.overhead_percent),
      needed ? fmt::format("about --rounds {} would give enough precision", *needed)
             : "try lower --rates or a higher --overhead");
}

ProfiledRuns::Options run_options(const CalibrateOptions& options) {
  ProfiledRuns::Options result{
      .command = options.command, .profiler_options = {}, .limit_s = options.limit_s};
  for (const std::string& set : options.event_sets) {
    result.profiler_options.insert(result.profiler_options.end(), {"--event-set", set});
  }
  if (options.stack_bytes != 0) {
    result.profiler_options.insert(result.profiler_options.end(),
                                   {"--stack-bytes", std::to_string(options.stack_bytes)});
  }
  return result;
}

}  // namespace

Status run_calibrate(CalibrateOptions options) {
  if (options.command.empty()) {
    return with_hint(fail(ErrorCode::kInvalid, "a command is required"),
                     "run plimsoll calibrate -- COMMAND; the command must do the same work each time, for a "
                     "second or more");
  }
  std::ranges::sort(options.rates_hz);
  const auto doubles = std::ranges::unique(options.rates_hz);
  options.rates_hz.erase(doubles.begin(), doubles.end());
  auto runs = ProfiledRuns::create(run_options(options));
  const auto times = runs ? measure(options, *runs) : propagate(runs);
  const auto findings = times ? judge(options, *times) : propagate(times);
  if (!findings) {
    return propagate(findings);
  }
  if (options.is_json) {
    print_json(options, *findings);
  } else {
    print_text(options, *findings);
  }
  return findings->permitted ? Status() : none_is_permitted(options, findings->by_rate.front());
}

}  // namespace plimsoll::cli
