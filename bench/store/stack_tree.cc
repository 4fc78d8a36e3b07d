#include "bench/store/stack_tree.h"

#include <algorithm>
#include <random>

namespace plimsoll::bench {
namespace {

constexpr uint32_t kLocationsOfJob = 1000;
constexpr uint32_t kSharedLocations = 20'000;  // of libraries, from 1; those of jobs follow
constexpr double kSharedShare = 0.25;
constexpr uint32_t kMinDepth = 10;
constexpr uint32_t kMaxDepth = 30;
constexpr uint32_t kMaxUnshared = 5;  // of the other stack's locations that both are deep enough for, from 0
constexpr double kInlinedShare = 1.0 / 3;  // of frames

class Generator {
 public:
  StackTree generate(uint32_t jobs, uint32_t stacks_of_job) {
    add_locations(kSharedLocations + jobs * kLocationsOfJob);
    for (uint32_t job = 0; job < jobs; ++job) {
      add_job(job, stacks_of_job);
    }
    tree_.first_stack = static_cast<uint32_t>(tree_.nodes.size());
    tree_.nodes.insert(tree_.nodes.end(), leaves_.begin(), leaves_.end());
    return std::move(tree_);
  }

 private:
  uint32_t draw(uint32_t count) { return std::uniform_int_distribution<uint32_t>(0, count - 1)(random_); }
  double draw_share() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  void add_locations(uint32_t count) {
    tree_.functions.push_back(0);  // location 0, of no stack, has a frame too
    tree_.first_frame.push_back(1);
    for (uint32_t location = 1; location <= count; ++location) {
      do {
        const double share = draw_share();
        tree_.functions.push_back(static_cast<uint32_t>(share * share * kFunctions));
      } while (draw_share() < kInlinedShare);
      tree_.first_frame.push_back(static_cast<uint32_t>(tree_.functions.size()));
    }
  }

  uint32_t draw_location(uint32_t job) {
    return draw_share() < kSharedShare ? 1 + draw(kSharedLocations)
                                       : 1 + kSharedLocations + job * kLocationsOfJob + draw(kLocationsOfJob);
  }

  uint32_t add_node(uint32_t job, uint32_t parent) {
    tree_.nodes.push_back({parent, draw_location(job)});
    return static_cast<uint32_t>(tree_.nodes.size() - 1);
  }

  void add_job(uint32_t job, uint32_t stacks) {
    std::vector<std::vector<uint32_t>> paths{{add_node(job, 0)}};
    for (uint32_t stack = 0; stack < stacks; ++stack) {
      std::vector<uint32_t> path = paths[draw(static_cast<uint32_t>(paths.size()))];
      const uint32_t depth = kMinDepth + draw(kMaxDepth - kMinDepth + 1);
      const auto shared = std::min(static_cast<uint32_t>(path.size()), depth - 1);
      path.resize(shared - draw(std::min(kMaxUnshared, shared)));
      while (path.size() + 1 < depth) {
        path.push_back(add_node(job, path.back()));
      }
      leaves_.push_back({path.back(), draw_location(job)});
      paths.push_back(std::move(path));
    }
  }

  std::mt19937_64 random_{7};
  StackTree tree_;
  std::vector<store::StackNode> leaves_;
};

}  // namespace

std::vector<uint32_t> StackTree::distinct_functions(uint32_t stack) const {
  std::vector<uint32_t> distinct;
  for (uint32_t node = stack; node != 0; node = nodes[node].parent) {
    const auto functions_here = functions_of(nodes[node].location);
    distinct.insert(distinct.end(), functions_here.begin(), functions_here.end());
  }
  std::ranges::sort(distinct);
  const auto rest = std::ranges::unique(distinct);
  distinct.erase(rest.begin(), rest.end());
  return distinct;
}

StackTree generate_stacks(uint32_t jobs, uint32_t stacks_of_job) {
  return Generator().generate(jobs, stacks_of_job);
}

}  // namespace plimsoll::bench
