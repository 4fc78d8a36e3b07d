#include "bench/store/generator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>

namespace plimsoll::bench {
namespace {

constexpr uint32_t kSlots = 8;
constexpr uint32_t kSamplesOfSlot = ProfileRows::kSamples / kSlots;
constexpr uint32_t kMaxSampleHits = 50;
constexpr double kJobSkew = 3;
constexpr double kStackSkew = 4;
constexpr double kHitsSkew = 6;

// Seeds of different subjects must not meet.
enum class Stream : uint64_t { kJob = 1, kStack, kHits, kCount, kEvent, kWorkload };

uint64_t seed_of(Stream subject, uint64_t index) {
  return static_cast<uint64_t>(subject) << 56U | index;
}

// 0 to count - 1; small ones are likelier.
uint32_t skewed(uint64_t seed, double skew, uint32_t count) {
  return static_cast<uint32_t>(std::pow(uniform(seed), skew) * count);
}

// Of that draw being `value`.
double odds_of_skewed(uint32_t value, double skew, uint32_t count) {
  const double below = std::pow(static_cast<double>(value) / count, 1 / skew);
  return std::pow(static_cast<double>(value + 1) / count, 1 / skew) - below;
}

std::vector<double> odds_of_one_sample() {
  std::vector<double> odds(kMaxSampleHits + 1);
  for (uint32_t hits = 1; hits <= kMaxSampleHits; ++hits) {
    odds[hits] = odds_of_skewed(hits - 1, kHitsSkew, kMaxSampleHits);
  }
  return odds;
}

// Of the sum of two independent draws.
std::vector<double> odds_of_sum(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> odds(a.size() + b.size() - 1);
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      odds[i + j] += a[i] * b[j];
    }
  }
  return odds;
}

uint32_t below(Stream subject, uint64_t index, uint32_t count) {
  return static_cast<uint32_t>(uniform(seed_of(subject, index)) * count);
}

// How many events there are where `mean` are expected.
uint32_t poisson(uint64_t seed, double mean) {
  double odds = std::exp(-mean);
  double missing = uniform(seed) - odds;
  uint32_t count = 0;
  while (missing > 0 && odds > 0) {
    ++count;
    odds *= mean / count;
    missing -= odds;
  }
  return count;
}

// Of the only thread there is, without labels.
struct GeneratedRow {
  uint32_t event, workload, origin, stack;
  uint64_t hits;
};

store::Row row_of(const GeneratedRow& generated) {
  store::Row row{.ids = {}, .hits = generated.hits};
  row[store::Column::kEvent] = generated.event;
  row[store::Column::kWorkload] = generated.workload;
  row[store::Column::kOrigin] = generated.origin;
  row[store::Column::kThread] = 1;
  row[store::Column::kStack] = generated.stack;
  return row;
}

}  // namespace

uint64_t scrambled(uint64_t seed) {
  seed += 0x9E3779B97F4A7C15;
  seed = (seed ^ (seed >> 30U)) * 0xBF58476D1CE4E5B9;
  seed = (seed ^ (seed >> 27U)) * 0x94D049BB133111EB;
  return seed ^ (seed >> 31U);
}

double uniform(uint64_t seed) {
  return static_cast<double>(scrambled(seed) >> 11U) * 0x1p-53;
}

ProfileRows::ProfileRows(uint32_t first_stack) : first_stack_(first_stack) {
  for (uint32_t slot = 0; slot < kMachines * kSlots; ++slot) {
    job_of_slot_.push_back(skewed(seed_of(Stream::kJob, slot), kJobSkew, kJobs));
  }
  for (uint32_t stack = 0; stack < kStacksOfJob; ++stack) {
    stack_bits_.push_back(-std::log2(odds_of_skewed(stack, kStackSkew, kStacksOfJob)));
  }
  log2_factorial_.push_back(0);
  for (uint32_t n = 1; n <= kSamples; ++n) {
    log2_factorial_.push_back(log2_factorial_.back() + std::log2(n));
  }
  hits_odds_ = {{1.0}};
  hits_bits_ = {{0.0}};
}

