#include "query/views/shared.h"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <string>
#include <utility>
#include <vector>

#include "query/rows/estimate_columns.h"
#include "query/rows/grouping.h"
#include "query/rows/per_machine_rows.h"
#include "query/rows/row_estimates.h"
#include "query/rows/row_sums.h"
#include "query/rows/symbol_coverage.h"
#include "query/selection/empty_selection.h"
#include "query/selection/squares.h"
#include "statistics/binomial.h"

namespace plimsoll::query {
namespace {

// Of a share that is taken for real: there are as many trials as there are jobs.
constexpr double kDeviations = 3;

// One of those that run the code.
struct Runner {
  double value = 0;    // all that it takes
  double squares = 0;  // of what each sample stands for

  double effective_samples() const { return squares > 0 ? value * value / squares : 0; }
};

// How a piece of code is spread over its runners.
struct Spread {
  double value = 0;
  size_t runners = 0;
  double largest = 0;  // what one runner has of it
  RowKey largest_in = {};
  double highest_share = 0;
  double highest_share_low = 0;  // its lower bound, which it was chosen by
  RowKey highest_share_in = {};
};

// What is not shown, and why.
struct LeftOut {
  size_t rows = 0;
  double value = 0;
};

class SharedQuery {
 public:
  SharedQuery(const SharedRequest& request, const Snapshot& snapshot)
      : request_(request),
        snapshot_(snapshot),
        hidden_(hidden_frames(request.selection, snapshot)),
        code_(request.by, hidden_, snapshot),
        by_runner_dimensions_(joined(request.by, request.across)),
        by_runner_(by_runner_dimensions_, hidden_, snapshot),
        part_(request.part == CodePart::kSelf ? &RowValues::self : &RowValues::total) {}

  Result<Table> run() {
    auto resolved = resolve(request_.selection, snapshot_);
    if (!resolved) {
      return propagate(resolved);
    }
    resolved_ = std::move(*resolved);
    if (auto summed = sum(); !summed) {
      return propagate(summed);
    }
    if (auto sampled = request_.margins ? sample() : Status(); !sampled) {
      return propagate(sampled);
    }
    return make_table();
  }

 private:
  static std::vector<Dimension> joined(std::vector<Dimension> by, const Dimension& across) {
    by.push_back(across);
    return by;
  }

  // The runner's part of a key: all but the frame.
  static RowKey runner_of(RowKey key) {
    key.frame = 0;
    return key;
  }

  Status sum() {
    store::AggregateRequest request = with_squares(resolved_.request, snapshot_);
    by_runner_.add_groups(request);
    request.group[Column::kStack] = store::IdGrouping::each();
    const size_t samples = request.measures.size();
    request.measures.push_back(resolved_.request.measures[kSamples]);
    const store::IdTable<double> no_samples(std::vector<double>(snapshot_.dictionaries.origins.size()));
    for (uint32_t event = 0; event < snapshot_.dictionaries.events.size(); ++event) {
      if (request.filter[Column::kEvent].selects(event)) {
        // Rows of squares are no samples.
        store::IdTable<double>& of_event = request.measures.back()[event];
        if (of_event.empty()) {
          of_event = no_samples;
        }
      }
    }
    const auto cells = snapshot_.rows->aggregate(request);
    if (!cells) {
      return with_hint(propagate(cells), "select less: a filter (where), a shorter time, or across fewer");
    }
    boost::unordered_flat_map<RowKey, Runner> runners;
    for (size_t i = 0; i < cells->size(); ++i) {
      const store::CellKey& key = cells->keys[i];
      Runner& runner = runners[groups_of(key)];
      runner.value += cells->sum(i, kValue);
      runner.squares += cells->sum(i, kSquares);
      sum_ += cells->sum(i, kValue);
      symbols_.add(key[Column::kStack], cells->sum(i, kValue), cells->sum(i, samples));
    }
    runners_ = runners.size();
    spread(sum_rows(*cells, 1, by_runner_, snapshot_), runners);
    rank();
    return {};
  }

