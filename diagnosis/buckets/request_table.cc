#include "diagnosis/buckets/request_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <numeric>

#include "base/suggest.h"
#include "diagnosis/buckets/span_column.h"

namespace plimsoll::diagnosis {
namespace {

using traces::kNoNode;

// Of a version in all, for it to count as one.
constexpr size_t kMinRequests = 20;
constexpr size_t kBlocksForHosts = 64;
constexpr size_t kMaxSearchedValues = 32;
constexpr size_t kMaxSearchedAttributes = 12;
constexpr size_t kMaxShown = 12;

// Name one process, host or version each, or follow from the span that they stand on.
constexpr std::array<std::string_view, 17> kIdentity{
    "service.",  "telemetry.", "container.", "process.",      "k8s.pod.",          "k8s.container.",
    "host.name", "host.id",    "host.ip",    "k8s.node.",     "hostname",          "thread.",
    "code.",     "span.kind",  "otel.",      "internal.span", "deployment.version"};

bool is_identity(std::string_view key) {
  return std::ranges::any_of(kIdentity, [key](std::string_view prefix) { return key.starts_with(prefix); });
}

// Texts as numbers from 0.
struct Texts {
  uint32_t number(const std::string& text) {
    const auto next = static_cast<uint32_t>(names.size());
    const auto [known, is_new] = numbers.try_emplace(text, next);
    if (is_new) {
      names.push_back(text);
    }
    return known->second;
  }
  std::map<std::string, uint32_t> numbers;
  std::vector<std::string> names;
};

class TableBuilder {
 public:
  TableBuilder(const traces::SpanSet& spans, const traces::Assembly& assembly,
               const RequestTableOptions& options)
      : spans_(spans), assembly_(assembly), options_(options) {}

  Result<RequestTable> build();

 private:
  void choose_traces();
  Status find_versions();
  void find_changing_services();
  void add_requests(const SpanColumn* version);
  Status choose_sides();
  Result<size_t> version_named(const std::string& name, const char* flag) const;
  Status one_version_only() const;
  void keep_sides();
  void set_hosts();
  Status add_attributes();
  Status add_named(const std::string& name, uint32_t& index);
  void add_column(const std::string& name, const SpanColumn& column);
  void add_workload();
  void add_all_attributes();
  bool is_comparable(const BucketAttribute& attribute) const;

  std::span<const traces::Node> nodes_of(uint32_t trace) const {
    return assembly_.nodes_of(assembly_.traces[trace]);
  }
  const traces::Span& span_of(const traces::Node& node) const { return spans_.spans()[node.span]; }

