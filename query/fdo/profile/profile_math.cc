#include "query/fdo/profile/profile_math.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace plimsoll::fdo {
namespace {

// Of llvm::ProfileSummaryBuilder, in millionths.
constexpr std::array<uint32_t, 16> kCutoffs{10'000,  100'000, 200'000, 300'000, 400'000, 500'000,
                                            600'000, 700'000, 800'000, 900'000, 950'000, 990'000,
                                            999'000, 999'900, 999'990, 999'999};
constexpr uint32_t kCutoffScale = 1'000'000;

uint64_t weighted(uint64_t count, double weight) {
  if (weight == 1) {
    return count;
  }
  const uint64_t least = count > 0 && weight > 0 ? 1 : 0;
  return std::max(saturating_round(static_cast<double>(count) * weight), least);
}

void add(uint64_t& into, uint64_t count, double weight) {
  into = saturating_add(into, weighted(count, weight));
}

using Callees = std::map<std::string, FunctionSamples, std::less<>>;

// Calls `visit` with what both maps have at each key; null: this one has nothing there.
template <typename Map, typename Visit>
void visit_both(const Map& a, const Map& b, const Visit& visit) {
  for (auto of_a = a.begin(), of_b = b.begin(); of_a != a.end() || of_b != b.end();) {
    const bool takes_a = of_a != a.end() && (of_b == b.end() || !(of_b->first < of_a->first));
    const bool takes_b = of_b != b.end() && (of_a == a.end() || !(of_a->first < of_b->first));
    visit(takes_a ? &of_a->second : nullptr, takes_b ? &of_b->second : nullptr);
    of_a = takes_a ? std::next(of_a) : of_a;
    of_b = takes_b ? std::next(of_b) : of_b;
  }
}

// One function in two profiles.
class FunctionOverlap {
 public:
  FunctionOverlap(const FunctionSamples& a, const FunctionSamples& b)
      : total_of_a_(static_cast<double>(body_total(a))), total_of_b_(static_cast<double>(body_total(b))) {
    add(a, b);
  }

  double similarity() const { return std::max(0.0, (2 - distance_) / 2); }

 private:
  void add(uint64_t of_a, uint64_t of_b) {
    const double share_of_a = total_of_a_ == 0 ? 0 : static_cast<double>(of_a) / total_of_a_;
    const double share_of_b = total_of_b_ == 0 ? 0 : static_cast<double>(of_b) / total_of_b_;
    distance_ += std::abs(share_of_a - share_of_b);
  }
  void add(const FunctionSamples& a, const FunctionSamples& b) {
    visit_both(a.body, b.body, [this](const BodySamples* of_a, const BodySamples* of_b) {
      add(of_a == nullptr ? 0 : of_a->count, of_b == nullptr ? 0 : of_b->count);
    });
    visit_both(a.inlined, b.inlined, [this](const Callees* of_a, const Callees* of_b) {
      static const Callees none;
      visit_both(of_a == nullptr ? none : *of_a, of_b == nullptr ? none : *of_b,
                 [this](const FunctionSamples* callee_of_a, const FunctionSamples* callee_of_b) {
                   if (callee_of_a != nullptr && callee_of_b != nullptr) {
                     add(*callee_of_a, *callee_of_b);
                   } else {
                     add(callee_of_a == nullptr ? 0 : body_total(*callee_of_a),
                         callee_of_b == nullptr ? 0 : body_total(*callee_of_b));
                   }
                 });
    });
  }

  double total_of_a_;
  double total_of_b_;
  double distance_ = 0;
};

double sum_of(const SampleProfile& profile) {
  double sum = 0;
  for (const auto& [name, function] : profile.functions) {
    sum += static_cast<double>(body_total(function));
  }
  return sum;
}

void collect_names(const FunctionSamples& function, std::set<std::string_view>& names) {
  for (const auto& [offset, samples] : function.body) {
    for (const auto& [name, count] : samples.calls) {
      names.insert(name);
    }
  }
  for (const auto& [offset, callees] : function.inlined) {
    for (const auto& [name, callee] : callees) {
      names.insert(name);
      collect_names(callee, names);
    }
  }
}

// Counts of lines, and how many lines have each; the hottest first.
using Frequencies = std::map<uint64_t, uint64_t, std::greater<>>;

void count_lines(const FunctionSamples& function, Frequencies& frequencies) {
  for (const auto& [offset, samples] : function.body) {
    ++frequencies[samples.count];
  }
  for (const auto& [offset, callees] : function.inlined) {
    for (const auto& [name, callee] : callees) {
      count_lines(callee, frequencies);
    }
  }
}

uint64_t saturating_multiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<uint64_t>::max() : product;
}

}  // namespace

