#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "diagnosis/buckets/table_builder.h"

namespace plimsoll::diagnosis {
namespace {

// Of a version in all, for it to count as one.
constexpr size_t kMinRequestsOfVersion = 20;
// Of the time from the first request to the last: versions whose first request is within it were there from the start.
constexpr double kStartShare = 0.02;

// "v9" before "v10": runs of digits by their value.
bool is_lower_version(std::string_view left, std::string_view right) {
  const auto run = [](std::string_view text) {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const size_t others = std::min(text.find_first_of("0123456789"), text.size());
    return text.substr(0, std::max(digits, others));
  };
  while (!left.empty() && !right.empty()) {
    const std::string_view a = run(left);
    const std::string_view b = run(right);
    if (a != b) {
      const bool are_numbers = a.front() >= '0' && a.front() <= '9' && b.front() >= '0' && b.front() <= '9';
      return are_numbers && a.size() != b.size() ? a.size() < b.size() : a < b;
    }
    left.remove_prefix(a.size());
    right.remove_prefix(b.size());
  }
  return left.empty() && !right.empty();
}

}  // namespace

void TableBuilder::find_changing_services() {
  std::map<std::pair<uint32_t, uint32_t>, size_t> counts;
  for (const uint32_t trace : chosen_) {
    for (const traces::Node& node : nodes_of(trace)) {
      const traces::Span& span = span_of(node);
      if (span.version != 0) {
        ++counts[{span.service, span.version}];
      }
    }
  }
  std::map<uint32_t, size_t> versions;
  for (const auto& [key, count] : counts) {
    versions[key.first] += count >= kMinRequestsOfVersion ? 1 : 0;
  }
  is_changing_.assign(spans_.names().services.size(), 0);
  std::vector<std::string_view> names;
  for (const auto& [service, several] : versions) {
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
      options_.version.empty()
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

Status TableBuilder::find_versions() {
  if (options_.version.empty() || options_.version == "version") {
    find_changing_services();
    if (changing_ == 0) {
      return one_version_only();
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

// The one that came last; of several that were there from the start, the highest. All but `base`; versions().size() where there is none.
size_t TableBuilder::newest_version(size_t base) const {
  const int64_t begin_ns = made_.versions.front().first_ns;
  const auto span_ns = static_cast<double>(assembly_.traces[made_.trace.back()].start_ns - begin_ns);
  const auto start_ns = begin_ns + static_cast<int64_t>(kStartShare * span_ns);
  size_t newest = made_.versions.size();
  for (size_t i = 0; i < made_.versions.size(); ++i) {
    const VersionGroup& version = made_.versions[i];
    if (version.requests < kMinRequestsOfVersion || i == base) {
      continue;
    }
    // They are in the order of their first requests.
    const bool is_newer = newest == made_.versions.size() || version.first_ns > start_ns ||
                          is_lower_version(made_.versions[newest].name, version.name);
    newest = is_newer ? i : newest;
  }
  return newest;
}

Status TableBuilder::choose_sides() {
  size_t current = made_.versions.size();
  if (!options_.current.empty()) {
    const auto named = version_named(options_.current, "--new");
    if (!named) {
      return propagate(named);
    }
    current = *named;
  }
  size_t base = made_.versions.size();
  if (!options_.base.empty()) {
    const auto named = version_named(options_.base, "--base");
    if (!named) {
      return propagate(named);
    }
    base = *named;
  }
  if (current == made_.versions.size()) {
    current = newest_version(base);
  }
  if (current == made_.versions.size()) {
    return one_version_only();
  }
  if (current == base) {
    return with_field(fail(ErrorCode::kInvalid, "--base and --new are the same version: {}", options_.base),
                      "--new");
  }
  for (size_t i = 0; i < made_.versions.size(); ++i) {
    made_.versions[i].is_current = i == current;
    made_.versions[i].is_base = i != current && (base == made_.versions.size() || i == base);
  }
  return {};
}

}  // namespace plimsoll::diagnosis
