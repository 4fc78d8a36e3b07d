// What diagnosis_bench measures.
#pragma once

#include "bench/harness/program.h"

namespace plimsoll::bench {

// Robust PCA of 100,000 requests x 117 methods: time, memory, growth with requests.
Status measure_decomposition(const Flags& flags, Report& report);
// Spans a second that are assembled into traces, observed and diagnosed.
Status measure_assembly(const Flags& flags, Report& report);
// Spans a second over OTLP to the disk, and a day of them to findings.
Status measure_spans_in(const Flags& flags, Report& report);
// Precision and recall on generated faults, for each method beside its peers.
Status measure_generated(const Flags& flags, Report& report);
// Buckets in which a version is slower: time of the search, and how often the planted one is found and named.
Status measure_buckets(const Flags& flags, Report& report);
// Faults of corpus/traces: the faulty service first, and among three, beside published figures.
Status measure_faults(const Flags& flags, Report& report);

}  // namespace plimsoll::bench
