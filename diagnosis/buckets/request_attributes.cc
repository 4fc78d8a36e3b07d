#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "diagnosis/buckets/table_builder.h"

namespace plimsoll::diagnosis {
namespace {

constexpr size_t kMaxSearchedAttributes = 12;

// Name one process, host or version each, or follow from the span that they stand on.
constexpr std::array<std::string_view, 17> kIdentity{
    "service.",  "telemetry.", "container.", "process.",      "k8s.pod.",          "k8s.container.",
    "host.name", "host.id",    "host.ip",    "k8s.node.",     "hostname",          "thread.",
    "code.",     "span.kind",  "otel.",      "internal.span", "deployment.version"};

bool is_identity(std::string_view key) {
  return std::ranges::any_of(kIdentity, [key](std::string_view prefix) { return key.starts_with(prefix); });
}

}  // namespace

// `text_of(i)` is that of request i.
template <typename TextOf>
void TableBuilder::add_texts(const std::string& name, const TextOf& text_of) {
  Texts values;
  values.number("");
  BucketAttribute attribute{.name = name, .values = {}, .value_of = {}};
  for (size_t i = 0; i < made_.trace.size(); ++i) {
    attribute.value_of.push_back(
        static_cast<uint16_t>(std::min<uint32_t>(values.number(text_of(i)), UINT16_MAX)));
  }
  attribute.values = std::move(values.names);
  if (attribute.values.size() > UINT16_MAX) {
    attribute.values.resize(UINT16_MAX + 1);
    attribute.values.back() = "other";
  }
  made_.requests.attributes.push_back(std::move(attribute));
}

void TableBuilder::add_column(const std::string& name, const SpanColumn& column) {
  add_texts(name,
            [&](size_t i) { return std::string(column.of_request(nodes_of(made_.trace[i]), *ran_by_[i])); });
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
  add_texts("workload", [&](size_t i) {
    const traces::Span& root = span_of(nodes_of(made_.trace[i]).front());
    return fmt::format("{} {}", spans_.names().services.name(root.service),
                       spans_.names().operations.name(root.operation));
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
        // One that cannot be used leaves it to the next.
        static_cast<void>(add_named(name, made_.hardware).has_value());
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

}  // namespace plimsoll::diagnosis
