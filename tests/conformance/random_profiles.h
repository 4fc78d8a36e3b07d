// Seeded random profiles of one small fleet.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "proto/profile.pb.h"
#include "tests/conformance/random_requests.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {

// A profile, or why there are no rows of it.
struct Arrived {
  int64_t sequence = 0;
  wire::RawProfile profile;
  std::string why_set_aside = {};
};

inline wire::Binary binary(const std::string& identity, const std::string& path) {
  wire::Binary binary;
  binary.set_identity_kind(wire::GNU_BUILD_ID);
  binary.set_identity(identity);
  binary.set_path(path);
  return binary;
}

// Of few machines, programs, functions and addresses, so that most of what one has others have too.
inline Arrived random_arrival(Random& random, int64_t sequence) {
  ProfileSpec spec{.seed = static_cast<uint64_t>(sequence),
                   .machine = fmt::format("m{}", random.below(4)),
                   .from_ns = int64_t{1'700'000'000'000'000'000} + sequence * 1'000'000'000,
                   .events = {{.name = "cycles", .scale = random.factor()}, {.name = "faults"}},
                   .job = random.one_in(2) ? "web" : "db",
                   .stacks = ""};
  if (random.one_in(12)) {
    spec.events[1].unit = wire::BYTES;  // a contradiction, once it is known otherwise
  }
  for (uint32_t line = 1 + random.below(6); line > 0; --line) {
    spec.stacks += fmt::format("process=app{} thread=t{} labels={} event={} main;f{}@f.cc:{};g{}>h{} {}\n",
                               random.below(3), random.below(4),
                               random.one_in(2) ? "" : fmt::format("color:c{}", random.below(5)),
                               random.one_in(3) ? "faults" : "cycles", random.below(9), random.below(4),
                               random.below(3), random.below(3), 1 + random.below(100));
  }
  Arrived arrived{sequence, make_profile(spec)};
  // First, so that all bring the same of it: a sink may know it already when an epoch begins.
  if (random.one_in(4)) {
    add_sample(arrived.profile, binary("kernel", "[kernel]"), wire::KERNEL, 0x1000 + random.below(9), 1);
    wire::KernelImage& image = *arrived.profile.mutable_kernel_symbols()->add_images();
    image.set_binary(0);
    image.add_offset_delta(0x1000);
    image.set_names(std::string("start\0", 6));
  }
  for (uint32_t count = random.below(3); count > 0; --count) {
    const uint32_t number = random.below(5);
    add_sample(arrived.profile, binary(fmt::format("id{}", number), fmt::format("/bin/tool{}", number)),
               wire::ELF, random.below(50), 1 + random.below(9));
  }
  if (random.one_in(10)) {
    arrived.why_set_aside = "it is too large";
  }
  return arrived;
}

}  // namespace plimsoll::testing
