#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "diagnosis/buckets/table_builder.h"

namespace plimsoll::diagnosis {
namespace {

// Of a version in all, for it to count as one.
constexpr size_t kMinRequestsOfVersion = 20;
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

// A request counts for the version of a service's first span, as in add_requests().
void TableBuilder::count_versions() {
  std::vector<uint32_t> counted_in(spans_.names().services.size(), UINT32_MAX);
  for (const uint32_t trace : chosen_) {
    for (const traces::Node& node : nodes_of(trace)) {
      const traces::Span& span = span_of(node);
      if (span.version != 0 && std::exchange(counted_in[span.service], trace) != trace) {
        ++requests_of_[span.service][span.version];
      }
    }
  }
}

void TableBuilder::find_changing_services() {
  count_versions();
  is_changing_.assign(spans_.names().services.size(), 0);
  std::vector<std::string_view> names;
  for (const auto& [service, versions] : requests_of_) {
    const auto several = std::ranges::count_if(
        versions, [](const auto& version) { return version.second >= kMinRequestsOfVersion; });
    if (several > 1) {
      is_changing_[service] = 1;
      names.push_back(spans_.names().services.name(service));
    }
  }
  std::ranges::sort(names);
  changing_ = names.size();
  made_.versions_of = fmt::format("{}", fmt::join(names, ", "));
}

// A request runs the versions of those services that ran several; of a service, that of its first span.
void TableBuilder::add_requests(const SpanColumn* version) {
  Texts texts;
  for (const uint32_t trace : chosen_) {
    std::string name;
    const traces::Span* ran_by = nullptr;
    if (version != nullptr) {
      const uint32_t node = version->first_node(nodes_of(trace));
      if (node != traces::kNoNode) {
        ran_by = &span_of(nodes_of(trace)[node]);
        name = version->value_of(*ran_by);
      }
    } else {
      std::map<std::string_view, std::string_view> versions;
      for (const traces::Node& node : nodes_of(trace)) {
        const traces::Span& span = span_of(node);
        if (is_changing_[span.service] != 0 && span.version != 0) {
          ran_by = ran_by == nullptr ? &span : ran_by;
          versions.emplace(spans_.names().services.name(span.service),
                           spans_.names().versions.name(span.version));
        }
      }
      for (const auto& [service, of_service] : versions) {
        name += (name.empty() ? "" : " ") +
                (changing_ == 1 ? std::string(of_service) : fmt::format("{}={}", service, of_service));
      }
    }
    if (ran_by == nullptr) {
      continue;
    }
    const uint32_t number = texts.number(name);
    if (number == made_.versions.size()) {
      made_.versions.push_back({.name = name, .requests = 0, .first_ns = assembly_.traces[trace].start_ns});
    }
    ++made_.versions[number].requests;
    made_.trace.push_back(trace);
    version_of_.push_back(number);
    ran_by_.push_back(ran_by);
  }
}

Status TableBuilder::one_version_only() const {
  std::vector<std::string> several;
  const traces::AttributeTable& attributes = spans_.attributes();
  for (uint32_t key = 1; key < attributes.keys() && several.size() < kMaxShownNames; ++key) {
    const uint32_t values = attributes.values(key) - 1;
    if (!attributes.is_unbounded(key) && values > 1 && values <= kMaxSearchedValues) {
      several.push_back(fmt::format("{} ({})", attributes.key(key), values));
    }
  }
  const std::string what =
      options_.version.empty() || options_.version == "version"
          ? fmt::format("no service of {} requests ran two versions ({} requests each, or more)",
                        chosen_.size(), kMinRequestsOfVersion)
          : fmt::format("{} has one value in {} requests: two versions are needed", options_.version,
                        chosen_.size());
  return with_hint(
      fail(ErrorCode::kNotFound, "{}", what),
      several.empty()
          ? std::string(
                "give traces from before and after the change, with service.version or a column version")
          : fmt::format(
                "give traces from before and after the change, or --version ATTRIBUTE; attributes with "
                "several values: {}",
                fmt::join(several, ", ")));
}

// Services that ran several versions, none of which can be compared.
Status TableBuilder::rare_versions_of_services() const {
  std::vector<std::string> services;
  std::string example;
  for (const auto& [service, versions] : requests_of_) {
    if (versions.size() < 2 || services.size() == kMaxShownNames) {
      continue;
    }
    const std::string_view name = spans_.names().services.name(service);
    std::vector<std::string> counts;
    for (const auto& [version, requests] : versions) {
      if (counts.size() < kMaxShownNames) {
        counts.push_back(fmt::format("{} has {}", spans_.names().versions.name(version), requests));
      }
    }
    services.push_back(fmt::format("{} {}", name, fmt::join(counts, ", ")));
    example = example.empty() ? name : example;
  }
  return services.empty() ? one_version_only() : too_few_requests(services, example);
}

Status TableBuilder::rare_versions() const {
  std::vector<std::string> counts;
  for (const VersionGroup& version : made_.versions) {
    if (counts.size() < kMaxShownNames) {
      counts.push_back(fmt::format("{} has {}", version.name, version.requests));
    }
  }
  const size_t comma = made_.versions_of.find(',');
  return too_few_requests(counts,
                          comma == std::string::npos ? std::string() : made_.versions_of.substr(0, comma));
}

Status TableBuilder::too_few_requests(const std::vector<std::string>& counts,
                                      const std::string& service) const {
  return with_hint(fail(ErrorCode::kNotFound, "two versions with {} requests each are needed: {}",
                        kMinRequestsOfVersion, fmt::join(counts, "; ")),
                   service.empty()
                       ? "give traces of more requests, or name the new version with --new"
                       : fmt::format("give traces of more requests, or compare the versions of one service: "
                                     "--version {}:version --new VERSION",
                                     service));
}

Status TableBuilder::find_versions() {
  if (options_.version.empty() || options_.version == "version") {
    find_changing_services();
    if (changing_ == 0) {
      return rare_versions_of_services();
    }
    add_requests(nullptr);
    // Several versions, but only in later spans of requests that began with one.
    if (made_.versions.size() < 2) {
      return one_version_only();
    }
  } else {
    const auto column = SpanColumn::named(options_.version, spans_);
    if (!column) {
      return with_field(propagate(column), "--version");
    }
    made_.versions_of = options_.version;
    add_requests(&*column);
    if (made_.versions.size() < 2) {
      return one_version_only();
    }
  }
  if (made_.trace.size() < chosen_.size()) {
    made_.notes.push_back(fmt::format("{} requests left out: no version of {}",
                                      chosen_.size() - made_.trace.size(), made_.versions_of));
  }
  return {};
}

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
Status TableBuilder::choose_newest(std::optional<size_t> base) {
  const std::vector<size_t> by_age = versions_by_age();
  const auto is_current = [&](size_t version) {
    return version != base && made_.versions[version].requests >= kMinRequestsOfVersion;
  };
  const auto current = std::find_if(by_age.rbegin(), by_age.rend(), is_current);
  if (current == by_age.rend()) {
    return rare_versions();
  }
  made_.versions[*current].is_current = true;
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
  for (auto newer = by_age.rbegin(); newer != current; ++newer) {
    made_.notes.push_back(fmt::format("version {} has {} requests, {} are needed: left out",
                                      made_.versions[*newer].name, made_.versions[*newer].requests,
                                      kMinRequestsOfVersion));
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
