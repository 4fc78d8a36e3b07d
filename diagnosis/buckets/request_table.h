// From call trees to requests by column: which versions ran them, on which hosts, and which attributes sort them into buckets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "diagnosis/buckets/compared_requests.h"
#include "traces/assembly/assembly.h"

namespace plimsoll::diagnosis {

inline constexpr uint32_t kNoAttribute = UINT32_MAX;
inline constexpr size_t kMaxSearchedAttributes = 12;

// Attributes are named as OpenTelemetry does ("host.type"). A request has the value of the span that ran the version, else of the first of its
// spans that has the attribute, from the root on; "SERVICE:ATTRIBUTE" is that of the service's spans. Besides those in the traces there are
// replica, machine and version, and service and operation, which are the root's. Values beyond the first 65,534 are "other".
struct RequestTableOptions {
  // Empty: of host.type, host.cpu.model.name, host.arch and machine.platform the first that half of the requests have, else the one that most
  // have.
  std::string hardware = {};
  std::string workload = {};  // empty: service and operation of the root
  std::string version = {};   // empty: the versions of those services that ran several
  std::vector<std::string> attributes =
      {};                 // searched; empty: the first kMaxSearchedAttributes with 2 to 32 values
  std::string base = {};  // a version; empty: all but `current`, and where that is empty all that are older
  // A version; empty: the newest with 20 requests, newer than `base` unless that is the newest itself. The newest came last;
  // of those that were there from the start it is the highest.
  std::string current = {};
  int64_t since_ns = 0;
  int64_t until_ns = INT64_MAX;
};

struct VersionGroup {
  std::string name;
  size_t requests = 0;
  int64_t first_ns = 0;
  bool is_base = false;
  bool is_current = false;
};

struct RequestTable {
  ComparedRequests requests;
  std::vector<uint32_t> trace;         // by request: index into the assembly's traces
  std::vector<VersionGroup> versions;  // by their first request; combinations of several services as one
  std::string versions_of;             // "disk", "disk, network"; or the attribute
  uint32_t hardware = kNoAttribute;    // indices into requests.attributes
  uint32_t workload = kNoAttribute;
  // False: machines and replicas are unknown for half of the requests of a side or more, and blocks of time stand for hosts. Else requests
  // without them are left out.
  bool has_hosts = true;
  std::vector<std::string> notes;

  std::string current_version() const;
  std::string base_version() const;  // names of several with commas
};

// The SpanSet keeps attributes. kNotFound where only one version ran, or an attribute or version is not there: with what is. About 0.3 us a
// span. Ends early with the error of check_stop().
Result<RequestTable> request_table(const traces::SpanSet& spans, const traces::Assembly& assembly,
                                   const RequestTableOptions& options = {});

}  // namespace plimsoll::diagnosis
