#include "query/operations/status_parts.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/time.h"

namespace plimsoll::query {
namespace {

constexpr const char* kServerOnly = "known to a running server only: use --server ADDR";

Value moment(int64_t wall_ns) {
  return wall_ns == 0 ? Value() : Value(format_time(wall_ns / kNsPerSecond * kNsPerSecond));
}

std::string state_of(const BackgroundWorkHealth& work, int64_t now_ns) {
  return work.is_failing() || work.is_stuck(now_ns) ? std::string(kFailedState)
         : work.is_long(now_ns)                     ? "warning"
                                                    : "ok";
}

std::string advice(const BackgroundWorkHealth& work, int64_t now_ns) {
  return work.is_stuck(now_ns)  ? "one pass is stuck: restart the server, which repeats it"
         : work.is_failing()    ? work.hint
         : work.is_long(now_ns) ? "one pass takes unusually long"
                                : "";
}

// Of live machines. 0: none has said how many it has.
double live_cores(const StatusRequest& request, const StatusFacts& facts, int64_t& machines) {
  double cores = 0;
  for (const store::LiveMachine& machine : facts.machines) {
    if (machine.first_seen_ns != 0 && machine.is_live(request.now_ns) && machine.attributes.cores() > 0) {
      cores += static_cast<double>(machine.attributes.cores());
      ++machines;
    }
  }
  return cores;
}

}  // namespace

Table background_work(const StatusRequest& request, const StatusFacts& facts) {
  Table table;
  table.columns = {{"work", ""},           {std::string(kStatusColumn), ""},
                   {"newest_success", ""}, {"running_since", ""},
                   {"failing_since", ""},  {"errors", "count"},
                   {"last_error_at", ""},  {"last_error", ""},
                   {"detail", ""}};
  if (!facts.server) {
    table.notes.emplace_back(kServerOnly);
    return table;
  }
  for (const BackgroundWorkHealth& work : facts.server->work) {
    table.rows.push_back({work.name, state_of(work, request.now_ns), moment(work.newest_success_ns),
                          moment(work.running_since_ns), moment(work.failing_since_ns), work.errors,
                          moment(work.last_error_ns), work.last_error, advice(work, request.now_ns)});
  }
  return table;
}

Table answered_views(const StatusFacts& facts) {
  Table table;
  table.columns = {{"view", ""},      {"answers", "count"}, {"mean", "ns"},
                   {"p95_max", "ns"}, {"over_1s", "count"}, {"over_10s", "count"}};
  if (!facts.server) {
    table.notes.emplace_back(kServerOnly);
    return table;
  }
  std::vector<ViewAnswers> answers = facts.server->answers;
  std::erase_if(answers, [](const ViewAnswers& view) { return view.answers == 0; });
  std::ranges::sort(answers, [](const ViewAnswers& a, const ViewAnswers& b) {
    return std::tuple(-a.over_10s, -a.over_1s, -a.sum_ns / a.answers, a.view) <
           std::tuple(-b.over_10s, -b.over_1s, -b.sum_ns / b.answers, b.view);
  });
  for (const ViewAnswers& view : answers) {
    table.rows.push_back({view.view, view.answers, view.sum_ns / view.answers,
                          view.p95_max_ns == 0 ? Value() : Value(view.p95_max_ns), view.over_1s,
                          view.over_10s});
  }
  table.notes.emplace_back("since the server's start; waiting for a thread is not included");
  return table;
}

std::vector<OverheadBudgetUse> overhead_budgets(const StatusRequest& request, const StatusFacts& facts) {
  std::vector<OverheadBudgetUse> budgets;
  int64_t machines = 0;
  const double cores = live_cores(request, facts, machines);
  if (!facts.server || cores == 0) {
    return budgets;
  }
  const RunningServer& server = *facts.server;
  if (server.cpus_of_daemon && server.max_overhead_share > 0) {
    budgets.push_back({"draw.max_overhead_percent",
                       *server.cpus_of_daemon * static_cast<double>(machines) / cores,
                       server.max_overhead_share,
                       "drawn machines are withheld until daemons take less: draw fewer, shorten "
                       "collect.window, or raise draw.max_overhead_percent"});
  }
  if (server.daemon_cpus_limit > 0) {
    budgets.push_back({"daemons' CPU limits", server.daemon_cpus / cores, server.daemon_cpus_limit / cores,
                       "daemons collect fewer samples until they take less: lower collect.rate, or raise "
                       "limits.max_cpu_percent of the daemons"});
  }
  return budgets;
}

Table overhead(const StatusRequest& request, const StatusFacts& facts) {
  Table table;
  table.columns = {{"budget", ""},     {std::string(kStatusColumn), ""}, {"spent", "share"},
                   {"limit", "share"}, {"used_share", "share"},          {"detail", ""}};
  for (const OverheadBudgetUse& budget : overhead_budgets(request, facts)) {
    table.rows.push_back({budget.name, std::string(budget.is_over() ? "warning" : "ok"), budget.spent,
                          budget.limit, budget.spent / budget.limit,
                          budget.is_over() ? budget.what_to_do : std::string()});
  }
  if (table.rows.empty()) {
    table.notes.emplace_back(facts.server ? "no live daemon has reported what it takes" : kServerOnly);
  }
  return table;
}

Table symbolizers(const StatusFacts& facts) {
  Table table;
  table.columns = {{"worker", ""},         {"leases", "count"},   {"tables", "count"},
                   {"failed", "count"},    {"refused", "count"},  {"expired", "count"},
                   {"newest_request", ""}, {"newest_failure", ""}};
  if (!facts.server) {
    table.notes.emplace_back(kServerOnly);
    return table;
  }
  for (const SymbolizerWorkerHealth& worker : facts.server->symbolizers) {
    table.rows.push_back({worker.name, worker.leases, worker.tables, worker.failures, worker.refused,
                          worker.expired, moment(worker.newest_request_ns), worker.newest_failure});
  }
  if (table.rows.empty()) {
    table.notes.emplace_back("no symbolizer worker has asked in the last ten minutes");
  }
  return table;
}

}  // namespace plimsoll::query
