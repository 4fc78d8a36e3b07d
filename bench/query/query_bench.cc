// Measures what answers are worth, and how fast they come: see docs/benchmarks.md.
#include <array>

#include "bench/query/parts.h"

namespace plimsoll::bench {
namespace {

const std::array<Part, 8> kParts{{
    {"margins", "how often 95 % margins hold the truth, and how wide they are; beside who knows it",
     measure_margins},
    {"agreement", "whether a tenth of the machines says the same as all of them", measure_agreement},
    {"changes", "how often diff takes chance for a change, and finds the change that there is",
     measure_changes},
    {"views", "top with its margins, over tens of millions of rows", measure_views},
    {"live", "questions about the last hour while profiles come in, by how much history there is",
     measure_live},
    {"stability", "permutations of machines, for a verdict on stability", measure_stability},
    {"weeks", "how often intervals of percentiles of two arms hold the truth, over simulated days",
     measure_weeks},
    {"pooling", "how often services are taken for dependent that are not, or are", measure_pooling},
}};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program("Measures answers: whether their margins hold, and how fast they come.",
                                      plimsoll::bench::kParts, argc, argv);
}
