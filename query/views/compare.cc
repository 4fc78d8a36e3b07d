#include "query/views/compare.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <tuple>

#include "query/rows/estimate_columns.h"
#include "query/rows/grouping.h"
#include "query/rows/per_machine_rows.h"
#include "query/rows/row_estimates.h"
#include "query/rows/row_sums.h"
#include "query/rows/symbol_coverage.h"
#include "query/selection/empty_selection.h"
#include "query/selection/joint_coverage.h"
#include "query/snapshot/event_pair.h"
#include "query/views/ratio.h"
#include "statistics/linearization.h"
#include "statistics/relative_change.h"

namespace plimsoll::query {
namespace {

constexpr double kSignificant = 0.05;

constexpr size_t kBase = 0;
constexpr size_t kOther = 1;
constexpr std::array<const char*, 2> kNames{"base", "new"};

// One of the two selections.
struct ComparedSide {
  ResolvedSelection resolved;
  PerMachineRows sampled;                // by unit of the joint sample
  std::unique_ptr<const Domain> domain;  // its own machines among those
};

// A job, or all of them.
struct Compared {
  RowKey key = {};                          // of a job
  double weight = 0;                        // 0: none
  std::array<double, 2> denominators = {};  // of base and other
  std::array<statistics::Estimate, 2> ratios = {};
  statistics::Estimate change = {};
  std::optional<double> p_value = {};
  std::array<size_t, 2> contributors = {};

  bool is_common() const { return weight > 0 && statistics::has_margin(change.margin_kind); }
};

// What two events have of a row, by unit of a domain.
struct PairColumns {
  UnitColumn numerator;
  UnitColumn denominator;

  statistics::RowSums sums() const { return row_sums_of(numerator, denominator); }
};

class CompareQuery {
 public:
  CompareQuery(const CompareRequest& request, const EventPair& events, const Snapshot& snapshot,
               const LiveFleet& fleet)
      : request_(request), events_(events), snapshot_(snapshot), fleet_(fleet) {
    for (const auto& [half, selection] :
         {std::pair(kBase, &request.sides.base), std::pair(kOther, &request.sides.other)}) {
      ResolvedSelection& resolved = halves_[half].resolved;
      resolved = resolve_together(*selection, {events.numerator, events.denominator}, snapshot);
      resolved.request.group[Column::kEvent] =
          store::IdGrouping::by(events.groups_of(snapshot.dictionaries.events.size()));
      grouping_.add_groups(resolved.request);
    }
  }

  Result<Table> run() {
    for (const size_t half : {kBase, kOther}) {
      if (auto summed = sum(half); !summed) {
        return propagate(summed);
      }
    }
    weigh();
    if (auto sampled = sample(); !sampled) {
      return propagate(sampled);
    }
    compare_jobs();
    return make_table();
  }

 private:
  Status sum(size_t number) {
    const auto summed = sum_selection(halves_[number].resolved.request, events_.groups(),
                                      events_.denominator_group(), grouping_, snapshot_, symbols_);
    if (!summed) {
      return propagate(summed, "summing the {} side", kNames[number]);
    }
    const SummedRows& rows = summed->rows;
    double all = 0;
    for (size_t row = 0; row < rows.size(); ++row) {
      const double denominator = rows.of(row, events_.denominator_group()).self;
      all += denominator;
      if (denominator > 0 || rows.of(row, EventPair::kNumeratorGroup).self > 0) {
        const auto [entry, is_new] = job_of_.try_emplace(rows.keys[row], jobs_.size());
        if (is_new) {
          jobs_.push_back({.key = rows.keys[row]});
        }
        jobs_[entry->second].denominators[number] = denominator;
      }
    }
    if (all <= 0) {
      return with_hint(with_field(fail(ErrorCode::kNotFound, "the {} side has no samples of {}",
                                       kNames[number], request_.ratio),
                                  fmt::format("{}_where", kNames[number])),
                       why_empty(number == kBase ? request_.sides.base : request_.sides.other, snapshot_));
    }
    return {};
  }

