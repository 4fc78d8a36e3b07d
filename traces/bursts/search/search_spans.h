// Spans of requests as a search of bursts sees them: in the order of time, the halves of each RPC together. Pure; any thread.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string_view>
#include <vector>

#include "traces/model/span_set.h"

namespace plimsoll::traces {

inline constexpr uint32_t kNoSpan = UINT32_MAX;

// Indices into SpanSet::spans(). A call of another process: by its client span, its server span, or both.
struct RpcHalves {
  uint32_t client = kNoSpan;
  uint32_t server = kNoSpan;
  uint32_t caller = kNoSpan;  // the client span, else the server span's parent

  // Whose times and machine the call has.
  uint32_t first() const { return client != kNoSpan ? client : server; }
};

// Borrows the set, which has no further spans meanwhile. Memory: 30 bytes a span.
class SearchSpans {
 public:
  explicit SearchSpans(const SpanSet& set);

  const SpanSet& set() const { return *set_; }
  const Span& span(uint32_t index) const { return set_->spans()[index]; }
  const std::vector<RpcHalves>& rpcs() const { return rpcs_; }
  // By start; without spans that end before they start, and those that were sent twice.
  const std::vector<uint32_t>& by_start() const { return by_start_; }
  const std::vector<uint32_t>& rpcs_by_start() const { return rpcs_by_start_; }
  // A burst's spans are looked for among those that start so long before it: one of an hour makes all searches look at an hour.
  int64_t max_duration_ns() const { return max_duration_ns_; }
  // The ID of an attribute's key; 0: no span has it.
  uint32_t key_named(std::string_view name) const {
    const auto found = keys_.find(name);
    return found == keys_.end() ? 0 : found->second;
  }

 private:
  const SpanSet* set_;
  std::vector<RpcHalves> rpcs_;
  std::vector<uint32_t> by_start_;
  std::vector<uint32_t> rpcs_by_start_;
  int64_t max_duration_ns_ = 0;
  boost::unordered_flat_map<std::string_view, uint32_t> keys_;  // borrows the set's names
};

// A span that ends before it starts is left out.
inline bool has_sound_times(const Span& span) {
  return span.start_ns <= span.end_ns;
}

}  // namespace plimsoll::traces
