#include <algorithm>

#include "diagnosis/buckets/bucket_comparison.h"
#include "statistics/robust.h"

namespace plimsoll::diagnosis {
namespace {

// Parents before children, the larger part of the critical path first.
std::vector<CallStatistics> in_order(const CallForest& forest, std::vector<CallStatistics> by_path) {
  std::vector<std::vector<uint32_t>> children(forest.paths.size());
  std::vector<uint32_t> stack;
  for (uint32_t path = 0; path < by_path.size(); ++path) {
    const uint32_t parent = forest.paths[path].parent;
    (parent == kNoCall ? stack : children[parent]).push_back(path);
  }
  const auto smaller_first = [&](std::vector<uint32_t>& paths) {
    std::ranges::sort(
        paths, {}, [&](uint32_t path) { return std::pair(by_path[path].on_path_ms, by_path.size() - path); });
  };
  smaller_first(stack);
  std::vector<CallStatistics> ordered;
  while (!stack.empty()) {
    const uint32_t path = stack.back();
    stack.pop_back();
    if (by_path[path].requests == 0) {
      continue;  // nor do calls below it occur in this bucket
    }
    ordered.push_back(by_path[path]);
    smaller_first(children[path]);
    stack.insert(stack.end(), children[path].begin(), children[path].end());
  }
  return ordered;
}

}  // namespace

BucketForest bucket_forest(const CallForest& forest, std::span<const uint32_t> members) {
  std::vector<CallStatistics> by_path(forest.paths.size());
  std::vector<std::vector<double>> times(forest.paths.size());
  BucketForest made{.calls = {}, .requests = members.size()};
  const auto requests = static_cast<double>(std::max<size_t>(members.size(), 1));
  for (const uint32_t member : members) {
    for (const CallTimes& of : forest.of(member)) {
      CallStatistics& path = by_path[of.path];
      path.self_ms += static_cast<double>(of.self_ms) / requests;
      path.on_path_ms += static_cast<double>(of.on_path_ms) / requests;
      if (of.calls > 0) {
        ++path.requests;
        path.calls += of.calls;
        times[of.path].push_back(static_cast<double>(of.total_ms) / of.calls);
      }
    }
  }
  for (uint32_t i = 0; i < by_path.size(); ++i) {
    CallStatistics& path = by_path[i];
    path.path = i;
    made.mean_ms += path.on_path_ms;
    made.self_sum_ms += path.self_ms;
    if (path.requests == 0) {
      continue;
    }
    std::vector<double>& of = times[i];
    std::ranges::sort(of);
    for (const double ms : of) {
      path.mean_ms += ms / static_cast<double>(of.size());
    }
    path.calls /= static_cast<double>(path.requests);
    path.p50_ms = statistics::quantile_of_sorted(of, kComparedShares[0]);
    path.p95_ms = statistics::quantile_of_sorted(of, kComparedShares[1]);
    path.p99_ms = statistics::quantile_of_sorted(of, kComparedShares[2]);
  }
  made.calls = in_order(forest, std::move(by_path));
  return made;
}

}  // namespace plimsoll::diagnosis
