// Who a request is from, and what that permits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace plimsoll::http {

// What a route asks of its caller.
enum class Right : uint8_t {
  kNone,           // nothing: whether the server lives
  kRead,           // to see what the fleet spends its time on
  kOrder,          // to change what is done to machines, and to see who has asked for what
  kEnrol,          // to register a machine
  kMachine,        // to speak for a machine
  kUpload,         // to hand in profiles
  kPullProfile,    // to pull compiler profiles, for which the server reads binaries
  kAddBinary,      // to hand in binaries and debug files
  kSymbolize,      // to make symbol tables for the server
  kRelay,          // to hand in what daemons have sent, with their credentials
  kCopyDirectory,  // to copy what the server has of machines and draws
};

enum class Role : uint8_t {
  kUnasked,   // the server runs without authentication
  kStranger,  // unauthenticated
  kRead,
  kUpload,      // profiles of any machine
  kEnrol,       // an unknown machine, which may enrol
  kFdo,         // compiler profiles alone
  kAdmin,       // all that people may
  kMachine,     // only what is its own
  kBinaries,    // to add binaries and debug files, and nothing else
  kSymbolizer,  // to make symbol tables of what it leases, and nothing else
  kRelay,       // to forward requests of daemons, which authenticate each by itself, and nothing else
  kReplica,     // to copy what the server has of machines and draws, and nothing else
};

// "read", "upload", "enrol", "fdo", "binaries", "symbolizer", "relay", "replica", "admin", "machine"; "unauthenticated" for the first two.
std::string_view name_of(Role role);

bool permits(Role role, Right right);

struct Caller {
  Role role = Role::kUnasked;
  std::string name = {};  // of a token, or a machine's ID
  // Of a machine that enrols: the SHA-256 of the token that it wants to be known by.
  std::string wanted_token = {};
  bool by_certificate = false;  // the machine showed one, and no token
};

// "alice", "machine web-17", "unauthenticated".
std::string text_of(const Caller& caller);

// kDenied where a machine speaks for another one.
Status may_speak_for(const Caller& caller, std::string_view machine_id);

}  // namespace plimsoll::http
