#include "traces/bursts/search/search_spans.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <tuple>

namespace plimsoll::traces {
namespace {

// A random number.
constexpr uint64_t kShared = 0x9E37'79B9'7F4A'7C15;

// A client's half and a shared server's half have one ID.
uint64_t key_of(const TraceId& trace, SpanId id, bool is_shared) {
  return mixed(trace.high ^ mixed(trace.low ^ mixed(id ^ (is_shared ? kShared : 0))));
}

// By ID; of two spans with one ID the first. A collision of hashes is found where the span is looked at.
class SpanIds {
 public:
  explicit SpanIds(const std::vector<Span>& spans) : spans_(spans) {
    places_.reserve(spans.size());
    for (uint32_t i = 0; i < spans.size(); ++i) {
      places_.try_emplace(key_of(spans[i].trace, spans[i].id, spans[i].is_shared), i);
    }
  }

  uint32_t find(const TraceId& trace, SpanId id) const {
    const auto found = places_.find(key_of(trace, id, false));
    if (found == places_.end()) {
      return kNoSpan;
    }
    const Span& span = spans_[found->second];
    return span.trace == trace && span.id == id ? found->second : kNoSpan;
  }
  bool is_first(uint32_t index) const {
    const Span& span = spans_[index];
    const auto found = places_.find(key_of(span.trace, span.id, span.is_shared));
    return found != places_.end() && found->second == index;
  }

 private:
  const std::vector<Span>& spans_;
  boost::unordered_flat_map<uint64_t, uint32_t> places_;
};

// The parent's half of the call, where it is one of another process.
uint32_t remote_parent(const std::vector<Span>& spans, const SpanIds& ids, uint32_t index) {
  const Span& span = spans[index];
  uint32_t parent = span.is_shared ? ids.find(span.trace, span.id) : kNoSpan;
  // Where a client's shared half was lost, its parent stands in.
  if (parent == kNoSpan && span.parent != 0) {
    parent = ids.find(span.trace, span.parent);
  }
  if (parent == kNoSpan || parent == index) {
    return kNoSpan;
  }
  const bool is_server = span.kind == SpanKind::kServer || span.is_shared;
  return is_server || spans[parent].service != span.service ? parent : kNoSpan;
}

}  // namespace

SearchSpans::SearchSpans(const SpanSet& set) : set_(&set) {
  const std::vector<Span>& spans = set.spans();
  const SpanIds ids(spans);
  for (uint32_t key = 1; key < set.attributes().keys(); ++key) {
    keys_.emplace(set.attributes().key(key), key);
  }
  boost::unordered_flat_map<uint32_t, uint32_t> rpc_of_client;
  for (uint32_t i = 0; i < spans.size(); ++i) {
    if (!ids.is_first(i) || !has_sound_times(spans[i])) {
      continue;
    }
    by_start_.push_back(i);
    max_duration_ns_ = std::max(max_duration_ns_, spans[i].duration_ns());
    if (spans[i].kind == SpanKind::kClient) {
      rpc_of_client.emplace(i, static_cast<uint32_t>(rpcs_.size()));
      rpcs_.push_back({.client = i, .server = kNoSpan, .caller = i});
    }
  }
  std::ranges::sort(by_start_, {}, [&](uint32_t i) { return std::tuple(spans[i].start_ns, i); });
  for (const uint32_t i : by_start_) {
    const uint32_t parent = spans[i].kind == SpanKind::kClient ? kNoSpan : remote_parent(spans, ids, i);
    if (parent == kNoSpan) {
      continue;
    }
    const auto client = rpc_of_client.find(parent);
    if (client == rpc_of_client.end()) {
      rpcs_.push_back({.client = kNoSpan, .server = i, .caller = parent});
    } else if (rpcs_[client->second].server == kNoSpan) {
      // A call that was tried again has several: the one that starts first counts as its server's half, whichever was sent first.
      rpcs_[client->second].server = i;
    }
  }
  rpcs_by_start_.resize(rpcs_.size());
  for (uint32_t i = 0; i < rpcs_.size(); ++i) {
    rpcs_by_start_[i] = i;
  }
  std::ranges::sort(rpcs_by_start_, {},
                    [&](uint32_t i) { return std::tuple(spans[rpcs_[i].first()].start_ns, i); });
}

}  // namespace plimsoll::traces
