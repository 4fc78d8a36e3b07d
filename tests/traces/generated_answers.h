// What each method of diagnosis finds among the same generated requests: for tests of them, and for diagnosis_bench.
#pragma once

#include "base/result.h"
#include "tests/traces/request_generator.h"

namespace plimsoll::diagnosis {

// Beside what is true.
struct GeneratedAnswers {
  Counts pairs = {};         // of method and replica, by replicas against each other
  Counts rpca_methods = {};  // by CloudDiag with self times
  Counts rpca_pairs = {};    // by the same
  Counts printed_methods =
      {};  // by CloudDiag as printed, in all categories, whatever their coefficient of variation
  Counts pca_methods = {};  // by PCA with Mann and Whitney's test in each of CloudDiag's categories

  GeneratedAnswers& operator+=(const GeneratedAnswers& other);
};

// All of them are given the same spans in the same call trees: with clocks off, some lost, and in random order. Methods are known by
// service and operation, as spans have them: a client span that is named instead is false.
Result<GeneratedAnswers> answers_of(const GeneratorOptions& options);
// The first of them only.
Counts slow_pairs_of(const GeneratorOptions& options);

}  // namespace plimsoll::diagnosis
