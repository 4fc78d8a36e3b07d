#include "diagnosis/buckets/span_column.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/suggest.h"

namespace plimsoll::diagnosis {
namespace {

constexpr std::array<std::string_view, 5> kOfEverySpan{"service", "operation", "replica", "machine",
                                                       "version"};

std::string what_there_is(const std::string& name, const traces::AttributeTable& attributes) {
  std::vector<std::string_view> known(kOfEverySpan.begin(), kOfEverySpan.end());
  for (uint32_t key = 1; key < attributes.keys(); ++key) {
    known.push_back(attributes.key(key));
  }
  if (const auto nearest = nearest_word(name, known)) {
    return fmt::format("did you mean {}?", *nearest);
  }
  constexpr size_t kShown = 20;
  const size_t all = known.size();
  known.resize(std::min(all, kShown));
  return fmt::format("attributes are: {}{}", fmt::join(known, ", "),
                     all > kShown ? fmt::format(" and {} more", all - kShown) : "");
}

}  // namespace

Result<SpanColumn> SpanColumn::named(const std::string& name, const traces::SpanSet& spans) {
  SpanColumn made(spans);
  bool is_known = made.resolve(name);
  // Names of services have colons, too: "unknown_service:node" is what OpenTelemetry calls one without a name.
  const traces::NameTable& services = spans.names().services;
  for (size_t colon = name.find(':'); !is_known && colon != std::string::npos;
       colon = name.find(':', colon + 1)) {
    for (uint32_t service = 1; service < services.size(); ++service) {
      if (services.name(service) == std::string_view(name).substr(0, colon)) {
        made.service_ = service;
        is_known = made.resolve(std::string_view(name).substr(colon + 1));
      }
    }
  }
  if (!is_known) {
    return with_hint(fail(ErrorCode::kNotFound, "no span has the attribute {}", name),
                     what_there_is(name, spans.attributes()));
  }
  if (made.kind_ == Kind::kAttribute && spans.attributes().is_unbounded(made.key_)) {
    return with_hint(
        fail(ErrorCode::kTooLarge, "attribute {} has too many values (over {}, or too many with others)",
             name, traces::AttributeLimits().max_values),
        "name one with few values: buckets need many requests each");
  }
  return made;
}

bool SpanColumn::resolve(std::string_view name) {
  const traces::AttributeTable& attributes = spans_->attributes();
  for (uint32_t key = 1; key < attributes.keys(); ++key) {
    if (attributes.key(key) == name) {
      kind_ = Kind::kAttribute;
      key_ = key;
      return true;
    }
  }
  const auto* const found = std::ranges::find(kOfEverySpan, name);
  if (found == kOfEverySpan.end()) {
    return false;
  }
  kind_ = static_cast<Kind>(1 + (found - kOfEverySpan.begin()));
  return true;
}

uint32_t SpanColumn::id_of(const traces::Span& span) const {
  if (service_ != 0 && span.service != service_) {
    return 0;
  }
  switch (kind_) {
    case Kind::kAttribute:
      break;
    case Kind::kService:
      return span.service;
    case Kind::kOperation:
      return span.operation;
    case Kind::kReplica:
      return span.replica;
    case Kind::kMachine:
      return span.machine;
    case Kind::kVersion:
      return span.version;
  }
  return spans_->attributes().value_in(span.attributes, key_);
}

std::string_view SpanColumn::text(uint32_t id) const {
  const traces::Names& names = spans_->names();
  switch (kind_) {
    case Kind::kAttribute:
      break;
    case Kind::kService:
      return names.services.name(id);
    case Kind::kOperation:
      return names.operations.name(id);
    case Kind::kReplica:
      return names.replicas.name(id);
    case Kind::kMachine:
      return names.machines.name(id);
    case Kind::kVersion:
      return names.versions.name(id);
  }
  return spans_->attributes().value(key_, id);
}

uint32_t SpanColumn::id_of_request(std::span<const traces::Node> nodes, const traces::Span& ran_by) const {
  if (kind_ != Kind::kService && kind_ != Kind::kOperation && id_of(ran_by) != 0) {
    return id_of(ran_by);
  }
  const uint32_t node = first_node(nodes);
  return node == traces::kNoNode ? 0 : id_of(spans_->spans()[nodes[node].span]);
}

uint32_t SpanColumn::first_node(std::span<const traces::Node> nodes) const {
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (id_of(spans_->spans()[nodes[i].span]) != 0) {
      return i;
    }
  }
  return traces::kNoNode;
}

}  // namespace plimsoll::diagnosis