  void spread(const SummedRows& rows, const boost::unordered_flat_map<RowKey, Runner>& runners) {
    spread_.resize(code_.frames()->size());
    for (size_t row = 0; row < rows.size(); ++row) {
      const double value = rows.of(row).*part_;
      if (value <= 0) {
        continue;
      }
      const RowKey runner_key = runner_of(rows.keys[row]);
      const Runner& runner = runners.at(runner_key);
      Spread& spread = spread_[rows.keys[row].frame];
      spread.value += value;
      ++spread.runners;
      if (value > spread.largest) {
        spread.largest = value;
        spread.largest_in = runner_key;
      }
      const double share = std::min(1.0, value / runner.value);
      const double low = statistics::wilson_low(share, runner.effective_samples(), kDeviations);
      if (low > spread.highest_share_low || spread.highest_share == 0) {
        spread.highest_share = share;
        spread.highest_share_low = low;
        spread.highest_share_in = runner_key;
      }
    }
  }

  // Leaves the code to show, in its order.
  void rank() {
    for (uint32_t code = 0; code < spread_.size(); ++code) {
      const Spread& spread = spread_[code];
      if (spread.runners == 0) {
        continue;
      }
      if (spread.runners == 1 || spread.highest_share_low > request_.below) {
        LeftOut& left_out = spread.runners == 1 ? of_one_ : important_;
        ++left_out.rows;
        left_out.value += spread.value;
        continue;
      }
      keys_.push_back({.group = {}, .frame = code});
    }
    const auto shown = static_cast<std::ptrdiff_t>(std::min(request_.limit, keys_.size()));
    std::ranges::partial_sort(keys_, keys_.begin() + shown, [&](const RowKey& a, const RowKey& b) {
      const double x = spread_[a.frame].value;
      const double y = spread_[b.frame].value;
      return x != y ? x > y : code_.less(a, b);
    });
    keys_.erase(keys_.begin() + shown, keys_.end());
  }

  Status sample() {
    const MachineSample sample(snapshot_, resolved_.request.filter);
    store::AggregateRequest request = resolved_.request;
    code_.add_groups(request);
    const auto sampled =
        RowSplitter(keys_, 1, code_, snapshot_).split(request, sample.sampling_units_of_origins());
    if (!sampled) {
      return with_hint(propagate(sampled), "select fewer rows (limit), or give margins=no");
    }
    estimates_ = estimate_shares(*sampled, std::span(&part_, 1), whole_domain(sample));
    return {};
  }

  // Totals overlap, and add up to nothing.
  std::string rows_text(const LeftOut& left_out) const {
    const std::string rows = left_out.rows == 1 ? "1 row" : fmt::format("{} rows", left_out.rows);
    return request_.part == CodePart::kSelf
               ? fmt::format("{} with {} of all", rows, readable(left_out.value / sum_, "share"))
               : rows;
  }

  void add_notes(Table& table) const {
    table.notes = resolved_.notes;
    const std::string_view across = request_.across.name;
    if (sum_ == 0) {
      table.notes.push_back("no results: " + why_empty(request_.selection, snapshot_));
      return;
    }
    if (runners_ == 1) {
      table.notes.push_back(fmt::format("all samples are of one {}: no shared code", across));
      return;
    }
    if (important_.rows > 0) {
      table.notes.push_back(fmt::format("excluded, more than {} of a {}: {}",
                                        readable(request_.below, "share"), across, rows_text(important_)));
    }
    if (of_one_.rows > 0) {
      table.notes.push_back(fmt::format("excluded, run by one {} only: {}", across, rows_text(of_one_)));
    }
  }

  std::string runner_text(const RowKey& key) const {
    std::vector<Value> texts;
    by_runner_.add_texts(key, texts);
    return std::get<std::string>(texts.back());
  }

