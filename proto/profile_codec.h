// Raw profiles as bytes: in files, on the wire and in the archive alike. docs/wire.md has the layout:
//
//   magic "PLIMPROF" | version u32 | reserved u32 | length u64 | checksum u64 (XXH3 of what follows) |
//   zstd(RawProfile)
//
// Pure functions; any thread may call them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"
#include "proto/profile.pb.h"

namespace plimsoll::wire {

inline constexpr uint32_t kFormatVersion = 1;
inline constexpr uint32_t kOldestFormatVersion = 1;  // the next version reads its predecessor too

// Bounds on what is read, checked before anything of that size is allocated.
struct ProfileLimits {
  uint64_t max_encoded_bytes = uint64_t{64} << 20;
  uint64_t max_decoded_bytes = uint64_t{256} << 20;
  uint64_t max_parsed_bytes = uint64_t{1} << 30;  // in memory (parse_cost.h)
};

// Told of memory before it is taken, and may refuse it: bytes of the message, then what parsing it takes. Empty: nobody is told.
using Reserve = std::function<Status(uint64_t bytes)>;

// Whether `version` is one this program reads; the error names it and the supported ones.
Status check_version(uint32_t version, std::string_view what);

std::string encode(const RawProfile& profile);

// What follows the header, borrowed. Size, magic, version, length and checksum are checked, and nothing is decompressed:
// whether the bytes are those that encode() made, at the cost of reading them once.
Result<Bytes> check_framing(Bytes encoded, const ProfileLimits& limits = {});

// Everything is checked: framing, checksum, sizes, then every index and sum (validate()). An error names the
// field.
Result<RawProfile> decode(Bytes encoded, const ProfileLimits& limits = {}, const Reserve& reserve = {});

// A profile and all its messages in few large pieces of memory of their own, which are given back as one: where large profiles come and go
// beside what stays for long, their millions of small pieces would leave a heap full of holes. Texts over 15 bytes are in the heap all the same.
class ProfileInArena {
 public:
  ProfileInArena();
  const RawProfile& operator*() const { return *profile_; }
  const RawProfile* operator->() const { return profile_; }
  RawProfile& get() { return *profile_; }

 private:
  std::unique_ptr<google::protobuf::Arena> arena_;  // has *profile_
  RawProfile* profile_;
};

// As decode().
Result<ProfileInArena> decode_in_arena(Bytes encoded, const ProfileLimits& limits, const Reserve& reserve);

// Whether the bytes begin like a raw profile; for telling formats apart.
bool looks_like_profile(Bytes bytes);

// The rules of profile.proto that its types do not express: indexes in range, columns of equal length,
// parents before children, sums of hits equal to the events' totals, names of sensible length. The error's
// field is a path such as "samples[0].stack[17]".
Status validate(const RawProfile& profile);

// What the events of branch records are called. No samples may be theirs: their stacks are pairs (BranchTable).
inline constexpr std::string_view kBranchRecords = "branch-records";
inline constexpr std::string_view kBranchMispredictions = "branch-mispredictions";
inline constexpr std::string_view kBranchRanges = "branch-ranges";

// Whether that is an event of pairs of locations.
constexpr bool is_of_branches(std::string_view event) {
  return event == kBranchRecords || event == kBranchMispredictions || event == kBranchRanges;
}

// hits x scale = value (see Event in profile.proto); 0 where there was no hit.
double scale_of(const Event& event);

}  // namespace plimsoll::wire
