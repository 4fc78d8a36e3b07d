// Requests of two groups of versions, by column, and the attributes that sort them into buckets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::diagnosis {

struct BucketAttribute {
  std::string name;
  std::vector<std::string> values;  // "" first: requests without the attribute
  std::vector<uint16_t> value_of;   // by request: index into `values`
  bool is_searched = true;          // false: only compared within (a workload of many operations)
};

// A condition on requests.
struct BucketTerm {
  uint32_t attribute = 0;  // index into ComparedRequests::attributes
  uint16_t value = 0;
  auto operator<=>(const BucketTerm&) const = default;
};

// Which sides a host ran.
inline constexpr uint8_t kRanBase = 1;
inline constexpr uint8_t kRanNew = 2;
inline constexpr uint8_t kRanBoth = 3;

// All vectors have a place for each request.
struct ComparedRequests {
  std::vector<float> ms;
  std::vector<int64_t> start_ns;
  // What ran the version: a machine, else a replica. Versions are rolled out by host, and requests of one host are alike: hosts are what is
  // independent. Numbers from 0 to hosts - 1.
  std::vector<uint32_t> host;
  std::vector<uint8_t> is_new;  // 1: of the version in question; 0: of those it is compared with
  std::vector<BucketAttribute> attributes;
  size_t hosts = 0;

  size_t size() const { return ms.size(); }
  // Adds the side of a request to those of its host.
  void add_side(size_t request, uint8_t& sides) const {
    sides = static_cast<uint8_t>(sides | (is_new[request] != 0 ? kRanNew : kRanBase));
  }
  bool is_in(size_t request, const std::vector<BucketTerm>& terms) const {
    for (const BucketTerm& term : terms) {
      if (attributes[term.attribute].value_of[request] != term.value) {
        return false;
      }
    }
    return true;
  }
};

// Those that are not in the bucket; hosts keep their numbers.
ComparedRequests without(const ComparedRequests& requests, const std::vector<BucketTerm>& terms);

// "disk.type=ssd and host.type=c7"; "all requests".
std::string describe(const std::vector<BucketTerm>& terms, const ComparedRequests& requests);

}  // namespace plimsoll::diagnosis
