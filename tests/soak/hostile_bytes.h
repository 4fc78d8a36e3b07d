// What whoever can reach a server may send it: damaged, oversized, or sound and meant to cost much. The same generator state makes the
// same bytes.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "proto/profile.pb.h"

namespace plimsoll::soak {

using Random = std::mt19937_64;

// A body that claims to be a raw profile, and the ID under which it is sent.
struct HostileProfile {
  std::string kind;
  std::string id;  // 32 hexadecimal digits, mostly
  std::string body;
};

class HostileProfiles {
 public:
  // Sound: what all but the bombs are made of.
  explicit HostileProfiles(Random& random);

  HostileProfile next();
  // Sound, with a sample in a binary of that path and build ID: the symbolizer is to open it.
  HostileProfile of_binary(const std::string& path, const std::string& build_id);

 private:
  wire::RawProfile sound();
  HostileProfile damaged();
  HostileProfile of_foreign_text();
  HostileProfile unknown_fields_bomb();
  HostileProfile empty_messages_bomb();
  HostileProfile zeros_bomb();
  HostileProfile large_and_sound();
  std::string random_id();

  Random& random_;
  std::vector<std::string> foreign_texts_;
  std::string zeros_;  // 256 MiB of them, compressed
};

struct HostileMessage {
  std::string path;  // below /fleet/v1/
  std::string body;
};

// A registration or a heartbeat, sound or damaged.
HostileMessage hostile_message(Random& random);

// An HTTP request, or what claims to be one, for any of both ports.
std::string hostile_request(Random& random);

// Path and query of a view, order or export.
struct HostileQuestion {
  std::string method;
  std::string target;
};
HostileQuestion hostile_question(Random& random);

// A statement that is random, damaged, or meant to take long or much.
std::string hostile_statement(Random& random);

// A damaged ELF file, and its build ID: it has one of its own, so that it is read.
std::pair<std::string, std::string> hostile_elf(Random& random);

}  // namespace plimsoll::soak
