#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

#include "diagnosis/buckets/table_builder.h"

namespace plimsoll::diagnosis {
namespace {

// Of the time from the first request to the last: versions whose first request is within it were there from the start.
constexpr double kStartShare = 0.02;

// What follows a version in the name of one that comes before it: "2.0-rc1", "2.0~beta", "2.0rc1".
bool is_prerelease(std::string_view rest) {
  constexpr std::string_view kDigits = "0123456789";
  const bool is_dashed = rest.size() > 1 && rest.front() == '-' && kDigits.find(rest[1]) == kDigits.npos;
  return is_dashed || rest.starts_with("~") || rest.starts_with("rc") || rest.starts_with("alpha") ||
         rest.starts_with("beta");
}

// "v9" before "v10": runs of digits by their value. "2.0-rc1" before "2.0".
bool is_lower_version(std::string_view left, std::string_view right) {
  const auto run = [](std::string_view text) {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const size_t others = std::min(text.find_first_of("0123456789"), text.size());
    return text.substr(0, std::max(digits, others));
  };
  while (!left.empty() && !right.empty()) {
    const std::string_view a = run(left);
    const std::string_view b = run(right);
    if (a != b && is_prerelease(left) != is_prerelease(right)) {
      return is_prerelease(left);
    }
    if (a != b) {
      const bool are_numbers = a.front() >= '0' && a.front() <= '9' && b.front() >= '0' && b.front() <= '9';
      return are_numbers && a.size() != b.size() ? a.size() < b.size() : a < b;
    }
    left.remove_prefix(a.size());
    right.remove_prefix(b.size());
  }
  return left.empty() ? !right.empty() && !is_prerelease(right) : is_prerelease(left);
}

}  // namespace

Result<size_t> TableBuilder::version_named(const std::string& name, const char* flag) const {
  std::vector<std::string_view> known;
  for (size_t i = 0; i < made_.versions.size(); ++i) {
    if (made_.versions[i].name == name) {
      return i;
    }
    known.push_back(made_.versions[i].name);
  }
  known.resize(std::min(known.size(), kMaxShownNames));
  return with_field(
      with_hint(fail(ErrorCode::kNotFound, "no request ran version {} of {}", name, made_.versions_of),
                fmt::format("versions are: {}", fmt::join(known, ", "))),
      flag);
}

// The newest last: by their first request, and those that were there from the start by name.
std::vector<size_t> TableBuilder::versions_by_age() const {
  std::vector<size_t> by_age(made_.versions.size());
  std::iota(by_age.begin(), by_age.end(), size_t{0});
  // They are in the order of their first requests.
  std::sort(by_age.begin(), by_age.begin() + static_cast<ptrdiff_t>(from_start()),
            [this](size_t a, size_t b) {
              return is_lower_version(made_.versions[a].name, made_.versions[b].name);
            });
  return by_age;
}

// How many versions were there from the start.
size_t TableBuilder::from_start() const {
  const int64_t begin_ns = made_.versions.front().first_ns;
  const auto span_ns = static_cast<double>(assembly_.traces[made_.trace.back()].start_ns - begin_ns);
  const auto start_ns = begin_ns + static_cast<int64_t>(kStartShare * span_ns);
  const auto later = std::ranges::find_if(
      made_.versions, [start_ns](const VersionGroup& version) { return version.first_ns > start_ns; });
  return static_cast<size_t>(later - made_.versions.begin());
}

// The newest with enough requests; those that are older are its base. One that is newer has too few to be compared, and is no base.
// Against a base that the user named, only what is newer than it: unless it is the newest, and the way back is asked for.
Status TableBuilder::choose_newest(std::optional<size_t> base) {
  const std::vector<size_t> by_age = versions_by_age();
  const auto is_current = [&](size_t version) {
    return version != base && made_.versions[version].requests >= kMinRequestsOfVersion;
  };
  const bool must_be_newer = base && *base != by_age.back();
  const auto end = must_be_newer ? std::find(by_age.rbegin(), by_age.rend(), *base) : by_age.rend();
  const auto current = std::find_if(by_age.rbegin(), end, is_current);
  if (current == end && must_be_newer) {
    return with_field(
        with_hint(fail(ErrorCode::kNotFound, "no version newer than {} has {} requests", options_.base,
                       kMinRequestsOfVersion),
                  "give traces of more requests, or name the version to compare with it: --new VERSION"),
        "--base");
  }
  if (current == end) {
    return rare_versions();
  }
  made_.versions[*current].is_current = true;
  for (auto newer = by_age.rbegin(); newer != current; ++newer) {
    if (*newer != base) {
      made_.notes.push_back(fmt::format("version {} has {} requests, {} are needed: left out",
                                        made_.versions[*newer].name, made_.versions[*newer].requests,
                                        kMinRequestsOfVersion));
    }
  }
  if (base) {
    made_.versions[*base].is_base = true;
    return {};
  }
  size_t requests = 0;
  size_t base_from_start = 0;
  for (auto older = current + 1; older != by_age.rend(); ++older) {
    made_.versions[*older].is_base = true;
    requests += made_.versions[*older].requests;
    base_from_start += *older < from_start() ? 1 : 0;
  }
  if (requests < kMinRequestsOfVersion) {
    return rare_versions();
  }
  if (*current < from_start() && base_from_start > 0) {
    made_.notes.push_back(
        fmt::format("versions ran at the same time from the start: {} is taken for the new one because of "
                    "its name (--new names another)",
                    made_.versions[*current].name));
  }
  return {};
}

Status TableBuilder::choose_sides() {
  std::optional<size_t> current;
  std::optional<size_t> base;
  if (!options_.current.empty()) {
    const auto named = version_named(options_.current, "--new");
    if (!named) {
      return propagate(named);
    }
    current = *named;
  }
  if (!options_.base.empty()) {
    const auto named = version_named(options_.base, "--base");
    if (!named) {
      return propagate(named);
    }
    base = *named;
  }
  if (!current) {
    return choose_newest(base);
  }
  if (current == base) {
    return with_field(fail(ErrorCode::kInvalid, "--base and --new are the same version: {}", options_.base),
                      "--new");
  }
  for (size_t i = 0; i < made_.versions.size(); ++i) {
    made_.versions[i].is_current = i == *current;
    made_.versions[i].is_base = i != *current && (!base || i == *base);
  }
  return {};
}

}  // namespace plimsoll::diagnosis
