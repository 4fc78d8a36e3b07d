#include "query/fdo/layout/bolt_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace plimsoll::fdo {
namespace {

// BOLT's reader ends a name at a space.
std::string bolt_name(const FunctionExtent& extent) {
  std::string name;
  for (const char c : extent.name) {
    if (c == ' ' || c == '\\') {
      name += '\\';
    }
    name += c;
  }
  // Local symbols are numbered by BOLT (NameResolver::uniquify).
  return extent.is_local ? fmt::format("{}/{}", name, extent.number) : name;
}

class BoltWriter {
 public:
  explicit BoltWriter(const std::vector<FunctionExtent>& extents) : extents_(extents) {}

  BoltProfile write(const BinaryCounts& counts) {
    if (counts.branches.empty()) {
      // The names of several events would stand between colons.
      std::string event = counts.event.empty() ? "cycles" : counts.event;
      std::ranges::replace_if(event, [](char c) { return c == ':' || c == ' ' || c == '\n'; }, '-');
      profile_.text = fmt::format("no_lbr {}:\n", event);
      set_scale(counts.addresses);
      for (const AddressSamples& at : counts.addresses) {
        add_sample(at);
      }
    } else {
      set_scale(counts.branches);
      for (const AddressPair& branch : counts.branches) {
        add_branch(branch);
      }
    }
    return std::move(profile_);
  }

 private:
  template <typename Counts>
  void set_scale(const Counts& counts) {
    double value = 0;
    double samples = 0;
    for (const auto& at : counts) {
      value += at.value;
      samples += at.samples;
    }
    scale_ = value > 0 && samples > 0 ? samples / value : 1;
  }

  int64_t whole(double value) const { return std::llround(std::clamp(value * scale_, 1.0, 1e18)); }

  void add_sample(const AddressSamples& at) {
    const FunctionExtent* extent = extent_at(extents_, at.address);
    if (extent == nullptr || at.value <= 0) {
      profile_.value_elsewhere += at.value;
      return;
    }
    fmt::format_to(std::back_inserter(profile_.text), "1 {} {:x} {}\n", bolt_name(*extent),
                   at.address - extent->from, whole(at.value));
    profile_.value += at.value;
  }

  std::string place(const FunctionExtent* extent, uint64_t address) const {
    return extent == nullptr ? "0 [unknown] 0"
                             : fmt::format("1 {} {:x}", bolt_name(*extent), address - extent->from);
  }

  void add_branch(const AddressPair& branch) {
    const FunctionExtent* from = extent_at(extents_, branch.from);
    const FunctionExtent* to = extent_at(extents_, branch.to);
    if ((from == nullptr && to == nullptr) || branch.value <= 0) {
      profile_.value_elsewhere += branch.value;
      return;
    }
    fmt::format_to(std::back_inserter(profile_.text), "{} {} 0 {}\n", place(from, branch.from),
                   place(to, branch.to), whole(branch.value));
    profile_.value += branch.value;
  }

  const std::vector<FunctionExtent>& extents_;
  double scale_ = 1;
  BoltProfile profile_;
};

}  // namespace

BoltProfile write_bolt(const BinaryCounts& counts, const std::vector<FunctionExtent>& extents) {
  return BoltWriter(extents).write(counts);
}

}  // namespace plimsoll::fdo