  const traces::SpanSet& spans_;
  const traces::Assembly& assembly_;
  const RequestTableOptions& options_;
  RequestTable made_;
  std::vector<uint32_t> chosen_;      // traces
  std::vector<uint8_t> is_changing_;  // by service
  size_t changing_ = 0;
  std::vector<uint32_t> version_of_;         // by request
  std::vector<const traces::Span*> ran_by_;  // by request: the span that has the version
};

void TableBuilder::choose_traces() {
  size_t rootless = 0;
  for (uint32_t i = 0; i < assembly_.traces.size(); ++i) {
    const traces::Trace& trace = assembly_.traces[i];
    if (trace.start_ns < options_.since_ns || trace.start_ns >= options_.until_ns) {
      continue;
    }
    if (nodes_of(i).front().has(traces::kOrphan)) {
      ++rootless;
    } else {
      chosen_.push_back(i);
    }
  }
  if (rootless > 0) {
    made_.notes.push_back(fmt::format("{} requests without their root left out", rootless));
  }
}

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
    versions[key.first] += count >= kMinRequests ? 1 : 0;
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
      if (node != kNoNode) {
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
  for (uint32_t key = 1; key < attributes.keys() && several.size() < kMaxShown; ++key) {
    const uint32_t values = attributes.values(key) - 1;
    if (!attributes.is_unbounded(key) && values > 1 && values <= kMaxSearchedValues) {
      several.push_back(fmt::format("{} ({})", attributes.key(key), values));
    }
  }
  const std::string what =
      options_.version.empty()
          ? fmt::format("no service of {} requests ran two versions ({} requests each, or more)",
                        chosen_.size(), kMinRequests)
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
  known.resize(std::min(known.size(), kMaxShown));
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
    current = made_.versions[i].requests >= kMinRequests && i != base ? i : current;
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

// Requests of other versions go.
void TableBuilder::keep_sides() {
  ComparedRequests& requests = made_.requests;
  size_t kept = 0;
  for (size_t i = 0; i < made_.trace.size(); ++i) {
    const VersionGroup& version = made_.versions[version_of_[i]];
    if (!version.is_base && !version.is_current) {
      continue;
    }
    const traces::Node& root = nodes_of(made_.trace[i]).front();
    requests.ms.push_back(static_cast<float>(static_cast<double>(root.duration_ns()) / 1e6));
    requests.start_ns.push_back(root.start_ns);
    requests.is_new.push_back(version.is_current ? 1 : 0);
    made_.trace[kept] = made_.trace[i];
    ran_by_[kept++] = ran_by_[i];
  }
  made_.trace.resize(kept);
  ran_by_.resize(kept);
}

void TableBuilder::set_hosts() {
  ComparedRequests& requests = made_.requests;
  const auto unknown = static_cast<size_t>(std::ranges::count_if(
      ran_by_, [](const traces::Span* span) { return span->machine == 0 && span->replica == 0; }));
  made_.has_hosts = 2 * unknown < ran_by_.size();
  boost::unordered_flat_map<uint64_t, uint32_t> numbers;
  for (size_t i = 0; i < ran_by_.size(); ++i) {
    const traces::Span& span = *ran_by_[i];
    // Requests are in the order of their start.
    const uint64_t host = !made_.has_hosts    ? i * kBlocksForHosts / ran_by_.size()
                          : span.machine != 0 ? span.machine
                                              : uint64_t{span.replica} << 32U;
    requests.host.push_back(numbers.try_emplace(host, static_cast<uint32_t>(numbers.size())).first->second);
  }
  requests.hosts = numbers.size();
  if (!made_.has_hosts) {
    made_.notes.push_back(
        fmt::format("{} of {} requests have no machine or replica: blocks of time stand for hosts, so that a "
                    "busy hour can "
                    "pass for a version",
                    unknown, ran_by_.size()));
  }
}

void TableBuilder::add_column(const std::string& name, const SpanColumn& column) {
  Texts values;
  values.number("");
  BucketAttribute attribute{.name = name, .values = {}, .value_of = {}};
  for (const uint32_t trace : made_.trace) {
    const auto nodes = nodes_of(trace);
    const uint32_t node = column.first_node(nodes);
    const uint32_t value =
        node == kNoNode ? 0 : values.number(std::string(column.value_of(span_of(nodes[node]))));
    attribute.value_of.push_back(static_cast<uint16_t>(std::min<uint32_t>(value, UINT16_MAX)));
  }
  attribute.values = values.names;
  attribute.values.resize(std::min<size_t>(attribute.values.size(), UINT16_MAX + 1));
  made_.requests.attributes.push_back(std::move(attribute));
}

// Leaves `index` as it is where the attribute is already a column.
Status TableBuilder::add_named(const std::string& name, uint32_t& index) {
  std::vector<BucketAttribute>& attributes = made_.requests.attributes;
  const auto known = std::ranges::find(attributes, name, &BucketAttribute::name);
  index = static_cast<uint32_t>(known - attributes.begin());
  if (known != attributes.end()) {
    return {};
  }
  const auto column = SpanColumn::named(name, spans_);
  if (!column) {
    return propagate(column);
  }
  add_column(name, *column);
  return {};
}

void TableBuilder::add_workload() {
  Texts values;
  values.number("");
  BucketAttribute attribute{.name = "workload", .values = {}, .value_of = {}};
  for (const uint32_t trace : made_.trace) {
    const traces::Span& root = span_of(nodes_of(trace).front());
    const uint32_t value = values.number(fmt::format("{} {}", spans_.names().services.name(root.service),
                                                     spans_.names().operations.name(root.operation)));
    attribute.value_of.push_back(static_cast<uint16_t>(std::min<uint32_t>(value, UINT16_MAX)));
  }
  attribute.values = values.names;
  attribute.values.resize(std::min<size_t>(attribute.values.size(), UINT16_MAX + 1));
  made_.requests.attributes.push_back(std::move(attribute));
}

// Most requests have a value that both sides have: else it follows from the version, or names single requests.
bool TableBuilder::is_comparable(const BucketAttribute& attribute) const {
  std::vector<std::array<size_t, 2>> counts(attribute.values.size());
  for (size_t i = 0; i < attribute.value_of.size(); ++i) {
    ++counts[attribute.value_of[i]][made_.requests.is_new[i]];
  }
  size_t shared = 0;
  for (size_t value = 1; value < counts.size(); ++value) {
    shared += counts[value][0] > 0 && counts[value][1] > 0 ? counts[value][0] + counts[value][1] : 0;
  }
  return 2 * shared >= attribute.value_of.size();
}

void TableBuilder::add_all_attributes() {
  const traces::AttributeTable& all = spans_.attributes();
  std::vector<BucketAttribute>& attributes = made_.requests.attributes;
  size_t searched = 0;
  size_t left_out = 0;
  for (uint32_t key = 1; key < all.keys(); ++key) {
    const std::string name(all.key(key));
    const bool is_known = std::ranges::find(attributes, name, &BucketAttribute::name) != attributes.end();
    if (is_known || is_identity(name) || name == options_.version || all.is_unbounded(key) ||
        all.values(key) < 3 || all.values(key) > kMaxSearchedValues + 1) {
      continue;
    }
    if (searched == kMaxSearchedAttributes) {
      ++left_out;
      continue;
    }
    const auto column = SpanColumn::named(name, spans_);
    if (!column) {
      continue;
    }
    add_column(name, *column);
    if (attributes.back().values.size() < 3 || !is_comparable(attributes.back())) {
      attributes.pop_back();
    } else {
      ++searched;
    }
  }
  if (left_out > 0) {
    made_.notes.push_back(
        fmt::format("{} attributes beyond the first {} left out: name those to search with "
                    "--attribute",
                    left_out, kMaxSearchedAttributes));
  }
}

Status TableBuilder::add_attributes() {
  if (options_.workload.empty()) {
    add_workload();
    made_.workload = 0;
  } else if (auto added = add_named(options_.workload, made_.workload); !added) {
    return with_field(propagate(added), "--by-workload");
  }
  if (!options_.hardware.empty()) {
    if (auto added = add_named(options_.hardware, made_.hardware); !added) {
      return with_field(propagate(added), "--by-hardware");
    }
  } else {
    for (const char* name : {"host.type", "host.cpu.model.name", "host.arch"}) {
      if (made_.hardware == kNoAttribute && SpanColumn::named(name, spans_)) {
        (void)add_named(name, made_.hardware);
      }
    }
  }
  for (const std::string& name : options_.attributes) {
    uint32_t index = 0;
    if (auto added = add_named(name, index); !added) {
      return with_field(propagate(added), "--attribute");
    }
  }
  if (options_.attributes.empty()) {
    add_all_attributes();
  }
  for (BucketAttribute& attribute : made_.requests.attributes) {
    attribute.is_searched = attribute.values.size() <= kMaxSearchedValues + 1;
  }
  return {};
}

Result<RequestTable> TableBuilder::build() {
  choose_traces();
  if (chosen_.empty()) {
    return with_hint(fail(ErrorCode::kNotFound, "no request of {} began between --since and --until",
                          assembly_.traces.size()),
                     "change --since and --until, or give other files");
  }
  if (auto found = find_versions(); !found) {
    return propagate(found);
  }
  if (auto chosen = choose_sides(); !chosen) {
    return propagate(chosen);
  }
  keep_sides();
  set_hosts();
  if (auto added = add_attributes(); !added) {
    return propagate(added);
  }
  return std::move(made_);
}

}  // namespace

std::string RequestTable::current_version() const {
  const auto current = std::ranges::find_if(versions, &VersionGroup::is_current);
  return current == versions.end() ? "" : current->name;
}

std::string RequestTable::base_version() const {
  std::vector<std::string_view> names;
  for (const VersionGroup& version : versions) {
    if (version.is_base) {
      names.push_back(version.name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<RequestTable> request_table(const traces::SpanSet& spans, const traces::Assembly& assembly,
                                   const RequestTableOptions& options) {
  return TableBuilder(spans, assembly, options).build();
}

}  // namespace plimsoll::diagnosis
