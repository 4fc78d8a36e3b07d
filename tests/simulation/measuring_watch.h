// Who measures at which instant, and that it is never too much.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace plimsoll::simulation {

// What must not all be measured at once, with how many of it a machine has: instances by job, itself by platform.
using Members = std::map<std::string, int>;

// Told of all that begins and ends, in any order of time.
class MeasuringWatch {
 public:
  // `share`: of all members of a kind, that may be measured at once; one machine always may.
  explicit MeasuringWatch(double share) : share_(share) {}

  void add_to_fleet(const Members& members);
  void measured(int64_t from_ns, int64_t to_ns, const Members& members);

  // "db: 7 of 20 at 5 s", for each kind of which too many were measured at once; looks at every instant.
  std::vector<std::string> violations() const;
  // The most of a kind that were measured at once.
  std::map<std::string, int> most_at_once() const;

 private:
  struct Change {
    int64_t at_ns = 0;
    int sign = 0;  // -1: an end, which comes before a beginning at the same instant
    const Members* members = nullptr;
  };
  template <typename Visit>
  void visit(Visit look) const;

  double share_;
  std::map<std::string, int> fleet_;
  std::vector<Change> changes_;
};

}  // namespace plimsoll::simulation
