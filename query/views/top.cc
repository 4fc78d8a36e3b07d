#include "query/views/top.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "query/rows/estimate_columns.h"
#include "query/rows/grouping.h"
#include "query/rows/per_machine_rows.h"
#include "query/rows/row_estimates.h"
#include "query/rows/row_sums.h"
#include "query/rows/symbol_coverage.h"
#include "query/selection/empty_selection.h"
#include "query/snapshot/event_pair.h"
#include "query/views/ratio.h"
#include "query/views/side_by_side.h"

namespace plimsoll::query {
namespace {

// How a row's part of the whole is called, and which part it is.

class TopQuery {
 public:
  TopQuery(const TopRequest& request, std::span<const RowPart> parts, const StackLabels* labels,
           const Snapshot& snapshot)
      : request_(request),
        parts_(parts),
        labels_(labels),
        snapshot_(snapshot),
        grouping_(request.by, hidden_frames(request.selection, snapshot), snapshot, labels) {}

  Result<Table> run() {
    auto computed = compute();
    return computed ? Result<Table>(make_table()) : propagate(computed);
  }

  // Of each row, by its first dimension.
  Result<std::vector<NamedShare>> total_shares() {
    if (auto computed = compute(); !computed) {
      return propagate(computed);
    }
    std::vector<NamedShare> shares;
    for (size_t row = 0; row < rows_.size(); ++row) {
      shares.push_back({.name = grouping_.texts(rows_.keys[row]).front(),
                        .share = sum_ == 0 ? 0 : rows_.of(row).total / sum_});
    }
    return shares;
  }

 private:
  Status compute() {
    auto resolved = resolve(request_.selection, snapshot_);
    if (!resolved) {
      return propagate(resolved);
    }
    resolved_ = std::move(*resolved);
    if (labels_ != nullptr) {
      leave_out_unlabelled();
    }
    grouping_.add_groups(resolved_.request);
    if (auto summed = sum(); !summed) {
      return propagate(summed);
    }
    rank();
    return request_.margins ? sample() : Status();
  }

  void leave_out_unlabelled() {
    std::vector<bool> is_labelled;
    for (const uint32_t label : labels_->label_of_stack) {
      is_labelled.push_back(label != 0);
    }
    store::IdSet& stacks = resolved_.request.filter[Column::kStack];
    stacks = store::intersection_of(stacks, store::IdSet::of_flags(std::move(is_labelled)));
  }

  Status sum() {
    auto summed = sum_selection(resolved_.request, 1, 0, grouping_, snapshot_, symbols_);
    if (!summed) {
      return propagate(summed);
    }
    sum_ = summed->value;
    rows_ = std::move(summed->rows);
    if (rows_.size() == 0) {
      resolved_.notes.push_back("no results: " + why_empty(request_.selection, snapshot_));
    }
    return {};
  }

  bool is_shown(const RowKey& key) const {
    const std::vector<std::string> texts = grouping_.texts(key);
    return std::ranges::all_of(request_.only, [&](const Predicate& predicate) {
      const auto place = std::ranges::find(request_.by, predicate.dimension().name, &Dimension::name);
      return predicate.matches(texts[static_cast<size_t>(place - request_.by.begin())]) !=
             predicate.is_negated();
    });
  }

  // Leaves the rows to show, in their order.
  void rank() {
    std::vector<uint32_t> places(rows_.size());
    std::iota(places.begin(), places.end(), 0);
    if (!request_.only.empty() && !places.empty()) {
      std::erase_if(places, [&](uint32_t place) { return !is_shown(rows_.keys[place]); });
      if (places.empty()) {
        resolved_.notes.emplace_back("no results: no row matches the filters of --only");
      }
    }
    rows_ = first_rows(rows_, std::move(places), request_.limit, [&](uint32_t a, uint32_t b) {
      const RowValues& x = rows_.of(a);
      const RowValues& y = rows_.of(b);
      if (x.self != y.self) {
        return x.self > y.self;
      }
      return x.total != y.total ? x.total > y.total : grouping_.less(rows_.keys[a], rows_.keys[b]);
    });
  }

  Status sample() {
    const MachineSample sample(snapshot_, resolved_.request.filter);
    const auto sampled = RowSplitter(rows_.keys, 1, grouping_, snapshot_)
                             .split(resolved_.request, sample.sampling_units_of_origins());
    if (!sampled) {
      return with_hint(propagate(sampled), "select fewer rows (limit), or give margins=no");
    }
    std::vector<double RowValues::*> parts;
    for (const RowPart& part : parts_) {
      parts.push_back(part.values);
    }
    estimates_ = estimate_shares(*sampled, parts, whole_domain(sample));
    return {};
  }