  void weigh() {
    const auto quotas = fleet_.quotas_by_job();
    const bool are_jobs = request_.by.size() == 1 && request_.by[0].name == "job";
    for (Compared& job : jobs_) {
      std::vector<Value> texts;
      grouping_.add_texts(job.key, texts);
      const auto quota = are_jobs ? quotas.find(std::get<std::string>(texts[0])) : quotas.end();
      job.weight = quota == quotas.end() ? 0 : quota->second;
      is_by_quota_ = is_by_quota_ || job.weight > 0;
    }
    for (Compared& job : jobs_) {
      job.weight = is_by_quota_ ? job.weight : job.denominators[kBase];
    }
    std::ranges::sort(jobs_, [&](const Compared& a, const Compared& b) {
      return a.weight != b.weight ? a.weight > b.weight : grouping_.less(a.key, b.key);
    });
    job_of_.clear();
  }

  Status sample() {
    const MachineSample sample(snapshot_, of_origins_of_either(halves_[kBase].resolved.request.filter,
                                                               halves_[kOther].resolved.request.filter));
    all_ = std::make_unique<const Domain>(whole_domain(sample));
    std::vector<RowKey> keys;
    for (const Compared& job : jobs_) {
      keys.push_back(job.key);
    }
    const RowSplitter splitter(keys, events_.groups(), grouping_, snapshot_);
    for (const size_t half : {kBase, kOther}) {
      auto sampled = splitter.split(halves_[half].resolved.request, sample.sampling_units_of_origins());
      if (!sampled) {
        return with_hint(propagate(sampled), "select less: fewer jobs (where), or a shorter time");
      }
      halves_[half].sampled = std::move(*sampled);
      halves_[half].domain = std::make_unique<const Domain>(
          domain_of_origins(sample, halves_[half].resolved.request.filter[Column::kOrigin].flags()));
    }
    return {};
  }

  statistics::RelativeChange no_change() const {
    return {all_->design, halves_[kBase].domain->sampling_units.size(),
            halves_[kOther].domain->sampling_units.size()};
  }

  void compare_jobs() {
    statistics::RelativeChange mean = no_change();
    for (size_t row = 0; row < jobs_.size(); ++row) {
      const auto columns = [&](size_t half, const Domain& domain) {
        PairColumns pair;
        fill(halves_[half].sampled, row, EventPair::kNumeratorGroup, &RowValues::self, domain,
             pair.numerator);
        fill(halves_[half].sampled, row, events_.denominator_group(), &RowValues::self, domain,
             pair.denominator);
        return pair;
      };
      compare_one(columns, jobs_[row]);
      if (jobs_[row].is_common()) {
        mean.add(jobs_[row].weight, columns(kBase, *all_).sums(), columns(kOther, *all_).sums());
      }
    }
    const auto whole = [&](size_t half, const Domain& domain) {
      PairColumns pair;
      fill_whole(halves_[half].sampled, EventPair::kNumeratorGroup, domain, pair.numerator);
      fill_whole(halves_[half].sampled, events_.denominator_group(), domain, pair.denominator);
      return pair;
    };
    compare_one(whole, mixed_);
    take_over(mean, mean_);
  }

  // `columns` are of a half, by the units of a domain.
  template <typename Columns>
  void compare_one(const Columns& columns, Compared& compared) const {
    for (const size_t half : {kBase, kOther}) {
      const Domain& own = *halves_[half].domain;
      compared.ratios[half] = statistics::ratio(own.design, columns(half, own).sums());
    }
    statistics::RelativeChange change = no_change();
    change.add(1, columns(kBase, *all_).sums(), columns(kOther, *all_).sums());
    take_over(change, compared);
  }

  static void take_over(const statistics::RelativeChange& change, Compared& compared) {
    compared.change = change.estimate();
    compared.p_value = change.p_value();
    compared.contributors = {change.base_contributors(), change.other_contributors()};
  }

  double weights(bool only_common) const {
    double sum = 0;
    for (const Compared& job : jobs_) {
      sum += !only_common || job.is_common() ? job.weight : 0;
    }
    return sum;
  }
  size_t common_jobs() const {
    return static_cast<size_t>(std::ranges::count_if(jobs_, &Compared::is_common));
  }

