// Sums and comparisons of compiler profiles.
#pragma once

#include <cstdint>
#include <vector>

#include "query/fdo/profile/sample_profile.h"

namespace plimsoll::fdo {

// Sums stay at the largest number where they would exceed it.
uint64_t saturating_add(uint64_t a, uint64_t b);

// For profiles of older builds, which no command merges yet. Adds `from`, its counts multiplied by `weight` (not negative) and rounded.
void merge(SampleProfile& into, const SampleProfile& from, double weight);

// How alike two profiles are, 0 to 1, as `llvm-profdata overlap --sample` defines its program-level similarity: each function's
// similarity is one less half of the distance between its counts as shares, weighted by the function's share in both.
// For tests and comparisons: no command shows it yet.
double overlap(const SampleProfile& a, const SampleProfile& b);

// Sum of the counts of lines, those of inlined calls included.
uint64_t body_total(const FunctionSamples& function);

// How many of the lines have most of the counts: the hottest lines that together have `cutoff` millionths of all counts number `lines`,
// and have `min_count` or more each.
struct SummaryEntry {
  uint32_t cutoff = 0;
  uint64_t min_count = 0;
  uint64_t lines = 0;
};

struct ProfileSummary {
  uint64_t total_count = 0;
  uint64_t max_count = 0;           // of a line
  uint64_t max_function_count = 0;  // entries
  uint64_t lines = 0;
  uint64_t functions = 0;
  std::vector<SummaryEntry> entries = {};  // by LLVM's standard cutoffs, ascending
};

// As llvm::SampleProfileSummaryBuilder has it; clang takes lines of `min_count` at 990,000 or more for hot.
ProfileSummary summary_of(const SampleProfile& profile);

}  // namespace plimsoll::fdo
