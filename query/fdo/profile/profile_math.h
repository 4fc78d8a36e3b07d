// Sums and comparisons of compiler profiles.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "query/fdo/profile/sample_profile.h"

namespace plimsoll::fdo {

// Sums stay at the largest number where they would exceed it.
uint64_t saturating_add(uint64_t a, uint64_t b);
// Of what is not negative; the largest number where it would exceed it.
uint64_t saturating_round(double count);

// All names of functions, those that are inlined or called included. Borrows from the profile.
std::set<std::string_view> names_in(const SampleProfile& profile);

// Adds `from`, its counts multiplied by `weight` (not negative) and rounded. A line that ran keeps a count of 1 at least: 0 says that it
// never ran.
void merge(SampleProfile& into, const SampleProfile& from, double weight);
void merge(FunctionSamples& into, const FunctionSamples& from, double weight);

// How alike two profiles are, 0 to 1, as `llvm-profdata overlap --sample` defines its program-level similarity: each function's
// similarity is one less half of the distance between its counts as shares, weighted by the function's share in both.
double overlap(const SampleProfile& a, const SampleProfile& b);

// Sum of the counts of lines, those of inlined calls included.
uint64_t body_total(const FunctionSamples& function);
uint64_t body_total(const SampleProfile& profile);

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