const std::vector<double>& ProfileRows::hits_bits(uint32_t samples) {
  while (hits_odds_.size() <= samples) {
    hits_odds_.push_back(odds_of_sum(hits_odds_.back(), odds_of_one_sample()));
    hits_bits_.emplace_back();
    for (const double odds : hits_odds_.back()) {
      hits_bits_.back().push_back(odds > 0 ? -std::log2(odds) : 0);
    }
  }
  return hits_bits_[samples];
}

void ProfileRows::append_run(uint32_t origin, uint32_t job, uint32_t samples, std::vector<store::Row>& rows) {
  std::ranges::sort(drawn_);
  bits_ -= log2_factorial_[samples];
  for (size_t i = 0; i < drawn_.size();) {
    const auto stack = static_cast<uint32_t>(drawn_[i] >> 32U);
    const size_t first = i;
    uint64_t hits = 0;
    for (; i < drawn_.size() && drawn_[i] >> 32U == stack; ++i) {
      hits += drawn_[i] & UINT32_MAX;
    }
    const auto of_stack = static_cast<uint32_t>(i - first);
    bits_ += of_stack * stack_bits_[stack] + log2_factorial_[of_stack] + hits_bits(of_stack)[hits];
    rows.push_back(row_of({.event = window_of(origin) % kEvents + 1,
                           .workload = job + 1,
                           .origin = origin,
                           .stack = first_stack_ + job * kStacksOfJob + stack,
                           .hits = hits}));
  }
}

void ProfileRows::append(uint32_t origin, std::vector<store::Row>& rows) {
  std::array<uint32_t, kSlots> slots{};
  const uint32_t machine = machine_of(origin);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    slots[slot] = slot;
  }
  const auto job_of = [&](uint32_t slot) { return job_of_slot_[machine * kSlots + slot]; };
  std::ranges::sort(slots, {}, job_of);
  // Slots of one job are one run of samples.
  for (size_t i = 0; i < kSlots;) {
    const uint32_t job = job_of(slots[i]);
    uint32_t samples = 0;
    drawn_.clear();
    for (; i < kSlots && job_of(slots[i]) == job; ++i) {
      for (uint32_t sample = 0; sample < kSamplesOfSlot; ++sample, ++samples) {
        const uint64_t index = uint64_t{origin} * kSamples + uint64_t{slots[i]} * kSamplesOfSlot + sample;
        const uint64_t stack = skewed(seed_of(Stream::kStack, index), kStackSkew, kStacksOfJob);
        drawn_.push_back(stack << 32U |
                         (1 + skewed(seed_of(Stream::kHits, index), kHitsSkew, kMaxSampleHits)));
      }
    }
    append_run(origin, job, samples, rows);
  }
}

void IndependentRows::append(uint32_t origin, std::vector<store::Row>& rows) const {
  const size_t first = rows.size();
  const uint32_t count = poisson(seed_of(Stream::kCount, origin), kRowsOfOrigin);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t index = uint64_t{origin} << 16U | i;
    rows.push_back(row_of({.event = below(Stream::kEvent, index, kEvents) + 1,
                           .workload = below(Stream::kWorkload, index, kJobs) + 1,
                           .origin = origin,
                           .stack = first_stack_ + below(Stream::kStack, index, kJobs * kStacksOfJob),
                           .hits = below(Stream::kHits, index, kMaxHits) + 1}));
  }
  const std::span added = std::span(rows).subspan(first);
  std::ranges::sort(added);
  rows.resize(first +
              static_cast<size_t>(std::ranges::unique(added, &store::Row::same_key).begin() - added.begin()));
}

double IndependentRows::min_bits(uint64_t rows, uint32_t origins) {
  const auto n = static_cast<double>(rows);
  const double drawn = std::log2(static_cast<double>(kEvents) * kJobs * kJobs * kStacksOfJob) +
                       std::log2(kMaxHits) + std::log2(origins);
  return n * (drawn - (std::log2(n) - std::numbers::log2e));  // log2(n!), by Stirling
}

}  // namespace plimsoll::bench
