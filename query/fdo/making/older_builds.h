// Older builds of a program, added to the profile of the newest.
//
//   OlderBuilds older(newest, profile);
//   older.add(build);
//   measure_quality({..., .older = older.builds()});
//   bytes_of(older.profile(), format);
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "query/fdo/code/execution.h"
#include "query/fdo/counts/binary_counts.h"
#include "query/fdo/profile/older_build.h"
#include "query/fdo/profile/program_shape.h"
#include "query/fdo/profile/sample_profile.h"
#include "symbolizer/symtab/symtab.h"

namespace plimsoll::fdo {

// What was made of one build. Borrows all.
struct MeasuredBuild {
  const std::string& build_id;
  const BinaryCounts& counts;
  const Execution& execution;
  const symbolizer::Symtab& symbols;
};

// Borrows the newest build's parts.
class OlderBuilds {
 public:
  OlderBuilds(const MeasuredBuild& newest, SampleProfile profile);

  // Not merged where one of the two goes by branch records and the other by samples: times a branch was taken and time spent are not one
  // measure.
  void add(const MeasuredBuild& older);
  // A profile of which nothing else is known.
  void add(std::string name, SampleProfile profile);
  void add_without_samples(std::string build_id) { builds_.push_back({.name = std::move(build_id)}); }

  const SampleProfile& profile() const { return merge_.profile(); }
  // In the order in which they were added, those that were not merged included.
  const std::vector<MergedBuild>& builds() const { return builds_; }

 private:
  const MeasuredBuild newest_;
  const ProgramShape shape_;
  ProfileMerge merge_;
  std::vector<MergedBuild> builds_;
};

}  // namespace plimsoll::fdo
