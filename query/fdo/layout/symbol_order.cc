#include "query/fdo/layout/symbol_order.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace plimsoll::fdo {
namespace {

// As Ottoni and Maher: clusters do not outgrow what one page of the instruction TLB maps, and a callee is appended only where its hotness by byte does
// not thin out the cluster too much.
constexpr uint64_t kMaxClusterBytes = uint64_t{1} << 20;
constexpr double kMaxThinning = 8;

struct Cluster {
  std::vector<size_t> functions;
  double heat = 0;
  uint64_t bytes = 0;

  double density() const { return heat / static_cast<double>(std::max<uint64_t>(bytes, 1)); }
};

class Clusters {
 public:
  explicit Clusters(const std::vector<FunctionExtent>& extents) : extents_(extents), heat_(extents.size()) {}

  void add_heat(uint64_t address, double heat) {
    if (const size_t function = function_at(address); function != kNone) {
      heat_[function] += heat;
    }
  }
  void add_call(const CallCount& call) {
    const size_t caller = function_at(call.caller);
    const size_t callee = function_at(call.callee);
    if (caller != kNone && callee != kNone && caller != callee && call.count > 0) {
      calls_[{callee, caller}] += call.count;
    }
  }

  // Functions in their order.
  std::vector<size_t> order() {
    make_single();
    for (const size_t callee : by_density()) {
      append_to_caller(callee);
    }
    std::vector<size_t> clusters;
    for (size_t i = 0; i < clusters_.size(); ++i) {
      if (!clusters_[i].functions.empty()) {
        clusters.push_back(i);
      }
    }
    std::ranges::sort(clusters, [&](size_t a, size_t b) { return is_denser(a, b); });
    std::vector<size_t> order;
    for (const size_t cluster : clusters) {
      order.insert(order.end(), clusters_[cluster].functions.begin(), clusters_[cluster].functions.end());
    }
    return order;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  size_t function_at(uint64_t address) const {
    const FunctionExtent* extent = extent_at(extents_, address);
    return extent == nullptr ? kNone : static_cast<size_t>(extent - extents_.data());
  }

  // Of clusters; of those alike the one that was first.
  bool is_denser(size_t a, size_t b) const {
    const double density_a = clusters_[a].density();
    const double density_b = clusters_[b].density();
    return density_a != density_b ? density_a > density_b : a < b;
  }

  void make_single() {
    std::set<size_t> functions;
    for (size_t i = 0; i < heat_.size(); ++i) {
      if (heat_[i] > 0) {
        functions.insert(i);
      }
    }
    for (const auto& [ends, count] : calls_) {
      functions.insert(ends.first);
      functions.insert(ends.second);
    }
    cluster_of_.assign(extents_.size(), kNone);
    for (const size_t function : functions) {
      cluster_of_[function] = clusters_.size();
      clusters_.push_back({{function}, heat_[function], extents_[function].to - extents_[function].from});
    }
  }

  std::vector<size_t> by_density() const {
    std::vector<size_t> functions;
    for (const Cluster& cluster : clusters_) {
      functions.push_back(cluster.functions.front());
    }
    std::ranges::sort(functions,
                      [&](size_t a, size_t b) { return is_denser(cluster_of_[a], cluster_of_[b]); });
    return functions;
  }

  void append_to_caller(size_t callee) {
    size_t best = kNone;
    double best_count = 0;
    for (auto call = calls_.lower_bound({callee, 0}); call != calls_.end() && call->first.first == callee;
         ++call) {
      if (call->second > best_count) {
        best = call->first.second;
        best_count = call->second;
      }
    }
    if (best == kNone || cluster_of_[best] == cluster_of_[callee]) {
      return;
    }
    Cluster& into = clusters_[cluster_of_[best]];
    Cluster& from = clusters_[cluster_of_[callee]];
    const double density =
        (into.heat + from.heat) / static_cast<double>(std::max<uint64_t>(into.bytes + from.bytes, 1));
    if (into.bytes + from.bytes > kMaxClusterBytes || into.density() > kMaxThinning * density) {
      return;
    }
    into.functions.insert(into.functions.end(), from.functions.begin(), from.functions.end());
    into.heat += from.heat;
    into.bytes += from.bytes;
    for (const size_t function : from.functions) {
      cluster_of_[function] = cluster_of_[best];
    }
    from = {};
  }

  const std::vector<FunctionExtent>& extents_;
  std::vector<double> heat_;
  std::map<std::pair<size_t, size_t>, double> calls_;  // by callee and caller
  std::vector<Cluster> clusters_;
  std::vector<size_t> cluster_of_;
};

}  // namespace

std::vector<CallCount> calls_of_branches(const BinaryCounts& counts,
                                         const std::vector<FunctionExtent>& extents) {
  std::vector<CallCount> calls;
  for (const AddressPair& branch : counts.branches) {
    const FunctionExtent* to = extent_at(extents, branch.to);
    if (to != nullptr && to->from == branch.to && extent_at(extents, branch.from) != to) {
      calls.push_back({branch.from, branch.to, branch.value});
    }
  }
  return calls;
}

std::string write_symbol_order(const BinaryCounts& counts, const std::vector<FunctionExtent>& extents,
                               std::span<const CallCount> calls, Linker linker) {
  Clusters clusters(extents);
  if (counts.addresses.empty()) {
    for (const AddressPair& range : counts.ranges) {
      clusters.add_heat(range.from,
                        range.value * static_cast<double>(range.to - std::min(range.from, range.to) + 1));
    }
  }
  for (const AddressSamples& at : counts.addresses) {
    clusters.add_heat(at.address, at.value);
  }
  for (const CallCount& call : calls) {
    clusters.add_call(call);
  }
  std::string text;
  std::set<std::string_view> written;
  for (const size_t function : clusters.order()) {
    const std::string& name = extents[function].name;
    if (!written.insert(name).second) {
      continue;
    }
    if (linker == Linker::kGold) {
      const std::string_view hot = hot_name_of(name);
      text += hot.empty() ? ".text." : ".text.unlikely.";
      text += hot.empty() ? std::string_view(name) : hot;
    } else {
      text += name;
    }
    text += '\n';
  }
  return text;
}

}  // namespace plimsoll::fdo
