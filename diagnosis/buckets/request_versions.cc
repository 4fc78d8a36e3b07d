#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "diagnosis/buckets/table_builder.h"

namespace plimsoll::diagnosis {
namespace {

constexpr uint32_t kNotChanging = UINT32_MAX;

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
  for (const auto& [service, versions] : requests_of_) {
    const auto several = std::ranges::count_if(
        versions, [](const auto& version) { return version.second >= kMinRequestsOfVersion; });
    if (several > 1) {
      changing_.push_back(service);
    }
  }
  const auto name_of = [this](uint32_t service) { return spans_.names().services.name(service); };
  std::ranges::sort(changing_, {}, name_of);
  place_of_service_.assign(spans_.names().services.size(), kNotChanging);
  std::vector<std::string_view> names;
  for (const uint32_t service : changing_) {
    place_of_service_[service] = static_cast<uint32_t>(names.size());
    names.push_back(name_of(service));
  }
  made_.versions_of = fmt::format("{}", fmt::join(names, ", "));
}

// A request runs the versions of those services that ran several; of a service, that of its first span.
const traces::Span* TableBuilder::versions_in(uint32_t trace, const SpanColumn* version,
                                              std::vector<uint32_t>& ids) const {
  if (version != nullptr) {
    const uint32_t node = version->first_node(nodes_of(trace));
    const traces::Span* const ran_by = node == traces::kNoNode ? nullptr : &span_of(nodes_of(trace)[node]);
    ids.assign(1, ran_by == nullptr ? 0 : version->id_of(*ran_by));
    return ran_by;
  }
  const traces::Span* ran_by = nullptr;
  ids.assign(changing_.size(), 0);
  for (const traces::Node& node : nodes_of(trace)) {
    const traces::Span& span = span_of(node);
    const uint32_t place = place_of_service_[span.service];
    if (place != kNotChanging && span.version != 0 && ids[place] == 0) {
      ran_by = ran_by == nullptr ? &span : ran_by;
      ids[place] = span.version;
    }
  }
  return ran_by;
}

std::string TableBuilder::version_text(const SpanColumn* version, const std::vector<uint32_t>& ids) const {
  if (version != nullptr) {
    return std::string(version->text(ids.front()));
  }
  std::string text;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string_view name = spans_.names().versions.name(ids[i]);
    if (ids[i] != 0) {
      text += (text.empty() ? "" : " ") +
              (ids.size() == 1 ? std::string(name)
                               : fmt::format("{}={}", spans_.names().services.name(changing_[i]), name));
    }
  }
  return text;
}

void TableBuilder::add_requests(const SpanColumn* version) {
  std::map<std::vector<uint32_t>, uint32_t> numbers;
  std::vector<uint32_t> ids;
  for (const uint32_t trace : chosen_) {
    const traces::Span* const ran_by = versions_in(trace, version, ids);
    if (ran_by == nullptr) {
      continue;
    }
    const auto next = static_cast<uint32_t>(made_.versions.size());
    const auto [known, is_new] = numbers.try_emplace(ids, next);
    if (is_new) {
      made_.versions.push_back(
          {.name = version_text(version, ids), .requests = 0, .first_ns = assembly_.traces[trace].start_ns});
    }
    ++made_.versions[known->second].requests;
    made_.trace.push_back(trace);
    version_of_.push_back(known->second);
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
    if (changing_.empty()) {
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

}  // namespace plimsoll::diagnosis
