#include "query/fdo/making/older_builds.h"

#include <algorithm>

#include "base/time.h"
#include "query/fdo/profile/profile_of.h"
#include "query/fdo/profile/samples_behind.h"

namespace plimsoll::fdo {
namespace {

double samples_of(const MeasuredBuild& build) {
  return samples_behind(build.execution.counts.from_branches, build.counts.samples,
                        branch_records_in(build.counts));
}

}  // namespace

OlderBuilds::OlderBuilds(const MeasuredBuild& newest, SampleProfile profile)
    : newest_(newest), shape_(newest.symbols), merge_(std::move(profile), samples_of(newest), shape_) {}

void OlderBuilds::add(const MeasuredBuild& older) {
  const int64_t age_ns = newest_.counts.mean_time_ns - older.counts.mean_time_ns;
  const double age_s = static_cast<double>(std::max<int64_t>(age_ns, 0)) / kNsPerSecond;
  const double samples = samples_of(older);
  if (samples <= 0) {
    add_without_samples(older.build_id);
    return;
  }
  if (older.execution.counts.from_branches != newest_.execution.counts.from_branches) {
    builds_.push_back({.name = older.build_id, .samples = samples, .age_s = age_s, .has_other_basis = true});
    return;
  }
  ProfileReport report;
  const ProgramShape shape(older.symbols);
  builds_.push_back(merge_.add({.name = older.build_id,
                                .profile = profile_of(older.execution.counts, older.symbols, report),
                                .samples = samples,
                                .age_s = age_s,
                                .shape = &shape}));
}

void OlderBuilds::add(std::string name, SampleProfile profile) {
  builds_.push_back(merge_.add({.name = std::move(name), .profile = std::move(profile)}));
}

}  // namespace plimsoll::fdo
