// An attribute of requests by its name. Internal to diagnosis/buckets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "traces/assembly/assembly.h"

namespace plimsoll::diagnosis {

class SpanColumn {
 public:
  // "host.type", "disk:host.type", "disk:version"; kNotFound with what there is. Borrows the spans.
  static Result<SpanColumn> named(const std::string& name, const traces::SpanSet& spans);

  // Of one span, a number of its value; 0: it has none.
  uint32_t id_of(const traces::Span& span) const;
  std::string_view text(uint32_t id) const;
  std::string_view value_of(const traces::Span& span) const { return text(id_of(span)); }
  // The first node of a request whose span has a value, or kNoNode.
  uint32_t first_node(std::span<const traces::Node> nodes) const;
  // Of a request: that of the span that ran the version, else of the first span that has one. Hardware of the front end says nothing of
  // a version of the service behind it. Service and operation are those of the root. 0: it has none.
  uint32_t id_of_request(std::span<const traces::Node> nodes, const traces::Span& ran_by) const;

 private:
  enum class Kind : uint8_t { kAttribute, kService, kOperation, kReplica, kMachine, kVersion };
  explicit SpanColumn(const traces::SpanSet& spans) : spans_(&spans) {}
  bool resolve(std::string_view name);

  const traces::SpanSet* spans_;
  Kind kind_ = Kind::kAttribute;
  uint32_t key_ = 0;      // kAttribute
  uint32_t service_ = 0;  // 0: of any
};

}  // namespace plimsoll::diagnosis
