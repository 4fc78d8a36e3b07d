#include "traces/model/sampling.h"

#include <utility>
#include <vector>

namespace plimsoll::traces {

Result<SpanSet> sampled(const SpanSet& spans, uint32_t one_in) {
  SpanSet kept(spans.limits());
  std::vector<Attribute> attributes;
  const Names& names = spans.names();
  for (const Span& span : spans.spans()) {
    if (!is_sampled(span.trace, one_in)) {
      continue;
    }
    attributes.clear();
    spans.attributes().append_to(attributes, span.attributes);
    const Status added = kept.add({.trace = span.trace,
                                   .id = span.id,
                                   .parent = span.parent,
                                   .start_ns = span.start_ns,
                                   .end_ns = span.end_ns,
                                   .service = names.services.name(span.service),
                                   .operation = names.operations.name(span.operation),
                                   .replica = names.replicas.name(span.replica),
                                   .machine = names.machines.name(span.machine),
                                   .version = names.versions.name(span.version),
                                   .kind = span.kind,
                                   .status = span.status,
                                   .is_shared = span.is_shared,
                                   .attributes = attributes});
    if (!added) {
      return propagate(added);
    }
  }
  return Result<SpanSet>(std::move(kept));
}

}  // namespace plimsoll::traces
