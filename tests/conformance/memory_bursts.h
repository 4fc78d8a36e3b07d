// The model of a sink and source of recordings of bursts: what they have to do, in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/door/bursts.h"

namespace plimsoll::testing {

class MemoryBursts : public store::BurstSink, public store::BurstSource {
 public:
  explicit MemoryBursts(std::function<int64_t()> now_ns) : now_ns_(std::move(now_ns)) {}
  // As it is at this moment.
  MemoryBursts(const MemoryBursts& other)
      : store::BurstSink(), store::BurstSource(), now_ns_(other.now_ns_), kept_(other.kept_) {}
  MemoryBursts& operator=(const MemoryBursts& other) {
    kept_ = other.kept_;
    return *this;
  }

  Result<bool> add(std::string_view id, const store::StoredBursts& summary, Bytes encoded) override {
    if (id.size() != store::kBurstIdBytes) {
      return fail(ErrorCode::kInvalid, "an ID of {} bytes", id.size());
    }
    for (const Kept& one : kept_) {
      if (one.bursts.id == id) {
        return one.content == as_text(encoded) ? Result<bool>(false)
                                               : fail(ErrorCode::kConflict, "another one");
      }
    }
    Kept kept{summary, std::string(as_text(encoded))};
    kept.bursts.id = id;
    kept.bursts.bytes = encoded.size();
    kept.bursts.received_ns = now_ns_();
    kept_.push_back(std::move(kept));
    return true;
  }

  Result<uint64_t> drop_old(int64_t before_ns, uint64_t max_bytes) override {
    uint64_t dropped = 0;
    while (kept_.size() > 1 && (kept_.front().bursts.received_ns < before_ns || bytes() > max_bytes)) {
      kept_.erase(kept_.begin());
      ++dropped;
    }
    return dropped;
  }

  Result<bool> drop_oldest() override {
    const bool drops = kept_.size() > 1;
    if (drops) {
      kept_.erase(kept_.begin());
    }
    return drops;
  }

  Result<std::vector<store::StoredBursts>> list(const store::BurstQuestion& question) override {
    std::vector<store::StoredBursts> found;
    for (const auto& [bursts, content] : kept_) {
      if (bursts.begin_ns < question.times.to_ns && bursts.end_ns > question.times.from_ns &&
          (question.machine.empty() || question.machine == bursts.machine) &&
          (question.draw.empty() || question.draw == bursts.draw)) {
        found.push_back(bursts);
      }
    }
    if (question.newest == 0 && found.size() > question.max_recordings) {
      return fail(ErrorCode::kTooLarge, "{} recordings", found.size());
    }
    std::ranges::sort(found, {}, [](const store::StoredBursts& bursts) {
      return std::tuple(bursts.begin_ns, bursts.machine, bursts.id);
    });
    if (question.newest > 0 && found.size() > question.newest) {
      found.erase(found.begin(), found.end() - static_cast<ptrdiff_t>(question.newest));
    }
    return found;
  }

  Result<std::string> read(std::string_view id) override {
    for (const Kept& one : kept_) {
      if (one.bursts.id == id) {
        return one.content;
      }
    }
    return fail(ErrorCode::kNotFound, "none");
  }

  size_t size() const { return kept_.size(); }
  const std::string& id_of(size_t number) const { return kept_[number].bursts.id; }

 private:
  struct Kept {
    store::StoredBursts bursts;
    std::string content;
  };

  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const Kept& one : kept_) {
      sum += one.bursts.bytes;
    }
    return sum;
  }

  const std::function<int64_t()> now_ns_;
  std::vector<Kept> kept_;  // in the order in which they were added
};

}  // namespace plimsoll::testing
