#include "query/selection/parameters.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "base/share.h"
#include "base/suggest.h"
#include "base/time.h"

namespace plimsoll::query {
namespace {

std::unexpected<Error> unknown_parameter(std::string_view name, std::span<const Parameter> known) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : known) {
    names.push_back(parameter.name);
  }
  const auto nearest = nearest_word(name, names);
  return with_hint(with_field(fail(ErrorCode::kInvalid, "unknown parameter \"{}\"", name), std::string(name)),
                   nearest ? fmt::format("did you mean {}?", *nearest)
                           : fmt::format("the parameters are {}", fmt::join(names, ", ")));
}

Parameter time_parameter(std::string_view name, int64_t now_ns, int64_t& time_ns) {
  return {name, [name, now_ns, &time_ns](const std::string& text) -> Status {
            const auto parsed_ns = parse_time_ns(text, now_ns);
            if (!parsed_ns) {
              return invalid_parameter(name, text,
                                       "a time: RFC 3339 (2026-11-21T07:00:00Z), or a duration before now "
                                       "with its unit (30m, 2h, 1d)");
            }
            time_ns = *parsed_ns;
            return {};
          }};
}

// An expression on the names of frames.
Parameter frames_parameter(std::string_view name, bool negated, std::vector<Predicate>& predicates) {
  return {name, [name, negated, &predicates](const std::string& text) -> Status {
            const auto predicate = Predicate::of_frames(name, text, negated);
            if (!predicate) {
              return propagate(predicate);
            }
            predicates.push_back(*predicate);
            return {};
          }};
}

// All of the text; nothing where it is not a number.
template <typename Number>
std::optional<Number> parse(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

}  // namespace

std::unexpected<Error> invalid_parameter(std::string_view name, std::string_view text,
                                         std::string_view wanted) {
  return with_field(fail(ErrorCode::kInvalid, "{} is \"{}\", not {}", name, text, wanted), std::string(name));
}

Status read_parameters(const Parameters& parameters, std::span<const Parameter> known) {
  for (const auto& [name, text] : parameters) {
    const auto parameter = std::ranges::find(known, name, &Parameter::name);
    if (parameter == known.end()) {
      return unknown_parameter(name, known);
    }
    if (auto read = parameter->read(text); !read) {
      return read;
    }
  }
  return {};
}

Status read_parameters(const Parameters& parameters, int64_t now_ns, Selection& selection,
                       const std::vector<Parameter>& own) {
  std::vector<Parameter> known = selection_parameters(now_ns, selection);
  std::ranges::copy(own, std::back_inserter(known));
  if (auto read = read_parameters(parameters, known); !read) {
    return read;
  }
  return check_selection(selection);
}

std::vector<Parameter> selection_parameters(int64_t now_ns, Selection& selection) {
  std::vector<Parameter> parameters = filter_parameters(now_ns, selection);
  parameters.insert(parameters.begin(), text_parameter("event", selection.event));
  return parameters;
}

std::vector<Parameter> filter_parameters(int64_t now_ns, Selection& selection) {
  return {where_parameter(selection),
          frames_parameter("focus", false, selection.where),
          frames_parameter("ignore", true, selection.where),
          hide_parameter(selection),
          since_parameter(now_ns, selection),
          until_parameter(now_ns, selection)};
}

Parameter hide_parameter(Selection& selection) {
  const Parameter frames = frames_parameter("hide", false, selection.hide);
  return {"hide", [frames, &selection](const std::string& text) -> Status {
            if (text == "none") {
              selection.hides_only_named = true;
              return {};
            }
            return frames.read(text);
          }};
}

Parameter where_parameter(Selection& selection) {
  return {"where", [&selection](const std::string& text) -> Status {
            const auto predicate = Predicate::parse(text);
            if (!predicate) {
              return propagate(predicate);
            }
            selection.where.push_back(*predicate);
            return {};
          }};
}

bool is_filter(std::string_view parameter) {
  return parameter.ends_with("where") || parameter == "control" || parameter == "test";
}

Parameter since_parameter(int64_t now_ns, Selection& selection) {
  return time_parameter("since", now_ns, selection.since_ns);
}

Parameter until_parameter(int64_t now_ns, Selection& selection) {
  return time_parameter("until", now_ns, selection.until_ns);
}

Parameter text_parameter(std::string_view name, std::string& text) {
  return {name, [&text](const std::string& given) -> Status {
            text = given;
            return {};
          }};
}

Parameter by_parameter(std::vector<Dimension>& by) {
  return {"by", [&by](const std::string& text) -> Status {
            std::string_view list = text;
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
          }};
}

Parameter count_parameter(std::string_view name, size_t max, size_t& count) {
  return {name, [name, max, &count](const std::string& text) -> Status {
            const auto parsed = parse<size_t>(text);
            if (parsed.value_or(0) == 0 || *parsed > max) {
              return invalid_parameter(name, text, fmt::format("a number from 1 to {}", max));
            }
            count = *parsed;
            return {};
          }};
}

Parameter flag_parameter(std::string_view name, bool& flag) {
  return {name, [name, &flag](const std::string& text) -> Status {
            if (text != "yes" && text != "no") {
              return invalid_parameter(name, text, "yes or no");
            }
            flag = text == "yes";
            return {};
          }};
}

Parameter number_parameter(std::string_view name, double low, double high, double& number) {
  return {name, [name, low, high, &number](const std::string& text) -> Status {
            const auto parsed = parse<double>(text);
            const bool is_within = parsed && *parsed > low && *parsed <= high;  // a NaN is not
            if (!is_within) {
              return invalid_parameter(name, text, fmt::format("a number above {}, up to {}", low, high));
            }
            number = *parsed;
            return {};
          }};
}

Parameter share_parameter(std::string_view name, double& share) {
  return {name, [name, &share](const std::string& text) -> Status {
            const auto parsed = parse_share(text);
            if (!parsed || *parsed > 1) {
              return invalid_parameter(name, text, "a share, such as 0.5% or 0.005");
            }
            share = *parsed;
            return {};
          }};
}

Parameter duration_parameter(std::string_view name, int64_t& duration_ns) {
  return {name, [name, &duration_ns](const std::string& text) -> Status {
            const int64_t parsed_ns = parse_duration_ns(text).value_or(0);
            if (parsed_ns <= 0) {
              return invalid_parameter(name, text, "a duration such as 5m, 1h or 1d");
            }
            duration_ns = parsed_ns;
            return {};
          }};
}

Status check_selection(const Selection& selection) {
  if (selection.since_ns >= selection.until_ns) {
    return with_field(fail(ErrorCode::kInvalid, "the time range is empty: it begins at or after its end"),
                      "since");
  }
  return {};
}

}  // namespace plimsoll::query
