// Profiles of older builds of a program, carried over to a newer build and added to its profile.
//
//   ProfileMerge merged(newer_profile, newer_samples, newer_shape);
//   MergedBuild report = merged.add(older_build);
//   write_llvm_binary(merged.profile());
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "query/fdo/profile/program_shape.h"
#include "query/fdo/profile/sample_profile.h"

namespace plimsoll::fdo {

struct OlderBuild {
  std::string name;  // build ID or file, for the report
  SampleProfile profile;
  double samples = 0;                   // samples_behind() it; 0: unknown, as many as the newer build has
  double age_s = 0;                     // older than the newer build's samples
  const ProgramShape* shape = nullptr;  // null: unknown; then lines count as they stand
};

enum class StaleReason : uint8_t {
  kGone,     // the newer program has no such function
  kChanged,  // most of what ran is at lines that the newer program does not have
};

struct StaleFunction {
  std::string name;  // as in the older profile
  double share = 0;  // of the older profile's counts
  StaleReason reason = StaleReason::kGone;
};

struct CarriedProfile {
  SampleProfile profile;                  // by the newer build's names and lines
  std::vector<StaleFunction> stale = {};  // those with most counts first
  double share = 0;                       // of the older profile's counts that were carried over
};

// Functions are found by name, lines by align_lines(). What is stale is left out, with all that was inlined into it. Without the older
// build's shape, lines keep their offsets, and a function is stale where the newer one has no code at most of them.
CarriedProfile carry_over(const SampleProfile& older, const ProgramShape* older_shape,
                          const ProgramShape& newer);

// What became of an older build's profile.
struct MergedBuild {
  std::string name;
  double samples = 0;
  double age_s = 0;
  double similarity = 0;     // overlap() with the newer profile, over the functions that both programs have
  double weight = 0;         // of each of its samples; 0: it was not merged
  double carried_share = 0;  // of its counts
  uint64_t functions = 0;    // carried over, with code of their own
  std::vector<StaleFunction> stale = {};
  bool has_other_basis = false;  // one of the two goes by branch records: it was not merged

  // What the profile gained, in samples of the newer build.
  double weighted_samples() const { return samples * weight * carried_share; }
};

// A sample of a build that is so much older counts half.
inline constexpr double kHalfLifeS = 7 * 86'400;
// Borrows the shape.
class ProfileMerge {
 public:
  ProfileMerge(SampleProfile newer, double samples, const ProgramShape& shape);

  // Each sample of the older build counts as one of the newer build's where the two differ by no more than chance, and half for each
  // kHalfLifeS. What they differ by more bounds what all samples of the older build are worth together (worth_of() in the source), so
  // that a build that did other work outweighs nothing. Builds are compared with the newer one alone: their order does not matter.
  MergedBuild add(const OlderBuild& older);

  const SampleProfile& profile() const { return merged_; }

 private:
  const SampleProfile newer_;
  const double samples_;
  const ProgramShape& shape_;
  SampleProfile merged_;
};

}  // namespace plimsoll::fdo
