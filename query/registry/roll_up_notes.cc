#include "query/registry/roll_up_notes.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <variant>

#include "base/time.h"
#include "query/snapshot/dimension.h"

namespace plimsoll::query {
namespace {

bool is_dropped_dimension(std::string_view name) {
  return name == "thread" || name == "instance" || name.starts_with(kLabelPrefix);
}

// Of a filter, "thread!=io".
std::string_view dimension_of_filter(std::string_view filter) {
  return filter.substr(0, filter.find_first_of("=!~<>"));
}

bool lists_dropped_dimension(std::string_view dimensions) {
  while (!dimensions.empty()) {
    const size_t comma = std::min(dimensions.find(','), dimensions.size());
    if (is_dropped_dimension(dimensions.substr(0, comma))) {
      return true;
    }
    dimensions.remove_prefix(std::min(comma + 1, dimensions.size()));
  }
  return false;
}

// Of a statement.
bool names_dropped_column(std::string_view sql) {
  constexpr std::array kColumns{"thread", "instance", "labels"};
  return std::ranges::any_of(
      kColumns, [&](std::string_view column) { return sql.find(column) != std::string_view::npos; });
}

bool is_within_an_hour(int64_t time_ns, const Snapshot& snapshot) {
  return time_ns > snapshot.rolled_up_from_ns && time_ns < snapshot.rolled_up_to_ns &&
         time_ns % kNsPerHour != 0;
}

}  // namespace

std::vector<std::string> roll_up_notes(const Parameters& parameters, const store::TimeSpans& times,
                                       const Snapshot& snapshot) {
  if (!store::touches(times, snapshot.rolled_up_from_ns, snapshot.rolled_up_to_ns, 0)) {
    return {};
  }
  bool is_by_dropped = false;
  bool filters_by_dropped = false;
  bool has_short_buckets = false;
  for (const auto& [name, text] : parameters) {
    is_by_dropped = is_by_dropped || ((name == "by" || name == "across") && lists_dropped_dimension(text)) ||
                    (name == "q" && names_dropped_column(text));
    filters_by_dropped =
        filters_by_dropped || (is_filter(name) && is_dropped_dimension(dimension_of_filter(text)));
    const auto bucket_ns = name == "bucket" ? parse_duration_ns(text) : std::nullopt;
    has_short_buckets = has_short_buckets || (bucket_ns && *bucket_ns % kNsPerHour != 0);
  }
  const bool splits_hours = std::ranges::any_of(times, [&](const store::TimeSpan& span) {
    return is_within_an_hour(span.from_ns, snapshot) || is_within_an_hour(span.to_ns, snapshot);
  });
  const std::string rows =
      fmt::format("rows from {} to {} are rolled up", format_time(snapshot.rolled_up_from_ns),
                  format_time(snapshot.rolled_up_to_ns));
  std::vector<std::string> notes;
  if (is_by_dropped) {
    notes.push_back(rows + ": their threads, instances and labels are [rolled up]");
  }
  if (filters_by_dropped) {
    notes.push_back(rows + ": no thread, instance or label that is asked for matches them");
  }
  if (splits_hours || has_short_buckets) {
    notes.push_back(rows + " to hours: what a machine sent in an hour counts where its middle is");
  }
  return notes;
}

Answer with_roll_up_noted(Answer answer, const std::vector<std::string>& notes) {
  std::visit(
      [&](auto& given) {
        if constexpr (requires { given.notes; }) {
          given.notes.insert(given.notes.end(), notes.begin(), notes.end());
        }
      },
      answer);
  return answer;
}

}  // namespace plimsoll::query