  Table make_table() {
    Table table;
    const store::EventEntry& event = snapshot_.dictionaries.events[resolved_.event];
    table.event = event.name;
    add_notes(table);
    table.coverage = resolved_.coverage;
    symbols_.describe(table.coverage);
    table.columns = code_.columns();
    const std::string part = request_.part == CodePart::kSelf ? "self" : "total";
    const TableColumn share{part + "_share", "share"};
    table.columns.push_back({part, std::string(unit_name(event.unit))});
    table.columns.push_back(share);
    add_estimate_columns(share, part + "_margin_kind", table.columns);
    table.columns.insert(table.columns.end(), {{"spread_over", "count"},
                                               {"largest_part", "share"},
                                               {"largest_part_in", ""},
                                               {"highest_share", "share"},
                                               {"highest_share_in", ""}});
    for (size_t row = 0; row < keys_.size(); ++row) {
      const Spread& spread = spread_[keys_[row].frame];
      auto& values = table.rows.emplace_back();
      code_.add_texts(keys_[row], values);
      values.emplace_back(spread.value);
      values.emplace_back(spread.value / sum_);
      add_estimate(estimates_.empty() ? nullptr : &estimates_[row], values);
      values.emplace_back(static_cast<int64_t>(spread.runners));
      values.emplace_back(spread.largest / spread.value);
      values.emplace_back(runner_text(spread.largest_in));
      values.emplace_back(spread.highest_share);
      values.emplace_back(runner_text(spread.highest_share_in));
    }
    return table;
  }

  const SharedRequest& request_;
  const Snapshot& snapshot_;
  const std::shared_ptr<const HiddenFrames> hidden_;
  Grouping code_;
  const std::vector<Dimension> by_runner_dimensions_;
  Grouping by_runner_;  // the code by who runs it; frames have the same numbers as in code_
  double RowValues::* const part_;
  SymbolCoverage symbols_{snapshot_};
  ResolvedSelection resolved_;
  size_t runners_ = 0;
  double sum_ = 0;
  std::vector<Spread> spread_;  // by frame key
  LeftOut important_, of_one_;
  std::vector<RowKey> keys_;                     // of the rows shown
  std::vector<statistics::Estimate> estimates_;  // of their shares; empty: not asked for
};

Parameter part_parameter(CodePart& part) {
  return {"part", [&part](const std::string& text) -> Status {
            if (text != "self" && text != "total") {
              return invalid_parameter("part", text, "self or total");
            }
            part = text == "self" ? CodePart::kSelf : CodePart::kTotal;
            return {};
          }};
}

Parameter across_parameter(Dimension& across) {
  return {"across", [&across](const std::string& text) -> Status {
            const auto dimension = find_dimension(text);
            if (!dimension) {
              return with_field(propagate(dimension), "across");
            }
            across = *dimension;
            return {};
          }};
}

bool is_of_code(const Dimension& dimension) {
  return dimension.source == DimensionSource::kFrame;
}

// Code by what is no code, across what runs it.
Status check_dimensions(const SharedRequest& request) {
  for (const Dimension& dimension : request.by) {
    if (!is_of_code(dimension)) {
      return with_field(
          fail(ErrorCode::kInvalid,
               "{} is not an attribute of code: by takes function, file, binary and similar", dimension.name),
          "by");
    }
  }
  if (is_of_code(request.across) || request.across.source == DimensionSource::kStack) {
    return with_field(
        fail(ErrorCode::kInvalid, "{} does not run code: across takes job, app, machine and similar",
             request.across.name),
        "across");
  }
  return {};
}

}  // namespace

Result<SharedRequest> parse_shared(const Parameters& parameters, int64_t now_ns) {
  SharedRequest request{.selection = {}, .by = {}, .across = *find_dimension("job")};
  const auto read = read_parameters(
      parameters, now_ns, request.selection,
      {by_parameter(request.by), across_parameter(request.across), part_parameter(request.part),
       share_parameter("max_share", request.below), count_parameter("limit", kMaxRows, request.limit),
       flag_parameter("margins", request.margins)});
  if (!read) {
    return propagate(read);
  }
  if (request.by.empty()) {
    request.by.push_back(*find_dimension("function"));
  }
  if (auto checked = check_dimensions(request); !checked) {
    return propagate(checked);
  }
  return request;
}

Result<Table> shared(const SharedRequest& request, const Snapshot& snapshot) {
  return SharedQuery(request, snapshot).run();
}

}  // namespace plimsoll::query
