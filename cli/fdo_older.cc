#include "cli/fdo_older.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/file.h"
#include "query/fdo/making/older_builds.h"
#include "query/fdo/profile/llvm_text.h"

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

class NamedBuilds {
 public:
  NamedBuilds(const FdoAutofdoOptions& options, const FdoData& data, fdo::SampleProfile profile)
      : options_(options), data_(data), older_(measured(data), std::move(profile)) {}

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
    return FdoMerged{older_.profile(), older_.builds()};
  }

 private:
  static fdo::MeasuredBuild measured(const FdoData& data) {
    return {data.binary.build_id, data.counts, data.program.execution, *data.table()};
  }

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
      older_.add_without_samples(*build_id);
      return {};
    }
    older_.add(measured(*older));
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
    older_.add(path, std::move(*profile));
    return {};
  }

  const FdoAutofdoOptions& options_;
  const FdoData& data_;
  fdo::OlderBuilds older_;
  std::vector<std::string> seen_;  // build IDs
};

}  // namespace

Result<FdoMerged> merge_older(const FdoAutofdoOptions& options, const FdoData& data,
                              fdo::SampleProfile profile) {
  if (options.older.empty() && options.older_profiles.empty()) {
    return FdoMerged{std::move(profile)};
  }
  return NamedBuilds(options, data, std::move(profile)).run();
}

}  // namespace plimsoll::cli
