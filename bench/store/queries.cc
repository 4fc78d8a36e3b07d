#include "bench/store/queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "bench/store/generator.h"
#include "store/aggregation/top_cells.h"

namespace plimsoll::bench {
namespace {

store::RowFilter event_and_job(uint32_t event, uint32_t job) {
  store::RowFilter filter;
  filter[store::Column::kEvent] = store::IdSet::of({event});
  filter[store::Column::kWorkload] = store::IdSet::of({job});
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

std::string key_text(Grouping grouping, const store::CellKey& key) {
  switch (grouping) {
    case Grouping::kJob:
      return fmt::format("{}", key[store::Column::kWorkload]);
    case Grouping::kJobAndMachine:
      return fmt::format("{},{}", key[store::Column::kWorkload], key[store::Column::kOrigin]);
    default:
      return fmt::format("{}", key[store::Column::kStack]);
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
      {.name = "group_function_total",
       .grouping = Grouping::kFunctionTotal,
       .sql = by_function("functions"),
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

bool reads_stacks(const Query& query) {
  return query.grouping != Grouping::kJob && query.grouping != Grouping::kJobAndMachine;
}

Asker::Asker(const StackTree& tree, uint32_t origins, uint32_t events)
    : origins_(origins), events_(events), projection_(tree.nodes, {tree.first_frame, tree.functions}) {}

store::Factors Asker::factors(bool are_all_1) const {
  std::vector<std::vector<double>> factors(events_ + 1, std::vector<double>(origins_ + 1, 1));
  for (uint32_t event = 1; !are_all_1 && event <= events_; ++event) {
    for (uint32_t origin = 1; origin <= origins_; ++origin) {
      factors[event][origin] = 1000 * (1 + uniform(uint64_t{event} << 32U | origin));
    }
  }
  return store::factors_of(std::move(factors));
}

store::IdGrouping Asker::by_machine() const {
  std::vector<uint32_t> machines{0};
  for (uint32_t origin = 1; origin <= origins_; ++origin) {
    machines.push_back(machine_of(origin));
  }
  return store::IdGrouping::by(std::move(machines));
}

store::AggregateRequest Asker::request(const Query& query, const Counting& counting) const {
  store::AggregateRequest request;
  request.filter = query.filter;
  request.measures = {factors(!counting.has_factors)};
  switch (query.grouping) {
    case Grouping::kJobAndMachine:
      request.group[store::Column::kOrigin] = by_machine();
      [[fallthrough]];
    case Grouping::kJob:
      request.group[store::Column::kWorkload] = store::IdGrouping::each();
      break;
    case Grouping::kFunctionSelf:
      request.group[store::Column::kStack] =
          store::IdGrouping::by({projection_.self_keys().begin(), projection_.self_keys().end()});
      break;
    case Grouping::kStack:
    case Grouping::kFunctionTotal:
      request.group[store::Column::kStack] = store::IdGrouping::each();
      break;
  }
  if (counting.machine_groups > 1) {
    std::vector<uint32_t> machine_group;
    for (uint32_t origin = 0; origin <= origins_; ++origin) {
      machine_group.push_back(machine_of(std::max(origin, 1U)) % counting.machine_groups);
    }
    request.machine_group = store::IdTable<uint32_t>(std::move(machine_group));
  }
  return request;
}

Result<store::Cells> Asker::ask(const store::RowSource& rows, const Query& query,
                                const store::AggregateRequest& request) const {
  auto cells = rows.aggregate(request);
  return cells && query.grouping == Grouping::kFunctionTotal ? totals(*cells) : std::move(cells);
}

Result<store::Cells> Asker::ask_for_top(const store::RowSource& rows, const Query& query,
                                        const store::AggregateRequest& request) const {
  return query.grouping == Grouping::kFunctionTotal ? top_totals(rows, request)
                                                    : store::aggregate_top(rows, request, kShown);
}

store::Cells Asker::totals(const store::Cells& by_stack) const {
  std::vector<double> values(by_stack.keys.empty() ? 0 : by_stack.keys.back()[store::Column::kStack] + 1);
  for (size_t cell = 0; cell < by_stack.size(); ++cell) {
    values[by_stack.keys[cell][store::Column::kStack]] = by_stack.sums[cell];
  }
  store::Cells functions;
  const std::vector<double> totals = projection_.total(values);
  functions.sums.assign(totals.begin(), totals.end());
  for (uint32_t function = 0; function < functions.sums.size(); ++function) {
    functions.keys.emplace_back()[store::Column::kStack] = function;
  }
  return functions;
}

// The largest first, from sums by stack; what they need by machine group then comes from the tree of these few.
Result<store::Cells> Asker::top_totals(const store::RowSource& rows,
                                       const store::AggregateRequest& request) const {
  store::AggregateRequest whole = request;
  whole.machine_group = {};
  const auto by_stack = rows.aggregate(whole);
  if (!by_stack) {
    return by_stack;
  }
  store::Cells answer = store::largest_cells(totals(*by_stack), kShown);
  if (request.machine_group.empty()) {
    return answer;
  }
  std::vector<uint32_t> functions;
  for (const store::CellKey& key : answer.keys) {
    functions.push_back(key[store::Column::kStack]);
  }
  const store::KeyTree tree = projection_.key_tree(functions);
  store::AggregateRequest split = std::move(whole);
  split.group[store::Column::kStack] = store::IdGrouping::by(tree.class_of_stack);
  split.machine_group = request.machine_group;
  const auto by_class = rows.aggregate(split);
  if (!by_class) {
    return by_class;
  }
  answer.machine_groups = by_class->machine_groups;
  answer.sums.resize(answer.size() * answer.machine_groups);
  std::vector<double> values(tree.classes.size());
  for (size_t group = 0; group < answer.machine_groups; ++group) {
    for (size_t cell = 0; cell < by_class->size(); ++cell) {
      values[by_class->keys[cell][store::Column::kStack]] = by_class->by_machine_group(cell)[group];
    }
    const std::vector<double> sums = tree.total(values, functions.size());
    for (size_t function = 0; function < sums.size(); ++function) {
      answer.sums[function * answer.machine_groups + group] = sums[function];
    }
  }
  return answer;
}

std::string answer_text(const Query& query, const store::Cells& cells) {
  // Cells come by origin before workload, answers by job before machine.
  std::vector<size_t> order(cells.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](size_t cell) {
    const store::CellKey& key = cells.keys[cell];
    return std::tuple(key[store::Column::kWorkload], key[store::Column::kOrigin], key[store::Column::kStack]);
  });
  std::string text;
  for (const size_t cell : order) {
    if (cells.sum(cell) == 0) {
      continue;  // a function that no row has
    }
    text += fmt::format("{},{:.0f}\n", key_text(query.grouping, cells.keys[cell]), cells.sum(cell));
  }
  return text;
}

}  // namespace plimsoll::bench
