// Who measures at which instant, and that it is never too much.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace plimsoll::simulation {

// What must not all be measured at once, with how many of it a machine has and the share of it that may: instances by job, itself by
// platform.
struct Membership {
  int count = 0;
  double share = 1;
};
using Members = std::map<std::string, Membership>;

// Told of all that begins and ends, in any order of time.
class MeasuringWatch {
 public:
  void add_to_fleet(const Members& members);
  void measured(int64_t from_ns, int64_t to_ns, const Members& members);

  // "db: 7 of 20 at 5 s", for each kind of which more than its share were measured at once by more than one machine; looks at every
  // instant.
  std::vector<std::string> violations() const;
  size_t measurements() const { return changes_.size() / 2; }

 private:
  struct Change {
    int64_t at_ns = 0;
    int sign = 0;  // -1: an end, which comes before a beginning at the same instant
    const Members* members = nullptr;
  };

  std::map<std::string, int> fleet_;
  std::vector<Change> changes_;
};

}  // namespace plimsoll::simulation
