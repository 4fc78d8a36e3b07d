#include "cli/fdo_older.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/time.h"
#include "query/fdo/profile/llvm_text.h"
#include "query/fdo/profile/profile_of.h"

namespace plimsoll::cli {
namespace {

// By build ID.
Result<std::map<std::string, std::string>> debug_files_of(const FdoAutofdoOptions& options) {
  std::map<std::string, std::string> files;
  for (const std::string& path : options.older_debug) {
    const auto build_id = build_id_of(path);
    if (!build_id) {
      return propagate(build_id);
    }
    files.emplace(*build_id, path);
  }
  return files;
}

class OlderBuilds {
 public:
  OlderBuilds(const FdoAutofdoOptions& options, const FdoData& data, fdo::SampleProfile profile)
      : options_(options),
        data_(data),
        shape_(*data.table()),
        merge_(std::move(profile), data.counts.samples, shape_) {}

  Result<FdoMerged> run() {
    const auto debug_files = debug_files_of(options_);
    if (!debug_files) {
      return propagate(debug_files);
    }
    seen_.push_back(data_.binary.build_id);
    for (const std::string& path : options_.older) {
      if (auto added = add_build(path, *debug_files); !added) {
        return propagate(added, "for --older {}", path);
      }
    }
    for (const std::string& path : options_.older_profiles) {
      if (auto added = add_profile(path); !added) {
        return propagate(added, "for --older-profile {}", path);
      }
    }
    return FdoMerged{merge_.profile(), std::move(builds_)};
  }

 private:
  Status add_build(const std::string& path, const std::map<std::string, std::string>& debug_files) {
    const auto build_id = build_id_of(path);
    if (!build_id) {
      return propagate(build_id);
    }
    if (std::ranges::find(seen_, *build_id) != seen_.end()) {
      return with_hint(fail(ErrorCode::kInvalid, "its build ID {} is given twice", *build_id),
                       "name each other build of the program once; --binary has the newest");
    }
    seen_.push_back(*build_id);
    FdoInput input = options_.profile.input;
    input.binary = path;
    input.build_id.clear();
    const auto debug = debug_files.find(*build_id);
    input.debug = debug == debug_files.end() ? std::string() : debug->second;
    const auto older = read_fdo_data(input, {});
    if (!older) {
      if (older.error().code != ErrorCode::kNotFound) {
        return propagate(older);
      }
      builds_.push_back({.name = *build_id});
      return {};
    }
    fdo::ProfileReport report;
    const fdo::ProgramShape shape(*older->table());
    const int64_t age_ns = data_.counts.mean_time_ns - older->counts.mean_time_ns;
    builds_.push_back(
        merge_.add({.name = *build_id,
                    .profile = fdo::profile_of(older->program.execution.counts, *older->table(), report),
                    .samples = older->counts.samples,
                    .age_s = static_cast<double>(std::max<int64_t>(age_ns, 0)) / kNsPerSecond,
                    .shape = &shape}));
    return {};
  }

  Status add_profile(const std::string& path) {
    const auto text = read_file(path, fdo::TextLimits().max_bytes);
    if (!text) {
      return propagate(text);
    }
    auto profile = fdo::read_llvm_text(*text);
    if (!profile) {
      return with_hint(propagate(profile),
                       "give LLVM's text: llvm-profdata merge --sample --text makes it of a binary profile");
    }
    builds_.push_back(merge_.add({.name = path, .profile = std::move(*profile)}));
    return {};
  }

  const FdoAutofdoOptions& options_;
  const FdoData& data_;
  const fdo::ProgramShape shape_;
  fdo::ProfileMerge merge_;
  std::vector<std::string> seen_;  // build IDs
  std::vector<fdo::MergedBuild> builds_;
};

}  // namespace

Result<FdoMerged> merge_older(const FdoAutofdoOptions& options, const FdoData& data,
                              fdo::SampleProfile profile) {
  if (options.older.empty() && options.older_profiles.empty()) {
    return FdoMerged{std::move(profile)};
  }
  return OlderBuilds(options, data, std::move(profile)).run();
}

}  // namespace plimsoll::cli
