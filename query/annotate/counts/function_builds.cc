#include "query/annotate/counts/function_builds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "base/hex.h"
#include "elf/build_id.h"
#include "query/fdo/counts/count_binary.h"
#include "query/selection/empty_selection.h"
#include "query/selection/predicate.h"
#include "query/snapshot/dimension.h"

namespace plimsoll::annotate {
namespace {

using query::Snapshot;
using store::Column;

constexpr size_t kShownBuilds = 8;

// By location: whether one of its frames is of the function.
std::vector<bool> locations_of(std::string_view function, const Snapshot& snapshot) {
  const store::Bindings& bindings = snapshot.bindings;
  std::vector<bool> is_named(bindings.functions.size());
  for (size_t id = 0; id < is_named.size(); ++id) {
    is_named[id] = bindings.functions[id] == function ||
                   (id < bindings.linkage_names.size() && bindings.linkage_names[id] == function);
  }
  std::vector<bool> is_in(snapshot.dictionaries.locations.size());
  for (uint32_t location = 1; location < is_in.size(); ++location) {
    is_in[location] = std::ranges::any_of(bindings.of(location), [&](const auto& frame) {
      return frame.function < is_named.size() && is_named[frame.function];
    });
  }
  return is_in;
}

std::string text_of(std::span<const FunctionBuild> builds) {
  double sum = 0;
  for (const FunctionBuild& build : builds) {
    sum += build.value;
  }
  std::vector<std::string> texts;
  for (const FunctionBuild& build : builds.first(std::min(builds.size(), kShownBuilds))) {
    texts.push_back(fmt::format("{} (build ID {}, {:.1f} %)", build.path, build.build_id,
                                sum > 0 ? 100 * build.value / sum : 0));
  }
  const size_t more = builds.size() - texts.size();
  return fmt::format("{}{}", fmt::join(texts, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

bool is_meant(const FunctionBuild& build, std::string_view binary) {
  return binary.empty() || build.build_id.starts_with(fdo::lower_hex(std::string(binary))) ||
         std::ranges::any_of(build.paths, [binary](std::string_view path) {
           return path == binary || path.substr(path.rfind('/') + 1) == binary;
         });
}

std::unexpected<Error> no_such_function(std::string_view function, const query::Selection& selection,
                                        const Snapshot& snapshot) {
  const auto why = query::why_no_match(query::Predicate::equal_to("function", function), snapshot);
  return with_hint(with_field(fail(ErrorCode::kNotFound,
                                   "no binary with a build ID has samples in a function called {}", function),
                              "function"),
                   why ? fmt::format("\"plimsoll top\" lists functions; {}", *why)
                       : query::why_empty(selection, snapshot));
}

}  // namespace

Result<std::vector<FunctionBuild>> builds_with_function(std::string_view function,
                                                        const query::ResolvedSelection& selection,
                                                        const Snapshot& snapshot) {
  const store::Dictionaries& dictionaries = snapshot.dictionaries;
  const std::vector<bool> is_in = locations_of(function, snapshot);
  store::AggregateRequest request = selection.request;
  std::vector<uint32_t> group(dictionaries.stacks.size());
  for (uint32_t stack = 0; stack < group.size(); ++stack) {
    const uint32_t location = dictionaries.stacks[stack].location;
    const auto binary = is_in[location] ? query::binary_id_of(snapshot, location) : std::nullopt;
    const bool has_build_id = binary && dictionaries.binaries[*binary].identity_kind == wire::GNU_BUILD_ID &&
                              !dictionaries.binaries[*binary].identity.empty();
    group[stack] = has_build_id ? *binary : 0;
  }
  request.group[Column::kStack] = store::IdGrouping::by(std::move(group));
  const auto cells = snapshot.rows->aggregate(request);
  if (!cells) {
    return propagate(cells);
  }
  std::map<std::string, FunctionBuild> by_id;
  for (size_t c = 0; c < cells->size(); ++c) {
    const uint32_t binary = cells->keys[c][Column::kStack];
    if (binary == 0) {
      continue;
    }
    std::string id = to_hex(dictionaries.binaries[binary].identity);
    FunctionBuild& build = by_id[id];
    build.build_id = std::move(id);
    build.paths.insert(dictionaries.binaries[binary].path);
    build.value += cells->sum(c, query::kValue);
  }
  // perf's beginning of an ID that is known whole is the same build.
  for (auto build = by_id.begin(); build != by_id.end();) {
    const auto longer = std::next(build);
    const bool is_cut = build->first.size() == 2 * elf::kCutBuildIdBytes && longer != by_id.end() &&
                        longer->first.starts_with(build->first);
    if (is_cut) {
      longer->second.value += build->second.value;
      longer->second.paths.merge(build->second.paths);
    }
    build = is_cut ? by_id.erase(build) : longer;
  }
  std::vector<FunctionBuild> builds;
  for (auto& [id, build] : by_id) {
    build.path = *build.paths.begin();
    builds.push_back(std::move(build));
  }
  std::ranges::sort(builds, [](const FunctionBuild& a, const FunctionBuild& b) {
    return std::tie(b.value, a.build_id) < std::tie(a.value, b.build_id);
  });
  return builds;
}

Result<FunctionBuild> choose_build(std::string_view function, std::string_view binary,
                                   const query::Selection& selection, const Snapshot& snapshot) {
  const auto resolved = query::resolve(selection, snapshot);
  if (!resolved) {
    return propagate(resolved);
  }
  auto builds = builds_with_function(function, *resolved, snapshot);
  if (!builds) {
    return propagate(builds);
  }
  if (builds->empty()) {
    return no_such_function(function, selection, snapshot);
  }
  std::vector<FunctionBuild> meant;
  std::ranges::copy_if(*builds, std::back_inserter(meant),
                       [binary](const FunctionBuild& build) { return is_meant(build, binary); });
  if (meant.empty()) {
    return with_hint(
        with_field(fail(ErrorCode::kNotFound, "{} has no samples in {}", function, binary), "binary"),
        fmt::format("it has samples in {}", text_of(*builds)));
  }
  if (meant.size() > 1) {
    return with_hint(with_field(fail(ErrorCode::kInvalid, "{} binaries have samples in a function called {}",
                                     meant.size(), function),
                                "binary"),
                     fmt::format("give the build ID of one of them: {}", text_of(meant)));
  }
  return std::move(meant.front());
}

}  // namespace plimsoll::annotate
