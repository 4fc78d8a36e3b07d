#include "traces/model/span_set.h"

#include <utility>

namespace plimsoll::traces {
namespace {

Status check(const NamedSpan& span) {
  if (!span.trace.is_valid() || span.id == 0) {
    return fail(ErrorCode::kInvalid, "a span has no {} ID", span.id == 0 ? "span" : "trace");
  }
  // Readers have -1 for what is missing or no number.
  for (const auto& [time_ns, name] : {std::pair(span.start_ns, "start"), std::pair(span.end_ns, "end")}) {
    if (time_ns < 0) {
      return fail(ErrorCode::kInvalid, "span {} has no {} time that can be read", span_id_text(span.id),
                  name);
    }
    if (time_ns > kMaxSpanTimeNs) {
      return fail(ErrorCode::kInvalid, "span {} has the {} time {} ns, which is after the year 2116",
                  span_id_text(span.id), name, time_ns);
    }
  }
  return {};
}

}  // namespace

std::string_view name_of(SpanKind kind) {
  switch (kind) {
    case SpanKind::kInternal:
      return "internal";
    case SpanKind::kServer:
      return "server";
    case SpanKind::kClient:
      return "client";
    case SpanKind::kProducer:
      return "producer";
    case SpanKind::kConsumer:
      return "consumer";
    case SpanKind::kUnspecified:
      break;
  }
  return "";
}

Status SpanSet::add(const NamedSpan& span) {
  if (auto checked = check(span); !checked) {
    return checked;
  }
  if (spans_.size() >= limits_.max_spans) {
    return with_hint(fail(ErrorCode::kTooLarge, "over {} spans", limits_.max_spans),
                     "read fewer files at once");
  }
  const auto service = names_.services.id_of(span.service);
  const auto operation = names_.operations.id_of(span.operation);
  const auto replica = names_.replicas.id_of(span.replica);
  const auto machine = names_.machines.id_of(span.machine);
  const auto version = names_.versions.id_of(span.version);
  for (const auto* id : {&service, &operation, &replica, &machine, &version}) {
    if (!*id) {
      return propagate(*id);
    }
  }
  const uint32_t attributes = limits_.keeps_attributes ? attributes_.id_of(span.attributes) : 0;
  spans_.push_back({.trace = span.trace,
                    .id = span.id,
                    .parent = span.parent,
                    .start_ns = span.start_ns,
                    .end_ns = span.end_ns,
                    .service = *service,
                    .operation = *operation,
                    .replica = *replica,
                    .machine = *machine,
                    .version = *version,
                    .attributes = attributes,
                    .kind = span.kind,
                    .status = span.status,
                    .is_shared = span.is_shared});
  return {};
}

}  // namespace plimsoll::traces
