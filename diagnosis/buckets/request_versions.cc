#include <fmt/ranges.h>

#include <algorithm>

#include "diagnosis/buckets/table_builder.h"

namespace plimsoll::diagnosis {
namespace {

// Of a version in all, for it to count as one.
constexpr size_t kMinRequestsOfVersion = 20;

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
  for (size_t i = made_.versions.size(); i-- > 0 && current == made_.versions.size();) {
    current = made_.versions[i].requests >= kMinRequestsOfVersion && i != base ? i : current;
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
