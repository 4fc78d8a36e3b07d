// The answer: which service, method and replica stands out in a window of requests, how, and how sure that is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "diagnosis/localization/call_structures.h"
#include "diagnosis/localization/sides.h"
#include "diagnosis/observations/observations.h"
#include "traces/assembly/assembly.h"

namespace plimsoll::diagnosis {

// From here on a finding is claimed.
inline constexpr double kMinConfidence = 0.5;

struct Finding {
  enum class Kind : uint8_t {
    kSlowItself,   // its own code takes longer
    kSlowNetwork,  // calls to it wait longer than it works: network, queue, connections, CPU it does not get
    kSlowCaller,   // its calls wait longer, whichever service they are to
    kOtherPath,    // it makes other calls than before: an error, an early return
  };

  // IDs of traces::Names.
  uint32_t service = 0;
  uint32_t operation = 0;
  uint32_t replica = 0;  // 0: unknown, or no replica more than the others
  uint32_t machine = 0;  // of the replica; 0: unknown
  Kind kind = Kind::kSlowItself;
  double score = 0;       // how much of what changed it explains, 0 to 1
  double confidence = 0;  // that something changed at all, and that it is this, 0 to 1
  std::string evidence;   // in numbers, for people

  bool is_claimed() const { return confidence >= kMinConfidence; }
};
// "slow itself" and so on.
const char* name_of(Finding::Kind kind);

struct Diagnosis {
  std::vector<Finding> findings;  // the highest score first; claimed ones are not left out for others
  size_t window = 0;              // requests
  size_t reference = 0;
  double excess_ms = 0;  // of all features together, window against reference
  // Of parts of the reference against its rest: three in four have less; all, where the window has under kMinBlock requests.
  double usual_excess_ms = 0;
  size_t slow_pairs = 0;  // of feature and replica, among the replicas of a service
  std::vector<std::string> notes;

  bool stands_out() const { return std::ranges::any_of(findings, &Finding::is_claimed); }
};

struct DiagnosisOptions {
  size_t max_findings = 10;
  size_t max_blocks = 12;  // of the reference, to judge how much it differs by itself
  uint32_t service = 0;    // findings of this service only; 0: all
};

// What all diagnoses of the same traces have in common. Borrows the spans; the assembly must live as long, too.
struct Requests {
  // About 0.5 us a span, and 24 bytes.
  Requests(const traces::SpanSet& of_spans, const traces::Assembly& assembly)
      : spans(of_spans), observations(observe(of_spans, assembly)), structures(of_spans, assembly) {}

  const traces::SpanSet& spans;
  Observations observations;
  CallStructures structures;
};

// Replicas are compared with the other replicas of their service within the window. Services are compared with the reference, where there
// is one: times by gap_coverage(), calls by CallStructures. What of a service's excess goes when the requests on its slow replicas are left
// out is said of the replicas, and no longer of the service. About 1 us a span, and a pass over all for each
// service with slow replicas. Ends early once check_stop() fails: what it has found then is of no use.
Diagnosis diagnose(const Requests& requests, const Sides& sides, const DiagnosisOptions& options = {});

}  // namespace plimsoll::diagnosis
