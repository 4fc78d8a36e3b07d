// The case of SDiag's paper as a table of spans: a new version creates the disks of a machine one after another, on one generation of hardware.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::diagnosis {

struct VersionedDisksOptions {
  uint64_t seed = 1;
  int requests = 1500;
  int hosts = 30;  // of service disk, 2 or more; every third runs version 2.1, every second is of hw c7
  bool is_sequential = true;  // 2.1 on c7; false: both versions are alike
};

// CSV with the columns hw (c6, c7; the host of api is c6), size (small, large) and zone (a, b, c) beside those of a span.
// A request is api create_vm, which calls disk create_all, which calls disk create three times at once: 20 ms each, or
// 30 ms of large ones. Minutes from 2026-11-21T07:00:00Z on.
std::string versioned_disks_table(const VersionedDisksOptions& options = {});

}  // namespace plimsoll::diagnosis
