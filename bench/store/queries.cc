#include "bench/store/queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "bench/store/generator.h"

namespace plimsoll::bench {
namespace {

constexpr size_t kShown = 20;

std::vector<uint32_t> identity(uint32_t count) {
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

std::vector<bool> only(uint32_t id) {
  std::vector<bool> flags(id + 1);
  flags[id] = true;
  return flags;
}

store::RowFilter event_and_job(uint32_t event, uint32_t job) {
  store::RowFilter filter;
  filter.events = only(event);
  filter.workloads = only(job);
  return filter;
}

// A row has a stack and the stack a function: join rows, or sum by stack first and then join, from either side.
std::vector<std::string> by_function(const std::string& table) {
  const std::string sums = "(select stack, sum(hits) as hits_of_stack from {}.samples group by stack) as s";
  const std::string names = "stacks." + table + " as f";
  const auto ask = [](std::string_view hits, std::string_view left, std::string_view right) {
    return fmt::format("select function, sum({}) from {} join {} on s.stack = f.stack group by function",
                       hits, left, right);
  };
  std::vector<std::string> ways{ask("hits_of_stack", sums, names), ask("hits_of_stack", names, sums)};
  if (table == "leaf") {
    ways.push_back(ask("hits", "{}.samples as s", names));
  }
  return ways;
}

std::vector<uint32_t> leaf_functions(const StackTree& tree) {
  std::vector<uint32_t> functions{0};
  for (uint32_t stack = 1; stack < tree.nodes.size(); ++stack) {
    functions.push_back(tree.leaf_function(stack));
  }
  return functions;
}

std::string key_text(Grouping grouping, const store::CellKey& key) {
  switch (grouping) {
    case Grouping::kJob:
      return fmt::format("{}", key.workload);
    case Grouping::kJobAndMachine:
      return fmt::format("{},{}", key.workload, key.origin);
    default:
      return fmt::format("{}", key.stack);
  }
}

}  // namespace

std::vector<Query> timed_queries() {
  return {
      {.name = "group_job",
       .grouping = Grouping::kJob,
       .sql = {"select job, sum(hits) from {}.samples group by job"},
       .goal_profiles = 4,
       .goal_worst = 8},
      {.name = "group_stack",
       .grouping = Grouping::kStack,
       .sql = {"select stack, sum(hits) from {}.samples group by stack"},
       .goal_profiles = 4,
       .goal_worst = 8},
      {.name = "group_job_machine",
       .grouping = Grouping::kJobAndMachine,
       .sql = {"select job, machine, sum(hits) from {}.samples group by job, machine"},
       .goal_profiles = 4,
       .goal_worst = 8},
      {.name = "group_function_self",
       .grouping = Grouping::kFunctionSelf,
       .sql = by_function("leaf"),
       .goal_profiles = 10,
       .goal_worst = 10},
      {.name = "filter_stack",
       .grouping = Grouping::kStack,
       .filter = event_and_job(2, 17),
       .sql = {"select stack, sum(hits) from {}.samples where event = 2 and job = 17 group by stack"},
       .goal_profiles = 1,
       .goal_worst = 1},
  };
}

Asker::Asker(const StackTree& tree, uint32_t origins, uint32_t events, uint32_t workloads)
    : origins_(origins), events_(events), workloads_(workloads), leaf_function_(leaf_functions(tree)) {}

store::Factors Asker::factors(bool are_all_1) const {
  store::Factors factors(events_ + 1, std::vector<double>(origins_ + 1, 1));
  for (uint32_t event = 1; !are_all_1 && event <= events_; ++event) {
    for (uint32_t origin = 1; origin <= origins_; ++origin) {
      factors[event][origin] = 1000 * (1 + uniform(uint64_t{event} << 32U | origin));
    }
  }
  return factors;
}

store::AggregateRequest Asker::request(const Query& query, uint32_t machine_groups, bool has_factors) const {
  store::AggregateRequest request;
  request.filter = query.filter;
  request.measures = {factors(!has_factors)};
  switch (query.grouping) {
    case Grouping::kJobAndMachine:
      request.origin_group.push_back(0);
      for (uint32_t origin = 1; origin <= origins_; ++origin) {
        request.origin_group.push_back(machine_of(origin));
      }
      [[fallthrough]];
    case Grouping::kJob:
      request.workload_group = identity(workloads_ + 1);
      break;
    case Grouping::kFunctionSelf:
      request.stack_group = leaf_function_;
      break;
    case Grouping::kStack:
    case Grouping::kFunctionTotal:
      request.by_stack = true;
      break;
  }
  for (uint32_t origin = 0; machine_groups > 1 && origin <= origins_; ++origin) {
    request.machine_group.push_back(machine_of(std::max(origin, 1U)) % machine_groups);
  }
  return request;
}

std::vector<double> largest_sums(const store::Cells& cells) {
  std::vector<double> sums;
  sums.reserve(cells.size());
  for (size_t cell = 0; cell < cells.size(); ++cell) {
    sums.push_back(cells.sum(cell));
  }
  const size_t shown = std::min(kShown, sums.size());
  std::ranges::partial_sort(sums, sums.begin() + static_cast<ptrdiff_t>(shown), std::greater());
  sums.resize(shown);
  return sums;
}

std::string answer_text(const Query& query, const store::Cells& cells) {
  // Cells come by origin before workload, answers by job before machine.
  std::vector<size_t> order(cells.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](size_t cell) {
    const store::CellKey& key = cells.keys[cell];
    return std::tuple(key.workload, key.origin, key.stack);
  });
  std::string text;
  for (const size_t cell : order) {
    text += fmt::format("{},{:.0f}\n", key_text(query.grouping, cells.keys[cell]), cells.sum(cell));
  }
  return text;
}

}  // namespace plimsoll::bench
