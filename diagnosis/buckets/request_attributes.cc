#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <span>

#include "base/stop_scope.h"
#include "diagnosis/buckets/table_builder.h"

namespace plimsoll::diagnosis {
namespace {

// Name one process, host or version each, or follow from the span that they stand on.
constexpr std::array<std::string_view, 17> kIdentity{
    "service.",  "telemetry.", "container.", "process.",      "k8s.pod.",          "k8s.container.",
    "host.name", "host.id",    "host.ip",    "k8s.node.",     "hostname",          "thread.",
    "code.",     "span.kind",  "otel.",      "internal.span", "deployment.version"};

// What came of a request. A version that causes retries would be compared among retries only, and look clean.
constexpr std::array<std::string_view, 16> kOutcome{"error",
                                                    "exception.",
                                                    "status",
                                                    "http.response.",
                                                    "http.response_",
                                                    "http.status_",
                                                    "http.resend_count",
                                                    "http.request.resend_count",
                                                    "rpc.grpc.status_code",
                                                    "rpc.response.",
                                                    "db.response.",
                                                    "messaging.operation.result",
                                                    "grpc.status",
                                                    "retry",
                                                    "retries",
                                                    "cache.hit"};

bool starts_with_any(std::string_view key, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [key](std::string_view prefix) { return key.starts_with(prefix); });
}

}  // namespace

// `id_of(i)` is a number of the value of request i, 0 for none; `text_of` is called once for each number.
template <typename IdOf, typename TextOf>
void TableBuilder::add_values(const std::string& name, const IdOf& id_of, const TextOf& text_of) {
  BucketAttribute attribute{.name = name, .values = {""}, .value_of = {}};
  boost::unordered_flat_map<uint64_t, uint16_t> numbers{{0, 0}};
  for (size_t i = 0; i < made_.trace.size(); ++i) {
    const uint64_t id = id_of(i);
    const auto next = static_cast<uint16_t>(std::min<size_t>(attribute.values.size(), UINT16_MAX));
    const auto [known, is_new] = numbers.try_emplace(id, next);
    if (is_new && next < UINT16_MAX) {
      attribute.values.push_back(text_of(id));
    } else if (is_new && attribute.values.size() == UINT16_MAX) {
      attribute.values.emplace_back("other");
    }
    attribute.value_of.push_back(known->second);
  }
  made_.requests.attributes.push_back(std::move(attribute));
}

void TableBuilder::add_column(const std::string& name, const SpanColumn& column) {
  add_values(
      name, [&](size_t i) { return column.id_of_request(nodes_of(made_.trace[i]), *ran_by_[i]); },
      [&](uint64_t id) { return std::string(column.text(static_cast<uint32_t>(id))); });
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
  const auto root_of = [&](size_t i) -> const traces::Span& {
    return span_of(nodes_of(made_.trace[i]).front());
  };
  add_values(
      "workload", [&](size_t i) { return uint64_t{root_of(i).service} << 32U | root_of(i).operation; },
      [&](uint64_t id) {
        return fmt::format("{} {}", spans_.names().services.name(static_cast<uint32_t>(id >> 32U)),
                           spans_.names().operations.name(static_cast<uint32_t>(id & UINT32_MAX)));
      });
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

// That may be searched, by name: an order that is not that of the files.
std::vector<std::string> TableBuilder::attribute_names() const {
  const traces::AttributeTable& all = spans_.attributes();
  std::vector<std::string> names;
  for (uint32_t key = 1; key < all.keys(); ++key) {
    const std::string name(all.key(key));
    const bool is_known = std::ranges::find(made_.requests.attributes, name, &BucketAttribute::name) !=
                          made_.requests.attributes.end();
    const bool has_few_values =
        !all.is_unbounded(key) && all.values(key) > 2 && all.values(key) <= kMaxSearchedValues + 1;
    if (has_few_values && !is_known && name != options_.version && !starts_with_any(name, kIdentity) &&
        !starts_with_any(name, kOutcome)) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

Status TableBuilder::add_all_attributes() {
  std::vector<BucketAttribute>& attributes = made_.requests.attributes;
  size_t useful = 0;
  for (const std::string& name : attribute_names()) {
    if (Status goes_on = check_stop(); !goes_on) {
      return goes_on;
    }
    const auto column = SpanColumn::named(name, spans_);
    if (!column) {
      continue;
    }
    add_column(name, *column);
    const bool is_useful = attributes.back().values.size() > 2 && is_comparable(attributes.back());
    useful += is_useful ? 1 : 0;
    if (!is_useful || useful > kMaxSearchedAttributes) {
      attributes.pop_back();
    }
  }
  if (useful > kMaxSearchedAttributes) {
    made_.notes.push_back(
        fmt::format("{} attributes beyond the first {} by name left out: name those to search with "
                    "--attribute",
                    useful - kMaxSearchedAttributes, kMaxSearchedAttributes));
  }
  return {};
}

// The first of the usual names that at least half of the requests have, else the one that most have: a single span of another exporter would
// decide for all. None where no request has any.
Status TableBuilder::choose_hardware() {
  std::vector<BucketAttribute>& attributes = made_.requests.attributes;
  size_t most = 0;
  const char* best = nullptr;
  for (const char* name : {"host.type", "host.cpu.model.name", "host.arch", "machine.platform"}) {
    if (Status goes_on = check_stop(); !goes_on) {
      return goes_on;
    }
    const size_t columns = attributes.size();
    uint32_t index = 0;
    if (!add_named(name, index)) {
      continue;
    }
    const std::vector<uint16_t>& values = attributes[index].value_of;
    const size_t having = values.size() - static_cast<size_t>(std::ranges::count(values, 0));
    if (2 * having >= values.size()) {
      made_.hardware = index;
      return {};
    }
    // Others are searched as any attribute is.
    attributes.erase(attributes.begin() + static_cast<std::ptrdiff_t>(columns), attributes.end());
    if (having > most) {
      most = having;
      best = name;
    }
  }
  return best == nullptr ? Status() : add_named(best, made_.hardware);
}

Status TableBuilder::add_attributes() {
  if (spans_.attributes().is_cut()) {
    const traces::AttributeLimits limits;
    made_.notes.push_back(
        fmt::format("attributes left out on reading: over {} keys, {} on one span, or too many "
                    "different sets (up to {})",
                    limits.max_keys, traces::kMaxAttributesOfSpan, limits.max_sets));
  }
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
  } else if (Status chosen = choose_hardware(); !chosen) {
    return chosen;
  }
  for (const std::string& name : options_.attributes) {
    if (Status goes_on = check_stop(); !goes_on) {
      return goes_on;
    }
    uint32_t index = 0;
    if (auto added = add_named(name, index); !added) {
      return with_field(propagate(added), "--attribute");
    }
  }
  if (options_.attributes.empty()) {
    if (Status added = add_all_attributes(); !added) {
      return added;
    }
  }
  for (BucketAttribute& attribute : made_.requests.attributes) {
    attribute.is_searched = attribute.values.size() <= kMaxSearchedValues + 1;
  }
  return {};
}

}  // namespace plimsoll::diagnosis