uint64_t saturating_add(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max() : a + b;
}

uint64_t saturating_round(double count) {
  constexpr double kEnd = 18'446'744'073'709'551'616.0;  // 2^64
  const double rounded = std::round(count);
  return rounded < kEnd ? static_cast<uint64_t>(rounded) : std::numeric_limits<uint64_t>::max();
}

std::set<std::string_view> names_in(const SampleProfile& profile) {
  std::set<std::string_view> names;
  for (const auto& [name, function] : profile.functions) {
    names.insert(name);
    collect_names(function, names);
  }
  return names;
}

void merge(FunctionSamples& into, const FunctionSamples& from, double weight) {
  add(into.total, from.total, weight);
  add(into.head, from.head, weight);
  for (const auto& [offset, samples] : from.body) {
    BodySamples& merged = into.body[offset];
    add(merged.count, samples.count, weight);
    for (const auto& [name, count] : samples.calls) {
      add(merged.calls[name], count, weight);
    }
  }
  for (const auto& [offset, callees] : from.inlined) {
    for (const auto& [name, callee] : callees) {
      merge(into.inlined[offset][name], callee, weight);
    }
  }
}

void merge(SampleProfile& into, const SampleProfile& from, double weight) {
  for (const auto& [name, function] : from.functions) {
    merge(into.functions[name], function, weight);
  }
}

uint64_t body_total(const FunctionSamples& function) {
  uint64_t total = 0;
  for (const auto& [offset, samples] : function.body) {
    total = saturating_add(total, samples.count);
  }
  for (const auto& [offset, callees] : function.inlined) {
    for (const auto& [name, callee] : callees) {
      total = saturating_add(total, body_total(callee));
    }
  }
  return total;
}

uint64_t body_total(const SampleProfile& profile) {
  uint64_t total = 0;
  for (const auto& [name, function] : profile.functions) {
    total = saturating_add(total, body_total(function));
  }
  return total;
}

double overlap(const SampleProfile& a, const SampleProfile& b) {
  const double sum_of_a = sum_of(a);
  const double sum_of_b = sum_of(b);
  if (sum_of_a == 0 || sum_of_b == 0) {
    return 0;
  }
  double similarity = 0;
  visit_both(a.functions, b.functions, [&](const FunctionSamples* of_a, const FunctionSamples* of_b) {
    if (of_a == nullptr || of_b == nullptr) {
      return;
    }
    const double share_of_a = static_cast<double>(body_total(*of_a)) / sum_of_a;
    const double share_of_b = static_cast<double>(body_total(*of_b)) / sum_of_b;
    similarity += FunctionOverlap(*of_a, *of_b).similarity() * (1 - std::abs(share_of_a - share_of_b)) *
                  (share_of_a + share_of_b) / 2;
  });
  return similarity;
}

ProfileSummary summary_of(const SampleProfile& profile) {
  ProfileSummary summary;
  Frequencies frequencies;
  for (const auto& [name, function] : profile.functions) {
    ++summary.functions;
    summary.max_function_count = std::max(summary.max_function_count, function.head);
    count_lines(function, frequencies);
  }
  for (const auto& [count, lines] : frequencies) {
    summary.lines += lines;
    summary.total_count = saturating_add(summary.total_count, saturating_multiply(count, lines));
  }
  summary.max_count = frequencies.empty() ? 0 : frequencies.begin()->first;
  SummaryEntry entry;
  uint64_t sum = 0;
  auto next = frequencies.begin();
  for (const uint32_t cutoff : kCutoffs) {
    // Without overflow: total x cutoff / 1,000,000, rounded down.
    const uint64_t wanted = summary.total_count / kCutoffScale * cutoff +
                            summary.total_count % kCutoffScale * cutoff / kCutoffScale;
    for (; sum < wanted && next != frequencies.end(); ++next) {
      entry.min_count = next->first;
      entry.lines += next->second;
      sum = saturating_add(sum, saturating_multiply(next->first, next->second));
    }
    entry.cutoff = cutoff;
    summary.entries.push_back(entry);
  }
  return summary;
}

}  // namespace plimsoll::fdo
