// What a drawn machine had of the kinds of application profiles that it was asked for.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/fleet.pb.h"
#include "proto/profile.pb.h"

namespace plimsoll::scrape {

struct KindAnswer {
  size_t endpoints = 0;
  size_t answered = 0;       // of them
  std::string problem = {};  // why one of them did not; empty: all did
  // How many did not, by the reason in words that are the same on all machines.
  std::map<std::string, size_t> causes = {};
};
using KindAnswers = std::map<std::string, KindAnswer>;  // by kind

// "contention: no endpoint; heap: 3 of 4 endpoints (127.0.0.1:80/heap: no answer)".
std::string text_of(const KindAnswers& answers);

// For the server, by kind.
std::vector<wire::ApplicationKindReport> reports_of(const KindAnswers& answers);

// Why a scrape failed, without endpoints, paths and numbers of processes: "permission denied".
std::string cause_of(const Error& error);

// The profile that says so: notes, and the events of each kind without a sample. A machine on which no endpoint serves a kind has
// zero of its events, and counts in the margins of those that have some. Of a kind that no endpoint answered for, nothing is
// known: its events are left out. Without ID, machine and window.
wire::RawProfile answer_profile(const wire::Assignment& assignment, const KindAnswers& answers);

}  // namespace plimsoll::scrape