  Table make_table() const {
    Table table;
    table.event = request_.ratio;
    add_notes(table);
    table.coverage = joint_coverage(halves_[kBase].resolved, halves_[kOther].resolved, snapshot_);
    symbols_.describe(table.coverage);
    table.columns = grouping_.columns();
    table.columns.push_back({"weight", "share"});
    const auto& events = snapshot_.dictionaries.events;
    const std::string unit = ratio_unit(events[events_.numerator], events[events_.denominator]);
    for (const char* name : kNames) {
      const TableColumn ratio{fmt::format("{}_ratio", name), unit};
      table.columns.push_back(ratio);
      add_estimate_columns(ratio, ratio.name + "_margin_kind", table.columns);
    }
    const TableColumn change{"ratio_change", "share"};
    table.columns.push_back(change);
    add_estimate_columns(change, change.name + "_margin_kind", table.columns);
    table.columns.insert(table.columns.end(), {{"change_p", "p"},
                                               {"verdict", ""},
                                               {"machines_needed", "count"},
                                               {"base_machines", "count"},
                                               {"new_machines", "count"}});
    add_row(title(is_by_quota_ ? "[by quota]" : "[fixed mix]"), mean_, weights(true), 1, table);
    add_row(title("[actual mix]"), mixed_, std::nullopt, 1, table);
    for (size_t job = 0; job < std::min(request_.limit, jobs_.size()); ++job) {
      std::vector<Value> texts;
      grouping_.add_texts(jobs_[job].key, texts);
      add_row(std::move(texts), jobs_[job], jobs_[job].weight, common_jobs(), table);
    }
    return table;
  }

  std::vector<Value> title(const char* text) const {
    std::vector<Value> texts(request_.by.size(), Value(std::string()));
    texts[0] = std::string(text);
    return texts;
  }

  void add_row(std::vector<Value> values, const Compared& compared, std::optional<double> weight,
               size_t tests, Table& table) const {
    values.push_back(value_or_absent(weight ? std::optional(*weight / weights(false)) : std::nullopt));
    for (const statistics::Estimate& ratio : compared.ratios) {
      values.push_back(value_or_absent(ratio.value));
      add_estimate(&ratio, values);
    }
    values.push_back(value_or_absent(compared.change.value));
    add_estimate(&compared.change, values);
    const bool is_judged = &compared == &mean_ || &compared == &mixed_ || compared.is_common();
    const std::optional<double> p_value =
        compared.p_value && is_judged
            ? std::optional(std::min(1.0, *compared.p_value * static_cast<double>(tests)))
            : std::nullopt;
    values.push_back(value_or_absent(p_value));
    values.emplace_back(p_value ? verdict(*p_value, compared) : why_left_out(compared));
    values.push_back(count_or_absent(machines_needed(compared)));
    for (const size_t machines : compared.contributors) {
      values.emplace_back(static_cast<int64_t>(machines));
    }
    table.rows.push_back(std::move(values));
  }

  static std::string verdict(double p_value, const Compared& compared) {
    if (p_value >= kSignificant) {
      return "cannot tell";
    }
    return compared.change.value.value_or(0) > 0 ? "higher" : "lower";
  }

  std::string why_left_out(const Compared& compared) const {
    if (&compared == &mean_) {
      return "no common job";
    }
    for (const size_t half : {kBase, kOther}) {
      if (!compared.ratios[half].value) {
        return fmt::format("left out: no samples on the {} side", kNames[half]);
      }
    }
    return compared.weight <= 0 && &compared != &mixed_
               ? std::string("left out: no quota")
               : fmt::format("left out: {}", statistics::margin_kind_name(compared.change.margin_kind));
  }

  std::optional<size_t> machines_needed(const Compared& compared) const {
    const size_t machines = compared.contributors[kBase] + compared.contributors[kOther];
    if (compared.change.margin_kind == statistics::MarginKind::kTooFewMachines) {
      size_t missing = 0;
      for (const size_t contributors : compared.contributors) {
        missing += std::max(statistics::kMinContributors, contributors) - contributors;
      }
      return missing;
    }
    const bool is_between = compared.change.margin_kind == statistics::MarginKind::kBetweenMachines ||
                            compared.change.margin_kind == statistics::MarginKind::kFewMachines;
    const double margin = compared.change.margin.value_or(0);
    if (!is_between || margin <= request_.margin) {
      return std::nullopt;
    }
    const double times = margin * margin / (request_.margin * request_.margin);
    return static_cast<size_t>(std::ceil(static_cast<double>(machines) * (times - 1)));
  }

