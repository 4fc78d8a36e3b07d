// What a recording's records say, told by a walk over its bytes that shares nothing with the reader under test.
#pragma once

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "base/file.h"

namespace plimsoll::perf_data {

struct Counted {
  uint64_t samples = 0;
  uint64_t lost = 0;
  uint64_t occurrences = 0;  // that the samples stand for
  bool operator==(const Counted&) const = default;
};
using Counts = std::map<std::string, Counted>;

inline void PrintTo(const Counted& counted, std::ostream* stream) {
  *stream << counted.samples << " samples, " << counted.lost << " lost, of " << counted.occurrences
          << " occurrences";
}

// Goes through the bytes with nothing of the reader under test.
class Walk {
 public:
  explicit Walk(const std::string& file) : file_(file) {}

  Counts counts() {
    if (u64(8) == 16) {
      walk(16, file_.size());
    } else {
      read_header();
      walk(u64(40), u64(40) + u64(48));
    }
    return counts_;
  }

  // Of all records, in the file.
  std::vector<size_t> record_offsets() {
    counts();
    return offsets_;
  }

 private:
  struct Event {
    std::string name;
    uint64_t sample_type = 0;
    uint64_t fixed_period = 0;  // of samples that do not tell theirs
  };

  uint64_t u64(size_t at) const { return value<uint64_t>(at); }
  template <typename T>
  T value(size_t at) const {
    T result{};
    std::memcpy(&result, file_.data() + at, sizeof result);
    return result;
  }

  void add_event(const std::string& name, size_t attr_at, size_t ids_at, size_t ids) {
    counts_[name] = {};
    const bool is_rate = (u64(attr_at + 40) >> 10U & 1U) != 0;
    const bool is_clock = value<uint32_t>(attr_at) == PERF_TYPE_SOFTWARE && u64(attr_at + 8) <= 1;
    const uint64_t told = u64(attr_at + 16);
    const uint64_t of_rate = is_clock ? 1'000'000'000 / std::max<uint64_t>(told, 1) : 1;
    events_.push_back({name, u64(attr_at + 24), is_rate ? of_rate : told});
    for (size_t i = 0; i < ids; ++i) {
      event_of_id_[u64(ids_at + i * 8)] = events_.size() - 1;
    }
  }

  // Names are in feature 12, whose place stands behind the data; features before it have a place each.
  void read_header() {
    const uint64_t bits = u64(72);
    size_t place = u64(40) + u64(48);
    for (unsigned bit = 0; bit < 12; ++bit) {
      place += (bits >> bit & 1U) * 16;
    }
    size_t at = u64(place);
    const auto count = value<uint32_t>(at);
    const auto attr_bytes = value<uint32_t>(at + 4);
    at += 8;
    for (uint32_t i = 0; i < count; ++i) {
      const size_t attr_at = at;
      const auto ids = value<uint32_t>(at + attr_bytes);
      const auto name_bytes = value<uint32_t>(at + attr_bytes + 4);
      const size_t name_at = at + attr_bytes + 8;
      const size_t ids_at = name_at + name_bytes;
      add_event(file_.c_str() + name_at, attr_at, ids_at, ids);
      at = ids_at + size_t{ids} * 8;
    }
  }

  static size_t bits_set(uint64_t word) { return static_cast<size_t>(__builtin_popcountll(word)); }

  const Event& event_at(size_t id_at) const {
    const auto found = event_of_id_.find(u64(id_at));
    return events_[events_.size() == 1 || found == event_of_id_.end() ? 0 : found->second];
  }

  // The period stands behind everything of a fixed size: identifier, IP, TID, time, address, ID, CPU and stream ID.
  void add_sample(size_t at, const Event& event) {
    const size_t before = bits_set(event.sample_type & (1U << 16U | 0xf | 1U << 6U | 1U << 7U | 1U << 9U));
    const bool has_period = (event.sample_type & 1U << 8U) != 0;
    Counted& counted = counts_[event.name];
    ++counted.samples;
    counted.occurrences += std::max<uint64_t>(1, has_period ? u64(at + 8 + 8 * before) : event.fixed_period);
  }

  void walk(size_t at, size_t end) {
    static const char* const kNames[] = {"cycles",       "instructions", "cache-references",
                                         "cache-misses", "branches",     "branch-misses"};
    while (at < end) {
      const auto type = value<uint32_t>(at);
      const auto size = value<uint16_t>(at + 6);
      ASSERT_GE(size, 8);
      offsets_.push_back(at);
      const uint64_t fields = events_.empty() ? 0 : events_[0].sample_type;
      const bool has_identifier = (fields & 1U << 16U) != 0;
      if (type == 64) {
        const auto attr_bytes = value<uint32_t>(at + 12);
        add_event(kNames[u64(at + 16)], at + 8, at + 8 + attr_bytes, (size - 8 - attr_bytes) / 8);
      } else if (type == PERF_RECORD_SAMPLE) {
        add_sample(at, event_at(at + 8 + (has_identifier ? 0 : 8 * bits_set(fields & 0xf))));
      } else if (type == PERF_RECORD_LOST) {
        counts_[event_at(at + 8).name].lost += u64(at + 16);
      } else if (type == PERF_RECORD_LOST_SAMPLES) {
        const size_t from_end = has_identifier ? 8 : 8 * bits_set(fields & (1U << 6U | 1U << 7U | 1U << 9U));
        counts_[event_at(at + size - from_end).name].lost += u64(at + 8);
      }
      at += size;
    }
  }

  const std::string& file_;
  std::vector<Event> events_;
  std::map<uint64_t, size_t> event_of_id_;
  Counts counts_;
  std::vector<size_t> offsets_;
};

// A file of the corpus; empty where there is none.
inline std::string corpus_file(const std::string& name) {
  const char* const corpus = std::getenv("PLIMSOLL_CORPUS");
  return corpus == nullptr ? std::string()
                           : read_file(std::string(corpus) + "/" + name, 16 << 20).value_or("");
}

}  // namespace plimsoll::perf_data
