#include "query/placement/placement_input.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <unordered_set>

#include "query/placement/named_rows.h"

namespace plimsoll::query {
namespace {

using Row = formats::CsvTable::Row;

// By how much of a job's load today's may differ from it.
constexpr double kLoadTolerance = 1e-6;

class Reader {
 public:
  Reader(const PlacementTexts& texts, std::optional<double> max_unknown_cost)
      : texts_(texts), max_unknown_cost_(max_unknown_cost) {}

  Result<PlacementInput> read() {
    for (const auto step :
         {&Reader::read_unit, &Reader::read_jobs, &Reader::read_platforms, &Reader::read_costs}) {
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
  Status read_unit() {
    auto costs = NamedRows::read(texts_.costs, {"job", "platform"});
    if (!costs) {
      return propagate(costs);
    }
    costs_ = std::move(*costs);
    if (costs_.has("cpi") == costs_.has("ns_per_instruction")) {
      return with_hint(
          fail(ErrorCode::kInvalid, "{}: a column cpi or ns_per_instruction is required", texts_.costs.name),
          "use cpi if all platforms have the same clock rate, else ns_per_instruction");
    }
    input_.unit = costs_.has("cpi") ? CostUnit::kCycles : CostUnit::kNanoseconds;
    return {};
  }

  Status read_jobs() {
    const auto rows = NamedRows::read(texts_.jobs, {"job", "load"});
    if (!rows) {
      return propagate(rows);
    }
    for (const Row& row : rows->rows()) {
      const auto load = rows->number(row, "load");
      if (!load) {
        return propagate(load);
      }
      const std::string& job = rows->text(row, "job");
      if (idle_.contains(job) || jobs_.find(job).has_value()) {
        return repeated(texts_.jobs, row, "job", job);
      }
      add_job(job, *load);
    }
    return jobs_.all().empty() ? fail(ErrorCode::kInvalid, "{}: no job has a load", texts_.jobs.name)
                               : Status();
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

  Status read_platforms() {
    const auto rows = NamedRows::read(texts_.platforms, {"platform"});
    if (!rows) {
      return propagate(rows);
    }
    const bool has_cpus = rows->has("cpus");
    if (has_cpus == rows->has("capacity") || (has_cpus && input_.unit == CostUnit::kCycles)) {
      return with_hint(fail(ErrorCode::kInvalid, "{}: a column capacity is required", texts_.platforms.name),
                       "capacity has the unit of cost x load: cycles per second with cpi (CPUs x clock "
                       "rate), CPU-nanoseconds per second with ns_per_instruction, where a column cpus (1e9 "
                       "per CPU) may be given instead");
    }
    const double factor = has_cpus ? kCpuNsPerSecond : 1;
    for (const Row& row : rows->rows()) {
      const auto capacity = rows->positive(row, has_cpus ? "cpus" : "capacity");
      if (!capacity) {
        return propagate(capacity);
      }
      if (!platforms_.add(rows->text(row, "platform"))) {
        return repeated(texts_.platforms, row, "platform", rows->text(row, "platform"));
      }
      input_.problem.capacities.push_back(*capacity * factor);
    }
    return {};
  }

  Status read_costs() {
    for (const Row& row : costs_.rows()) {
      const std::string& job = costs_.text(row, "job");
      const auto number = jobs_.find(job);
      const auto platform = platforms_.find(costs_.text(row, "platform"));
      if (!platform) {
        return unknown(row, "platform", costs_.text(row, "platform"), texts_.platforms);
      }
      if (!number && !idle_.contains(job)) {
        return unknown(row, "job", job, texts_.jobs);
      }
      const auto pair = read_pair(row, number.value_or(0), *platform);
      if (!pair) {
        return propagate(pair);
      }
      if (number) {
        input_.problem.pairs.push_back(*pair);
        lines_.push_back(row.line);
      }
    }
    return check_repeated_pairs();
  }

  Result<Pair> read_pair(const Row& row, uint32_t job, uint32_t platform) const {
    const auto cost = costs_.positive(row, input_.unit == CostUnit::kCycles ? "cpi" : "ns_per_instruction");
    if (!cost) {
      return propagate(cost);
    }
    Pair pair{.job = job, .platform = platform, .cost = *cost};
    if (costs_.has("margin") && !costs_.text(row, "margin").empty()) {
      const auto margin = costs_.number(row, "margin");
      if (!margin) {
        return propagate(margin);
      }
      pair.margin = *margin;
    }
    return pair;
  }

  Status check_repeated_pairs() const {
    std::unordered_set<uint64_t> seen;
    for (size_t i = 0; i < lines_.size(); ++i) {
      const Pair& pair = input_.problem.pairs[i];
      if (!seen.insert(uint64_t{pair.job} << 32U | pair.platform).second) {
        return fail(ErrorCode::kInvalid, "{}: line {}: job \"{}\" on platform \"{}\" has a cost already",
                    texts_.costs.name, lines_[i], jobs_.all()[pair.job], platforms_.all()[pair.platform]);
      }
    }
    return {};
  }

  static std::unexpected<Error> repeated(const NamedText& text, const Row& row, std::string_view what,
                                         const std::string& name) {
    return fail(ErrorCode::kInvalid, "{}: line {}: {} \"{}\" has a row already", text.name, row.line, what,
                name);
  }

  std::unexpected<Error> unknown(const Row& row, std::string_view what, const std::string& name,
                                 const NamedText& where) const {
    return fail(ErrorCode::kInvalid, "{}: line {}: {} \"{}\" is not in {}", texts_.costs.name, row.line, what,
                name, where.name);
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

  const PlacementTexts& texts_;
  const std::optional<double> max_unknown_cost_;
  NamedRows costs_;
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

Status check_today(const NamedText& text, const PlacementInput& input, std::vector<TodaysLoad>& loads) {
  const auto key = [](const TodaysLoad& load) { return std::tuple(load.job, load.platform); };
  std::ranges::sort(loads, {}, key);
  const auto repeated = std::ranges::adjacent_find(loads, std::ranges::equal_to(), key);
  if (repeated != loads.end()) {
    return fail(ErrorCode::kInvalid, "{}: job \"{}\" has two rows on platform \"{}\"", text.name,
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
                            text.name, input.jobs[i], load, sums[i]),
                       "--today must place the same load as --jobs");
    }
  }
  return {};
}

}  // namespace

Result<PlacementInput> read_placement(const PlacementTexts& texts, std::optional<double> max_unknown_cost) {
  return Reader(texts, max_unknown_cost).read();
}

Result<std::vector<TodaysLoad>> read_today(const NamedText& text, const PlacementInput& input) {
  const auto rows = NamedRows::read(text, {"job", "platform", "load"});
  if (!rows) {
    return propagate(rows);
  }
  const auto jobs = numbers_of(input.jobs);
  const auto platforms = numbers_of(input.platforms);
  std::vector<TodaysLoad> loads;
  for (const Row& row : rows->rows()) {
    const auto load = rows->number(row, "load");
    if (!load) {
      return propagate(load);
    }
    if (*load == 0) {
      continue;
    }
    const auto job = jobs.find(rows->text(row, "job"));
    const auto platform = platforms.find(rows->text(row, "platform"));
    if (job == jobs.end() || platform == platforms.end()) {
      return fail(ErrorCode::kInvalid, "{}: line {}: no job \"{}\" with a load, or no platform \"{}\"",
                  text.name, row.line, rows->text(row, "job"), rows->text(row, "platform"));
    }
    loads.push_back({.job = job->second, .platform = platform->second, .load = *load});
  }
  if (auto checked = check_today(text, input, loads); !checked) {
    return propagate(checked);
  }
  return loads;
}

}  // namespace plimsoll::query
