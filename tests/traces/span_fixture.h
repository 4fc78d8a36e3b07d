// Spans for tests of the store, and what a store of them has to answer: a list, and a rule which of two copies stays.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "store/door/spans.h"
#include "traces/model/span_set.h"

namespace plimsoll::testing {

struct PlainSpan {
  traces::TraceId trace = {.high = 0, .low = 1};
  traces::SpanId id = 1;
  bool is_shared = false;
  traces::SpanKind kind = traces::SpanKind::kServer;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::string service = "cart";
  std::string operation = "GET /";
  traces::SpanId parent = 0;
  std::string replica = {};
  std::string machine = {};
  std::string version = {};
  traces::SpanStatus status = traces::SpanStatus::kUnset;
  double weight = 1;
  std::map<std::string, std::string> attributes = {};

  bool operator==(const PlainSpan&) const = default;

  auto key() const { return std::tuple(trace, id, is_shared, kind); }
  // Of copies the smallest stays.
  auto rank() const {
    return std::tuple(-end_ns, start_ns, service, operation, parent, machine.empty(), replica.empty(),
                      machine, replica, version, status, weight, attributes.empty(), attributes);
  }
};

inline void PrintTo(const PlainSpan& span, std::ostream* out) {
  *out << traces::to_text(span.trace) << " " << span.id << " in " << span.parent
       << (span.is_shared ? " shared" : "") << " " << static_cast<int>(span.kind) << " " << span.start_ns
       << ".." << span.end_ns << " " << span.service << " " << span.operation << " " << span.replica << "@"
       << span.machine << " " << span.version << " " << static_cast<int>(span.status) << " x" << span.weight;
  for (const auto& [key, value] : span.attributes) {
    *out << " " << key << "=" << value;
  }
}

inline PlainSpan plain(const store::StoredSpan& stored) {
  const traces::NamedSpan& span = stored.span;
  PlainSpan made{.trace = span.trace,
                 .id = span.id,
                 .is_shared = span.is_shared,
                 .kind = span.kind,
                 .start_ns = span.start_ns,
                 .end_ns = span.end_ns,
                 .service = std::string(span.service),
                 .operation = std::string(span.operation),
                 .parent = span.parent,
                 .replica = std::string(span.replica),
                 .machine = std::string(span.machine),
                 .version = std::string(span.version),
                 .status = span.status,
                 .weight = stored.weight};
  for (const traces::Attribute& attribute : span.attributes) {
    made.attributes.emplace(attribute.key, attribute.value);
  }
  return made;
}

inline traces::SpanSet span_set_of(const std::vector<PlainSpan>& spans) {
  traces::SpanSet set({.keeps_attributes = true});
  for (const PlainSpan& span : spans) {
    std::vector<traces::Attribute> attributes;
    for (const auto& [key, value] : span.attributes) {
      attributes.push_back({key, value});
    }
    const Status added = set.add({.trace = span.trace,
                                  .id = span.id,
                                  .parent = span.parent,
                                  .start_ns = span.start_ns,
                                  .end_ns = span.end_ns,
                                  .service = span.service,
                                  .operation = span.operation,
                                  .replica = span.replica,
                                  .machine = span.machine,
                                  .version = span.version,
                                  .kind = span.kind,
                                  .status = span.status,
                                  .is_shared = span.is_shared,
                                  .attributes = attributes});
    EXPECT_TRUE(added) << added.error().text();
  }
  return set;
}

// What was added, with all copies.
class SpanModel {
 public:
  void add(const std::vector<PlainSpan>& spans, double weight) {
    for (PlainSpan span : spans) {
      span.weight = weight;
      all_.push_back(span);
    }
  }

  std::vector<PlainSpan> answer(const store::SpanQuestion& question) const {
    std::map<decltype(PlainSpan().key()), PlainSpan> kept;
    for (const PlainSpan& span : all_) {
      const bool is_asked_for = (!question.trace || span.trace == *question.trace) &&
                                std::min(span.start_ns, span.end_ns) < question.times.to_ns &&
                                std::max(span.start_ns, span.end_ns) >= question.times.from_ns;
      if (!is_asked_for) {
        continue;
      }
      const auto [place, is_new] = kept.emplace(span.key(), span);
      if (!is_new && span.rank() < place->second.rank()) {
        place->second = span;
      }
    }
    std::vector<PlainSpan> spans;
    for (const auto& [key, span] : kept) {
      spans.push_back(span);
    }
    return spans;
  }

