// What the machine database knew of the machines that spans name, at their times: attributes of spans that no application has to send.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/traces/request_times.h"
#include "store/live/past_fleet.h"
#include "traces/model/attribute_table.h"

namespace plimsoll::query {

// "machine.platform", "machine.kernel", "machine.datacenter".
inline constexpr std::string_view kMachinePlatform = "machine.platform";
inline constexpr std::string_view kMachineKernel = "machine.kernel";
inline constexpr std::string_view kMachineDatacenter = "machine.datacenter";

// Some 200 bytes a machine, and as many for each change of one.
class MachineAttributes {
 public:
  // The fleet at 48 times or fewer that are spread over `times`, or over its last 30 days. Empty where the directory has had no server, or no
  // machine has registered. Ends early with the error of check_stop().
  static Result<MachineAttributes> load(const std::string& data_dir, const RequestTimes& times,
                                        int64_t now_ns);

  // The fleet as it was at a time; times ascend. Of several machines with a host name the one that was heard of last counts, and where it is
  // the ID of a machine, that one.
  void add(const store::PastFleet& fleet);

  // What was known at that time of the machine with that host name or ID, or later, where nothing was yet: behind what is there. Borrowed
  // for as long as this object lives.
  void append_to(std::vector<traces::Attribute>& attributes, std::string_view machine, int64_t time_ns) const;

 private:
  struct Known {
    int64_t since_ns = 0;
    std::string platform;
    std::string kernel;
    std::string datacenter;
  };

  std::map<std::string, std::vector<Known>, std::less<>> machines_;
};

}  // namespace plimsoll::query
