// Measures how fast and how well faults are found in request traces: see docs/diagnosis.md.
#include <array>

#include "bench/diagnosis/parts.h"

namespace plimsoll::bench {
namespace {

const std::array<Part, 6> kDiagnosisParts{{
    {"decomposition", "robust PCA of 100,000 requests x 117 methods", measure_decomposition},
    {"assembly", "spans a second, from spans in disorder to call trees and to an answer", measure_assembly},
    {"ingest", "spans over OTLP to the disk, and a day of Aliyun Mail's to findings", measure_spans_in},
    {"generated",
     "precision and recall on generated faults of replicas, beside CloudDiag as printed and its peer",
     measure_generated},
    {"buckets",
     "a version that is slower in one bucket: search of 1,000,000 requests, and how often it is found",
     measure_buckets},
    {"faults", "faulty services found first in corpus/traces, beside published figures", measure_faults},
}};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program("Measures how fast and how well faults are found in request traces.",
                                      plimsoll::bench::kDiagnosisParts, argc, argv);
}
