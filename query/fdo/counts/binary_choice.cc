#include "query/fdo/counts/binary_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/hex.h"
#include "elf/build_id.h"
#include "query/fdo/counts/count_binary.h"
#include "query/snapshot/dimension.h"

namespace plimsoll::fdo {
namespace {

using query::Snapshot;

// More would not help to find the right one.
constexpr size_t kShownBinaries = 5;

bool has_build_id(const store::BinaryEntry& binary) {
  return binary.identity_kind == wire::GNU_BUILD_ID && !binary.identity.empty();
}

// perf cuts long IDs: what it left names the same build.
bool matches(const store::BinaryEntry& binary, std::string_view wanted) {
  const std::string known = to_hex(binary.identity);
  return known.starts_with(wanted) ||
         (binary.identity.size() == elf::kCutBuildIdBytes && wanted.starts_with(known));
}

}  // namespace

std::string lower_hex(std::string build_id) {
  std::ranges::transform(build_id, build_id.begin(),
                         [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
  return build_id;
}

std::string most_sampled_binaries(const query::ResolvedSelection& selection, const Snapshot& snapshot) {
  const store::Dictionaries& dictionaries = snapshot.dictionaries;
  store::AggregateRequest request = selection.request;
  std::vector<uint32_t> group(dictionaries.stacks.size());
  for (uint32_t stack = 0; stack < group.size(); ++stack) {
    const auto binary = query::binary_id_of(snapshot, dictionaries.stacks[stack].location);
    group[stack] = binary && has_build_id(dictionaries.binaries[*binary]) ? *binary : 0;
  }
  request.group[store::Column::kStack] = store::IdGrouping::by(std::move(group));
  const auto cells = snapshot.rows->aggregate(request);
  if (!cells) {
    return "which binaries have samples is unknown: " + cells.error().text();
  }
  std::map<std::string, std::pair<double, std::string>> by_build;
  double sum = 0;
  for (size_t c = 0; c < cells->size(); ++c) {
    const uint32_t binary = cells->keys[c][store::Column::kStack];
    const double value = cells->sum(c, query::kValue);
    sum += value;
    if (binary != 0) {
      auto& [of_build, name] = by_build[to_hex(dictionaries.binaries[binary].identity)];
      of_build += value;
      name = query::file_name_of(dictionaries.binaries[binary]);
    }
  }
  if (by_build.empty()) {
    return "no binary with a build ID has samples in the selection";
  }
  std::vector<std::pair<double, std::string>> shown;
  for (const auto& [build_id, of_build] : by_build) {
    shown.emplace_back(-of_build.first, fmt::format("{} (build ID {}, {:.1f} %)", of_build.second, build_id,
                                                    sum > 0 ? 100 * of_build.first / sum : 0));
  }
  std::ranges::sort(shown);
  shown.resize(std::min(shown.size(), kShownBinaries));
  std::vector<std::string> texts;
  for (auto& [order, text] : shown) {
    texts.push_back(std::move(text));
  }
  return fmt::format("the most sampled binaries are {}", fmt::join(texts, ", "));
}

Result<ChosenBinary> choose_binary(const std::string& build_id, const query::ResolvedSelection& selection,
                                   const Snapshot& snapshot) {
  const std::string wanted = lower_hex(build_id);
  if (wanted.empty() || wanted.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return with_field(
        with_hint(fail(ErrorCode::kInvalid, "\"{}\" is not a build ID in hexadecimal digits", build_id),
                  most_sampled_binaries(selection, snapshot)),
        "build_id");
  }
  ChosenBinary chosen;
  chosen.is_entry.resize(snapshot.dictionaries.binaries.size());
  std::set<std::string> builds;
  for (uint32_t id = 1; id < chosen.is_entry.size(); ++id) {
    const store::BinaryEntry& binary = snapshot.dictionaries.binaries[id];
    if (!has_build_id(binary) || !matches(binary, wanted)) {
      continue;
    }
    chosen.is_entry[id] = true;
    chosen.path = chosen.path.empty() ? binary.path : chosen.path;
    builds.insert(to_hex(binary.identity));
  }
  // perf's beginning of an ID that is known whole is the same build: not another one to choose.
  std::erase_if(builds, [&](const std::string& build) {
    const auto longer = builds.upper_bound(build);
    return build.size() == 2 * elf::kCutBuildIdBytes && longer != builds.end() && longer->starts_with(build);
  });
  if (builds.empty()) {
    return with_hint(
        fail(ErrorCode::kNotFound, "no profile has samples of a binary with build ID {}", wanted),
        most_sampled_binaries(selection, snapshot));
  }
  if (builds.size() > 1) {
    return with_field(with_hint(fail(ErrorCode::kInvalid, "{} build IDs begin with {}: {}", builds.size(),
                                     wanted, fmt::join(builds, ", ")),
                                "give more digits"),
                      "build_id");
  }
  chosen.build_id = *builds.begin();
  return chosen;
}

}  // namespace plimsoll::fdo
