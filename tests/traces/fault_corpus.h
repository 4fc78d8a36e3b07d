// The days of corpus/traces with their faults: for its test, and for diagnosis_bench.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "diagnosis/localization/diagnosis.h"
#include "traces/assembly/assembly.h"
#include "traces/model/span_set.h"

namespace plimsoll::diagnosis {

inline constexpr std::array kFaultFolders{"online-boutique-2022-08-22", "train-ticket-2023-01-29",
                                          "train-ticket-2023-01-30"};

struct KnownFault {
  std::string service;
  std::string kind;   // "network_delay"
  std::string shows;  // in spans: "latency", "structure", "nothing"
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// One folder, read and assembled.
class FaultDay {
 public:
  // `clock_ms`: each replica's clock is off by a constant of up to so much, in either direction.
  static Result<FaultDay> read(const std::string& corpus, const std::string& folder, double clock_ms = 0);

  const std::vector<KnownFault>& faults() const { return faults_; }
  const traces::SpanSet& spans() const { return *spans_; }
  const traces::Assembly& assembly() const { return *assembly_; }
  std::string service_name(uint32_t service) const {
    return std::string(spans_->names().services.name(service));
  }

  // The window is what began from 5 s to 180 s after the injection; the reference all requests of the day that began neither in a fault nor
  // within 5 s before and 20 s after one.
  Sides sides_of(const KnownFault& fault) const;
  Diagnosis diagnose_fault(const KnownFault& fault) const;
  // Minutes with 20 requests and more, 75 s before any fault and a minute after it, against the rest of the reference. One begins every 20
  // s, so that a slow moment is in up to three of them.
  std::vector<Diagnosis> diagnose_quiet_windows() const;
  // Of a service among those found, from 1; far behind where it is not among them.
  size_t place_of(const std::string& service, const Diagnosis& diagnosis) const;

 private:
  Status read_faults(const std::string& corpus, const std::string& folder);

  std::unique_ptr<traces::SpanSet> spans_;
  std::unique_ptr<traces::Assembly> assembly_;
  std::unique_ptr<Requests> requests_;
  std::vector<KnownFault> faults_;
  std::vector<std::pair<int64_t, int64_t>> injections_;  // those of which there are no requests here, too
};

}  // namespace plimsoll::diagnosis
