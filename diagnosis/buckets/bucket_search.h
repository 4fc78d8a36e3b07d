// Buckets in which one version is slower than the others, found without being told where to look.
//
// Every conjunction of up to three values of attributes is tested. Others rank attributes one at a time (BubbleUp, Tempo's compare()), which
// dilutes a regression that is confined to a pair of values, and says nothing of chance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnosis/buckets/compared_requests.h"

namespace plimsoll::diagnosis {

struct BucketSearchOptions {
  size_t max_terms = 3;
  uint32_t max_values = 32;   // attributes with more are not searched
  size_t min_hosts = 3;       // of either side
  size_t permutations = 999;  // of versions over hosts, where there are over 5,000
  // Host means of all buckets, and requests read for them: each set of attributes reads all requests, up to five times a
  // pass. With more of either, buckets have fewer terms; a pass takes some minutes at most.
  size_t max_cells = 100'000'000;
  size_t max_reads = 2'000'000'000;
  double max_p = 0.01;  // of any bucket being found where versions do not differ at all
  size_t max_found = 5;
  uint64_t seed = 1;
};

struct FoundBucket {
  std::vector<BucketTerm> terms;  // by attribute; empty: all requests
  double t = 0;                   // standard errors by which the new side is slower
  double p = 1;                   // of any bucket being as much slower by chance: family-wise
};

enum class SearchVerdict : uint8_t {
  kFound,
  kNone,         // although something could have been found
  kTooFewHosts,  // no bucket has min_hosts of either side
  kTooFewWays,  // smallest_p is above max_p: versions could have been rolled out over these hosts in too few ways
};
// "found", "none", "too few hosts", "too few ways to roll out".
const char* name_of(SearchVerdict verdict);

struct BucketSearch {
  BucketSearchOptions options;
  std::vector<FoundBucket> found;  // the strongest first
  FoundBucket strongest;           // that is not found; its p is an estimate from few permutations
  size_t buckets = 0;              // tested: with min_hosts of either side
  size_t terms = 0;                // at most, of a tested bucket
  bool is_limited = false;         // fewer than wanted, because of max_cells or max_reads
  double overlap = 1;              // VersionScores
  bool is_within_hosts = false;
  size_t strata = 0;
  double smallest_p = 1;  // that so many hosts allow; above max_p nothing can be found

  SearchVerdict verdict() const;
};

// The test of a bucket is a moderated t of host means of version_scores(): with n_h requests, mean score m_h and weight
// w_h = n_h / (n_h + k) of host h (k: variance within hosts over variance between them), M = sum w m / sum w of either side,
//
//   t = (M_new - M_base) / sqrt(V_new / W_new + V_base / W_base + (V_new + V_base) P / (W_new W_base)),
//   V = (sum w (m - M)^2 + d v) / (hosts - 1 + d),
//
// where a host that ran both versions stands with half its difference on either side, weighed by
// 4 n_new n_old / (n_new + n_old) requests: it is compared with itself, and one that ran a version for minutes only weighs
// little. Both halves deviate together, for which P stands, the weight of such hosts: where all are so, t is that of a
// paired test. v is the variance between hosts of all requests and d = 4 (Welch, Biometrika 34, 1947; Smyth, Statistical
// Applications in Genetics and Molecular Biology 3, 2004). p is the share of permutations of versions over hosts, those of
// hosts with both sides swapped or not, whose largest t over all buckets is as large (Westfall and Young, Resampling-Based
// Multiple Testing, 1993): of all, where there are 5,000 or fewer, the one that happened among them; else
// (as large + 1) / (999 + 1), and permuting stops early once p cannot become as small as max_p (Besag and Clifford,
// Biometrika 78, 1991).
//
// Of the buckets with a p of max_p or less of their own, by the same maxima, the one is named that explains most: with the
// largest (M_new - M_base)^2 / (1 / W_new + 1 / W_base + 2 P / (W_new W_base)), by which a slower bucket reduces the
// weighted squares of host means. Its description is then cut: a term goes unless what the bucket lacks for it is less slow,
// by two standard errors of the difference, or p would exceed max_p; of several such terms the one without which it
// explains most. The p reported is that of the bucket as described. Its requests are left out, and the search goes on until
// nothing is found.
//
// Ends early once check_stop() fails: what it has then is not to be used.
// 1 million requests with 6 attributes take some seconds; memory: 100 bytes a request, and 192 MB.
BucketSearch search_buckets(const ComparedRequests& requests, const BucketSearchOptions& options = {});

}  // namespace plimsoll::diagnosis
