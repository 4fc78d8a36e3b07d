// Small valid raw profiles from text, for the tests of everything that reads profiles.
//
//   const wire::RawProfile profile = make_profile({
//       .seed = 7,
//       .stacks = "main;parse;lex 12\n"
//                 "main;parse 3\n"
//                 "process=db thread=io event=page-faults main;read 2\n",
//   });
//
// Locations are NAMED, so that no symbol file is needed; add_sample() adds a location in a binary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/profile.pb.h"

namespace plimsoll::testing {

struct EventSpec {
  std::string name;
  double scale = 1;  // value of a hit
  wire::Unit unit = wire::COUNT;
  wire::Kind kind = wire::DELTA;
};

struct ProfileSpec {
  uint64_t seed = 1;  // the profile's ID: profile_id(seed)
  std::string machine = "m1";
  int64_t from_ns = 1'700'000'000'000'000'000;  // wall clock
  int64_t length_ns = 1'000'000'000;
  // The first is the event of lines that name none; events that only lines name have a scale of 1, and count.
  std::vector<EventSpec> events{{.name = "cycles"}};
  std::string process = "app";  // of lines that name none; the executable is /usr/bin/NAME
  std::string job = {};         // of every process
  std::string labels = {};      // of every process: "KEY:VALUE,KEY:VALUE"
  // A line for each sample: [process=NAME] [thread=NAME] [labels=KEY:VALUE,...] [event=NAME] STACK HITS. STACK has functions from root to
  // leaf between semicolons; a function may say where it is, "lex@lex.cc:12"; "outer>inner" is one location, where
  // inner was inlined into outer. A thread is called like its process unless said; "" is the empty stack.
  std::string stacks = "main;work 1\n";
  // Branch records, a line for each pair: [process=NAME] [thread=NAME] FROM;TO HITS MISPREDICTED. Their events are called
  // "branch-records" and "branch-mispredictions", of scale 1 unless `events` has them.
  std::string branches = {};
  // What ran between them, a line for each pair: [process=NAME] [thread=NAME] FIRST;LAST HITS. Their event is called "branch-ranges".
  std::string ranges = {};
};

// 16 bytes that look random: the same for the same seed, different for different seeds.
std::string profile_id(uint64_t seed);

// Ends the process, naming the line, where the spec cannot be read.
wire::RawProfile make_profile(const ProfileSpec& spec);

// Adds hits of the first event on a stack of one location: `address` in `binary`, of the given kind, in the first
// thread. The binary is added where the profile does not have it yet.
void add_sample(wire::RawProfile& profile, const wire::Binary& binary, wire::LocationKind kind,
                uint64_t address, uint64_t hits);

}  // namespace plimsoll::testing
