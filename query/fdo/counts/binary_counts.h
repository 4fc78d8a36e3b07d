// What the fleet measured in the code of one binary, by ELF address, before anything is made of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "query/table/table.h"

namespace plimsoll::fdo {

// Samples whose innermost frame is at an address.
struct AddressSamples {
  uint64_t address = 0;
  double value = 0;          // weighted, in the event's unit
  double samples = 0;        // behind it
  double value_of_half = 0;  // what one half of the machines, chosen at random, has of `value`
};

// Taken branches, or ranges that ran from their first to their last address without one.
struct AddressPair {
  uint64_t from = 0;
  uint64_t to = 0;
  double value = 0;  // weighted count
  double samples = 0;
  double value_of_half = 0;
};

struct BinaryCounts {
  std::string build_id = {};  // hexadecimal
  std::string event = {};     // of `addresses`
  std::string unit = {};
  std::vector<AddressSamples> addresses = {};  // ascending, each once
  std::vector<AddressPair> branches = {};      // ascending; where both ends are in the binary
  std::vector<AddressPair> ranges = {};        // ascending; between branches that followed one another
  // Of machines that could not read the binary's program headers: file offsets instead of addresses (to_addresses()).
  std::vector<AddressSamples> offsets = {};
  std::vector<AddressPair> offset_branches = {};
  std::vector<AddressPair> offset_ranges = {};
  // Where asked for: calls on the stacks of `addresses`, from the caller's address to the sampled one.
  std::vector<AddressPair> calls = {};
  std::string path = {};  // of the binary on a machine that ran it
  double value = 0;       // of all samples whose innermost frame is in the binary
  double samples = 0;     // behind it
  double value_of_half = 0;
  double value_elsewhere = 0;  // of samples of the same processes in other binaries and the kernel
  int64_t machines = 0;        // that have samples in the binary
  int64_t draws = 0;           // that the profiles are of; 0: machines were profiled all the time
  int64_t mean_time_ns = 0;    // wall clock, of the samples in the binary, to the hour; 0: unknown
  query::Coverage coverage = {};
  std::vector<std::string> notes = {};
};

}  // namespace plimsoll::fdo