  Table make_table() {
    Table table;
    const store::EventEntry& event = snapshot_.dictionaries.events[resolved_.event];
    table.event = event.name;
    table.notes = std::move(resolved_.notes);
    table.coverage = resolved_.coverage;
    symbols_.describe(table.coverage);
    table.columns = grouping_.columns();
    const std::string unit(unit_name(event.unit));
    for (const RowPart& part : parts_) {
      table.columns.push_back({part.name, unit});
      const TableColumn share{fmt::format("{}_share", part.name), "share"};
      table.columns.push_back(share);
      add_estimate_columns(share, fmt::format("{}_margin_kind", part.name), table.columns);
    }
    for (size_t row = 0; row < rows_.size(); ++row) {
      auto& values = table.rows.emplace_back();
      grouping_.add_texts(rows_.keys[row], values);
      for (size_t part = 0; part < parts_.size(); ++part) {
        const double value = rows_.of(row).*parts_[part].values;
        values.emplace_back(value);
        values.emplace_back(sum_ == 0 ? 0 : value / sum_);
        add_estimate(estimates_.empty() ? nullptr : &estimates_[row * parts_.size() + part], values);
      }
    }
    return table;
  }

  const TopRequest& request_;
  const std::span<const RowPart> parts_;
  const StackLabels* const labels_;
  const Snapshot& snapshot_;
  Grouping grouping_;
  SymbolCoverage symbols_{snapshot_};
  ResolvedSelection resolved_;
  SummedRows rows_;
  std::vector<statistics::Estimate> estimates_;  // row-major, by part; empty: not asked for
  double sum_ = 0;
};

// Commas may be part of an event's name ("cpu/event=0x3c,umask=1/").
Parameter compare_event_parameter(std::vector<std::string>& beside) {
  return {"compare_event", [&beside](const std::string& text) -> Status {
            if (text.empty() || beside.size() == kMaxBeside) {
              return with_field(
                  text.empty()
                      ? fail(ErrorCode::kInvalid, "compare_event is empty; give the name of an event")
                      : fail(ErrorCode::kInvalid, "compare_event can be given at most {} times", kMaxBeside),
                  "compare_event");
            }
            beside.push_back(text);
            return {};
          }};
}

Parameter only_parameter(std::vector<Predicate>& only) {
  return {"only", [&only](const std::string& text) -> Status {
            auto predicate = Predicate::parse(text);
            if (!predicate) {
              return with_field(propagate(predicate), "only");
            }
            only.push_back(*std::move(predicate));
            return {};
          }};
}

// Rows have the dimensions grouped by, and no others.
Status check_only(const TopRequest& request) {
  if (request.only.empty()) {
    return {};
  }
  if (!request.ratio.empty() || !request.beside.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "only cannot be combined with {}; filter with where instead",
                           request.ratio.empty() ? "compare_event" : "ratio"),
                      "only");
  }
  for (const Predicate& predicate : request.only) {
    const std::string& name = predicate.dimension().name;
    if (std::ranges::find(request.by, name, &Dimension::name) == request.by.end()) {
      return with_hint(
          with_field(fail(ErrorCode::kInvalid, "rows are not grouped by {}", printable(name)), "only"),
          "add it to by, or filter the samples with where");
    }
  }
  return {};
}

}  // namespace

Result<TopRequest> parse_top(const Parameters& parameters, int64_t now_ns) {
  TopRequest request;
  const auto read = read_parameters(
      parameters, now_ns, request.selection,
      {ratio_parameter(request.ratio), compare_event_parameter(request.beside), by_parameter(request.by),
       only_parameter(request.only), count_parameter("limit", kMaxRows, request.limit),
       flag_parameter("margins", request.margins)});
  if (!read) {
    return propagate(read);
  }
  if (request.by.empty()) {
    request.by.push_back(*find_dimension("function"));
  }
  if (!request.ratio.empty() && !request.selection.event.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "ratio cannot be combined with event: it names both"),
                      "event");
  }
  if (!request.ratio.empty() && !request.beside.empty()) {
    return with_field(
        fail(ErrorCode::kInvalid, "compare_event cannot be combined with ratio: it shows ratios of its own"),
        "compare_event");
  }
  const Status checked = check_only(request);
  return checked ? Result<TopRequest>(std::move(request)) : propagate(checked);
}

Result<Table> top(const TopRequest& request, const Snapshot& snapshot) {
  if (!request.beside.empty()) {
    return side_by_side({request.selection, request.beside, request.by, request.limit, request.margins},
                        snapshot);
  }
  return request.ratio.empty()
             ? TopQuery(request, kRowParts, nullptr, snapshot).run()
             : ratio_table({request.selection, request.ratio, request.by, request.limit, request.margins},
                           snapshot);
}

Result<std::vector<NamedShare>> total_shares(const Selection& selection, const Dimension& dimension,
                                             const Snapshot& snapshot) {
  const TopRequest request{
      .selection = selection, .ratio = {}, .by = {dimension}, .limit = kMaxRows, .margins = false};
  return TopQuery(request, kRowParts, nullptr, snapshot).total_shares();
}

Result<Table> top_of_labels(const TopRequest& request, const StackLabels& labels, const Snapshot& snapshot) {
  return TopQuery(request, std::span(kRowParts).last(1), &labels, snapshot).run();
}

}  // namespace plimsoll::query
