#include "query/placement/placement_input.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace plimsoll::query {
namespace {

// By how much of a job's load today's may differ from it.
constexpr double kLoadTolerance = 1e-6;

// Numbers for names, in the order in which they came.
class Names {
 public:
  // False: it has one already.
  bool add(const std::string& name) {
    const bool is_new = numbers_.try_emplace(name, static_cast<uint32_t>(names_.size())).second;
    if (is_new) {
      names_.push_back(name);
    }
    return is_new;
  }
  std::optional<uint32_t> find(const std::string& name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

class InputMaker {
 public:
  InputMaker(const PlacementTables& tables, std::optional<double> max_unknown_cost)
      : tables_(tables), max_unknown_cost_(max_unknown_cost) {}

  Result<PlacementInput> make() {
    input_.unit = tables_.costs.unit;
    for (const auto step : {&InputMaker::add_jobs, &InputMaker::add_platforms, &InputMaker::add_costs}) {
      if (auto done = (this->*step)(); !done) {
        return propagate(done);
      }
    }
    complete_pairs();
    input_.jobs = jobs_.all();
    input_.platforms = platforms_.all();
    return std::move(input_);
  }

 private:
  Status add_jobs() {
    const LoadTable& table = tables_.jobs;
    for (const LoadTable::Row& row : table.rows) {
      if (idle_.contains(row.job) || jobs_.find(row.job).has_value()) {
        return repeated(table.name, row.line, "job", row.job);
      }
      add_job(row.job, row.load);
    }
    return jobs_.all().empty() ? fail(ErrorCode::kInvalid, "{}: no job has a load", table.name) : Status();
  }

  void add_job(const std::string& job, double load) {
    if (load == 0) {
      idle_.insert(job);
      input_.idle_jobs.push_back(job);
    } else {
      jobs_.add(job);
      input_.problem.loads.push_back(load);
    }
  }

  Status add_platforms() {
    for (const CapacityTable::Row& row : tables_.platforms.rows) {
      if (!platforms_.add(row.platform)) {
        return repeated(tables_.platforms.name, row.line, "platform", row.platform);
      }
      input_.problem.capacities.push_back(row.capacity);
    }
    return {};
  }

  Status add_costs() {
    for (const CostTable::Row& row : tables_.costs.rows) {
      const auto number = jobs_.find(row.job);
      const auto platform = platforms_.find(row.platform);
      if (!platform) {
        return unknown(row, "platform", row.platform, tables_.platforms.name);
      }
      if (!number && !idle_.contains(row.job)) {
        return unknown(row, "job", row.job, tables_.jobs.name);
      }
      if (number) {
        input_.problem.pairs.push_back(
            {.job = *number, .platform = *platform, .cost = row.cost, .margin = row.margin});
        lines_.push_back(row.line);
      }
    }
    return check_repeated_pairs();
  }

  Status check_repeated_pairs() const {
    std::unordered_set<uint64_t> seen;
    for (size_t i = 0; i < lines_.size(); ++i) {
      const Pair& pair = input_.problem.pairs[i];
      if (!seen.insert(uint64_t{pair.job} << 32U | pair.platform).second) {
        return fail(ErrorCode::kInvalid, "{}: line {}: job \"{}\" on platform \"{}\" has a cost already",
                    tables_.costs.name, lines_[i], jobs_.all()[pair.job], platforms_.all()[pair.platform]);
      }
    }
    return {};
  }

  static std::unexpected<Error> repeated(const std::string& table, uint64_t line, std::string_view what,
                                         const std::string& name) {
    return fail(ErrorCode::kInvalid, "{}: line {}: {} \"{}\" has a row already", table, line, what, name);
  }

  std::unexpected<Error> unknown(const CostTable::Row& row, std::string_view what, const std::string& name,
                                 const std::string& where) const {
    return fail(ErrorCode::kInvalid, "{}: line {}: {} \"{}\" is not in {}", tables_.costs.name, row.line,
                what, name, where);
  }

  // Pairs in order, with those that are bounded.
  void complete_pairs() {
    auto& pairs = input_.problem.pairs;
    const size_t all = input_.problem.loads.size() * input_.problem.capacities.size();
    input_.unknown_pairs = all - pairs.size();
    sort_pairs();
    const std::vector<size_t> first = input_.problem.first_pairs();
    const std::vector<Pair> known = pairs;
    for (uint32_t job = 0; job + 1 < first.size(); ++job) {
      const std::span<const Pair> of_job = std::span(known).subspan(first[job], first[job + 1] - first[job]);
      if (of_job.empty()) {
        input_.lost_jobs.push_back(jobs_.all()[job]);
      } else if (max_unknown_cost_) {
        add_bounds(of_job, *max_unknown_cost_);
      }
    }
    sort_pairs();
  }

  void sort_pairs() {
    std::ranges::sort(input_.problem.pairs, {},
                      [](const Pair& pair) { return std::tuple(pair.job, pair.platform); });
  }

  void add_bounds(std::span<const Pair> of_job, double factor) {
    const double bound = std::ranges::max(of_job, {}, &Pair::cost).cost * factor;
    for (uint32_t platform = 0; platform < platforms_.all().size(); ++platform) {
      if (!std::ranges::binary_search(of_job, platform, {}, &Pair::platform)) {
        input_.problem.pairs.push_back(
            {.job = of_job.front().job, .platform = platform, .cost = bound, .is_bound = true});
      }
    }
  }

  const PlacementTables& tables_;
  const std::optional<double> max_unknown_cost_;
  Names jobs_;
  Names platforms_;
  std::unordered_set<std::string> idle_;
  std::vector<uint64_t> lines_;  // of the pairs
  PlacementInput input_;
};

std::unordered_map<std::string_view, uint32_t> numbers_of(const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, uint32_t> numbers;
  for (uint32_t i = 0; i < names.size(); ++i) {
    numbers.emplace(names[i], i);
  }
  return numbers;
}

Status check_today(const TodayTable& today, const PlacementInput& input, std::vector<TodaysLoad>& loads) {
  const auto key = [](const TodaysLoad& load) { return std::tuple(load.job, load.platform); };
  std::ranges::sort(loads, {}, key);
  const auto repeated = std::ranges::adjacent_find(loads, std::ranges::equal_to(), key);
  if (repeated != loads.end()) {
    return fail(ErrorCode::kInvalid, "{}: job \"{}\" has two rows on platform \"{}\"", today.name,
                input.jobs[repeated->job], input.platforms[repeated->platform]);
  }
  std::vector<double> sums(input.jobs.size());
  for (const TodaysLoad& load : loads) {
    sums[load.job] += load.load;
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    const double load = input.problem.loads[i];
    if (std::abs(sums[i] - load) > kLoadTolerance * load) {
      return with_hint(fail(ErrorCode::kInvalid, "{}: job \"{}\" has a load of {}, of which {} is placed",
                            today.name, input.jobs[i], load, sums[i]),
                       "--today must place the same load as --jobs");
    }
  }
  return {};
}

}  // namespace

Result<PlacementInput> placement_input(const PlacementTables& tables,
                                       std::optional<double> max_unknown_cost) {
  return InputMaker(tables, max_unknown_cost).make();
}

Result<std::vector<TodaysLoad>> todays_loads(const TodayTable& today, const PlacementInput& input) {
  const auto jobs = numbers_of(input.jobs);
  const auto platforms = numbers_of(input.platforms);
  std::vector<TodaysLoad> loads;
  for (const TodayTable::Row& row : today.rows) {
    if (row.load == 0) {
      continue;
    }
    const auto job = jobs.find(row.job);
    const auto platform = platforms.find(row.platform);
    if (job == jobs.end() || platform == platforms.end()) {
      return fail(ErrorCode::kInvalid, "{}: line {}: no job \"{}\" with a load, or no platform \"{}\"",
                  today.name, row.line, row.job, row.platform);
    }
    loads.push_back({.job = job->second, .platform = platform->second, .load = row.load});
  }
  if (auto checked = check_today(today, input, loads); !checked) {
    return propagate(checked);
  }
  return loads;
}

}  // namespace plimsoll::query
