#include "query/selection/parameters.h"

#include <fmt/ranges.h>

#include <charconv>

#include "base/suggest.h"
#include "base/time.h"

namespace plimsoll::query {
namespace {

std::unexpected<Error> invalid_parameter(std::string_view name, std::string_view text,
                                         std::string_view wanted) {
  return with_field(fail(ErrorCode::kInvalid, "{} is \"{}\", not {}", name, text, wanted), std::string(name));
}

}  // namespace

Result<bool> add_to_selection(std::string_view name, const std::string& text, int64_t now_ns,
                              Selection& selection) {
  if (name == "event") {
    selection.event = text;
    return true;
  }
  if (name == "where") {
    const auto predicate = Predicate::parse(text);
    if (!predicate) {
      return propagate(predicate);
    }
    selection.where.push_back(*predicate);
    return true;
  }
  if (name == "since" || name == "until") {
    const auto time_ns = parse_time_ns(text, now_ns);
    if (!time_ns) {
      return invalid_parameter(name, text, "a time (RFC 3339, or relative such as 2h)");
    }
    (name == "since" ? selection.since_ns : selection.until_ns) = *time_ns;
    return true;
  }
  return false;
}

Status check_selection(const Selection& selection) {
  if (selection.since_ns >= selection.until_ns) {
    return with_field(fail(ErrorCode::kInvalid, "the time range is empty: it begins at or after its end"),
                      "since");
  }
  return {};
}

Status add_dimensions(std::string_view list, std::vector<Dimension>& by) {
  while (true) {
    const size_t comma = list.find(',');
    const auto dimension = find_dimension(list.substr(0, comma));
    if (!dimension) {
      return with_field(propagate(dimension), "by");
    }
    by.push_back(*dimension);
    if (comma == std::string_view::npos) {
      return {};
    }
    list.remove_prefix(comma + 1);
  }
}

Result<size_t> parse_count(std::string_view name, std::string_view text, size_t max) {
  size_t count = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, count);
  if (parsed.ec != std::errc() || parsed.ptr != end || count == 0 || count > max) {
    return invalid_parameter(name, text, fmt::format("a number from 1 to {}", max));
  }
  return count;
}

Status set_count(std::string_view name, std::string_view text, size_t max, size_t& count) {
  const auto parsed = parse_count(name, text, max);
  count = parsed.value_or(count);
  return parsed ? Status() : propagate(parsed);
}

Status set_flag(std::string_view name, std::string_view text, bool& flag) {
  if (text != "yes" && text != "no") {
    return invalid_parameter(name, text, "yes or no");
  }
  flag = text == "yes";
  return {};
}

Result<double> parse_number(std::string_view name, std::string_view text, double low, double high) {
  double number = low;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  const bool is_within = number > low && number <= high;  // a NaN is not
  if (parsed.ec != std::errc() || parsed.ptr != end || !is_within) {
    return invalid_parameter(name, text, fmt::format("a number above {}, up to {}", low, high));
  }
  return number;
}

Result<double> parse_share(std::string_view name, std::string_view text) {
  std::string_view number = text;
  const bool is_percentage = number.ends_with('%');
  number.remove_suffix(is_percentage ? 1 : 0);
  double share = -1;
  const char* const end = number.data() + number.size();
  const auto parsed = std::from_chars(number.data(), end, share);
  share /= is_percentage ? 100 : 1;
  const bool is_share = share >= 0 && share <= 1;  // a NaN is none
  if (parsed.ec != std::errc() || parsed.ptr != end || !is_share) {
    return invalid_parameter(name, text, "a share, such as 0.5% or 0.005");
  }
  return share;
}

std::unexpected<Error> unknown_parameter(std::string_view name, std::span<const std::string_view> known) {
  const auto nearest = nearest_word(name, known);
  return with_hint(
      with_field(fail(ErrorCode::kInvalid, "there is no parameter \"{}\"", name), std::string(name)),
      nearest ? fmt::format("did you mean {}?", *nearest)
              : fmt::format("the parameters are {}", fmt::join(known, ", ")));
}

}  // namespace plimsoll::query