 private:
  std::vector<PlainSpan> all_;
};

// With attributes.
inline std::vector<PlainSpan> answer_of(store::SpanSource& source, store::SpanQuestion question = {}) {
  std::vector<PlainSpan> spans;
  question.with_attributes = true;
  const auto damaged = source.read(question, [&](const store::StoredSpan& span) -> Status {
    spans.push_back(plain(span));
    return {};
  });
  EXPECT_TRUE(damaged) << damaged.error().text();
  EXPECT_TRUE(!damaged || damaged->empty()) << damaged->front().why;
  return spans;
}

// Of few traces, services and replicas, in some order, with copies among them, also of spans of earlier calls. Each begins in the first half
// of a second, and ends before that half is over: a question about whole seconds sees all copies of it or none.
class RandomSpans {
 public:
  static constexpr int64_t kBeginNs = int64_t{1'700'000'000} * 1'000'000'000;
  static constexpr int64_t kSecondNs = 1'000'000'000;

  explicit RandomSpans(uint64_t seed) : random_(seed) {}

  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  bool one_in(uint32_t n) { return below(n) == 0; }

  std::vector<PlainSpan> next(size_t count) {
    std::vector<PlainSpan> spans;
    for (size_t i = 0; i < count; ++i) {
      if (!given_.empty() && one_in(4)) {
        spans.push_back(copy_of(given_[below(static_cast<uint32_t>(given_.size()))]));
      } else {
        spans.push_back(new_span());
        given_.push_back(spans.back());
      }
    }
    return spans;
  }

  store::SpanQuestion question() {
    store::SpanQuestion question;
    if (one_in(2)) {
      const int64_t second = below(12);
      question.times = {kBeginNs + second * kSecondNs, kBeginNs + (second + 1 + below(4)) * kSecondNs};
    }
    if (one_in(2)) {
      question.trace = trace(below(12));
    }
    return question;
  }

 private:
  // Half of them with 64 bits.
  static traces::TraceId trace(uint32_t number) {
    return {.high = number % 2 == 0 ? 0 : traces::mixed(number), .low = traces::mixed(number + 1000)};
  }

  std::string one_of(const char* prefix, uint32_t count) {
    const uint32_t number = below(count);
    return number == 0 ? std::string() : prefix + std::to_string(number);
  }

  PlainSpan new_span() {
    const int64_t start_ns = kBeginNs + below(10) * kSecondNs + 1000 + below(400'000'000);
    PlainSpan made{.trace = trace(below(10)),
                   .id = traces::mixed(++ids_),
                   .is_shared = one_in(10),
                   .kind = static_cast<traces::SpanKind>(below(6)),
                   .start_ns = start_ns,
                   .end_ns = one_in(20) ? start_ns - below(900) : start_ns + below(90'000'000),
                   .service = one_of("service", 5),
                   .operation = one_of("operation", 9),
                   .parent = one_in(3) ? 0 : traces::mixed(1 + below(ids_ + 3)),
                   .replica = one_of("replica", 4),
                   .machine = one_of("machine", 4),
                   .version = one_of("v", 3),
                   .status = static_cast<traces::SpanStatus>(below(3))};
    for (const char* const key : {"host.type", "http.route", "tenant"}) {
      if (one_in(2)) {
        made.attributes[key] = "value" + std::to_string(below(4));
      }
    }
    return made;
  }

  // The same, or with other content.
  PlainSpan copy_of(const PlainSpan& span) {
    PlainSpan copy = span;
    if (one_in(2)) {
      copy.end_ns += below(3);
      copy.machine = one_of("machine", 3);
      copy.status = static_cast<traces::SpanStatus>(below(3));
      if (one_in(2)) {
        copy.attributes.clear();
      }
    }
    // Also where all else is the same, and each by itself: keys of a block have numbers in the order in which they came.
    for (const char* const key : {"host.type", "tenant"}) {
      if (one_in(3)) {
        copy.attributes[key] = "value" + std::to_string(below(4));
      }
    }
    return copy;
  }

  std::mt19937_64 random_;
  uint32_t ids_ = 0;
  std::vector<PlainSpan> given_;
};

}  // namespace plimsoll::testing