  // Jobs that have a change and no margin for it are not in the mean. What they would make of it, and which of them
  // it depends on most: a job's part of the whole is its weight times how far it is from the others.
  void note_left_out(Table& table) const {
    std::vector<const Compared*> left_out;
    double all_weights = weights(true);
    double sum = all_weights > 0 ? all_weights * mean_.change.value.value_or(0) : 0;
    for (const Compared& job : jobs_) {
      if (!job.is_common() && job.weight > 0 && job.change.value) {
        left_out.push_back(&job);
        all_weights += job.weight;
        sum += job.weight * *job.change.value;
      }
    }
    if (left_out.empty()) {
      return;
    }
    const double with_all = sum / all_weights;
    const auto pull = [&](const Compared* job) {
      return job->weight * std::abs(*job->change.value - mean_.change.value.value_or(0));
    };
    std::ranges::sort(left_out, std::greater<>(), pull);
    constexpr size_t kShown = 3;
    std::string shown;
    for (const Compared* job : left_out | std::views::take(kShown)) {
      std::vector<Value> texts;
      grouping_.add_texts(job->key, texts);
      shown += fmt::format("{}{} ({:.1f} % of the weight, {:+.1f} %)", shown.empty() ? "" : ", ",
                           std::get<std::string>(texts[0]), 100 * job->weight / weights(false),
                           100 * job->change.value.value_or(0));
    }
    table.notes.push_back(
        fmt::format("including {} jobs without a margin (too few machines) the change would be {:+.1f} %; "
                    "profile more machines of: {}{}",
                    left_out.size(), 100 * with_all, shown, left_out.size() > kShown ? ", ..." : ""));
  }

  void add_notes(Table& table) const {
    table.notes.insert(table.notes.end(), events_.notes.begin(), events_.notes.end());
    for (const ComparedSide& half : halves_) {
      table.notes.insert(table.notes.end(), half.resolved.notes.begin(), half.resolved.notes.end());
    }
    table.notes.push_back(fmt::format("compared {} of {} jobs, with {:.1f} % of the weight", common_jobs(),
                                      jobs_.size(), 100 * weights(true) / weights(false)));
    note_left_out(table);
    table.notes.emplace_back(is_by_quota_
                                 ? "weights are CPU quotas from the newest census per machine"
                                 : "no quotas known: weights are shares of the denominator on the base side");
    table.notes.push_back(fmt::format(
        "machines_needed is for margins of {:.2f} %; [actual mix] also changes with the mix of jobs",
        100 * request_.margin));
  }

  const CompareRequest& request_;
  const EventPair events_;
  const Snapshot& snapshot_;
  const LiveFleet& fleet_;
  Grouping grouping_{request_.by, hidden_frames(request_.sides.base, snapshot_), snapshot_};
  SymbolCoverage symbols_{snapshot_};
  std::array<ComparedSide, 2> halves_;
  boost::unordered_flat_map<RowKey, size_t, boost::hash<RowKey>> job_of_;
  std::vector<Compared> jobs_;
  bool is_by_quota_ = false;
  std::unique_ptr<const Domain> all_;  // the machines of either
  Compared mean_;
  Compared mixed_;
};

// No number of machines gives a margin of 0.
Parameter margin_parameter(double& margin) {
  return {"margin", [&margin](const std::string& text) -> Status {
            if (auto read = share_parameter("margin", margin).read(text); !read || margin > 0) {
              return read;
            }
            return with_field(fail(ErrorCode::kInvalid, "margin is 0, must be above 0"), "margin");
          }};
}

}  // namespace

Result<CompareRequest> parse_compare(const Parameters& parameters, int64_t now_ns) {
  CompareRequest request;
  auto sides =
      read_sides(parameters, now_ns,
                 {ratio_parameter(request.ratio), by_parameter(request.by),
                  count_parameter("limit", kMaxRows, request.limit), margin_parameter(request.margin)});
  if (!sides) {
    return propagate(sides);
  }
  request.sides = std::move(*sides);
  if (request.by.empty()) {
    request.by.push_back(*find_dimension("job"));
  }
  return request;
}

Result<Table> compare(const CompareRequest& request, const Snapshot& snapshot, const LiveFleet& fleet) {
  const auto events = find_pair(request.ratio, snapshot);
  return events ? CompareQuery(request, *events, snapshot, fleet).run() : propagate(events);
}

}  // namespace plimsoll::query
