#include "config/access_token.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string_view>

#include "base/time.h"

namespace plimsoll::config {
namespace {

Status check_token(const AccessToken& token) {
  // What "sha256sum </dev/null" prints, and a script that lost its token.
  constexpr std::string_view kHashOfNothing =
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  constexpr std::array<std::string_view, 9> kRoles{"read",     "admin",      "upload", "enrol",  "fdo",
                                                   "binaries", "symbolizer", "relay",  "replica"};
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (token.name.empty()) {
    return fail(ErrorCode::kInvalid, "access.tokens: name is missing");
  }
  if (token.sha256.size() != 64 || !std::ranges::all_of(token.sha256, is_digit)) {
    return with_hint(fail(ErrorCode::kInvalid,
                          "the token of {}: sha256 must be 64 hexadecimal digits in lower case", token.name),
                     "plimsoll token prints them");
  }
  if (token.sha256 == kHashOfNothing) {
    return with_hint(
        fail(ErrorCode::kInvalid, "the token of {}: sha256 is the hash of an empty text", token.name),
        "plimsoll token makes a token, and prints its sha256");
  }
  if (auto expires = token.expires_ns(); !expires) {
    return propagate(expires, "the token of {}", token.name);
  }
  return std::ranges::find(kRoles, token.role) != kRoles.end()
             ? Status()
             : with_hint(
                   fail(ErrorCode::kInvalid, "the token of {}: no such role: \"{}\"", token.name, token.role),
                   "roles are read, admin, upload, enrol, fdo, binaries, symbolizer, relay and replica");
}

}  // namespace

std::vector<Key> AccessToken::keys() {
  return {
      {"name", "Name of the user or program, as the audit log shows it.", &name},
      {"sha256", "SHA-256 of the token, as plimsoll token prints it.", &sha256},
      {"role",
       "Role: \"read\" (queries), \"admin\" (queries, orders and the audit log), \"upload\" (profiles of any "
       "machine),\n\"enrol\" (new machines may register), \"fdo\" (pull compiler profiles), \"binaries\" "
       "(add binaries),\n\"symbolizer\" (make symbol tables of builds that the server leases out), \"relay\" "
       "(ingest servers: forward requests of\ndaemons), \"replica\" (query servers: copy machines and "
       "draws).",
       &role},
      {"expires", "Expiry, such as \"2027-12-31\" or \"2027-12-31T18:00:00Z\". Default: never.", &expires},
  };
}

Result<int64_t> AccessToken::expires_ns() const {
  if (expires.empty()) {
    return std::numeric_limits<int64_t>::max();
  }
  const bool is_day = expires.size() == std::string_view("2027-12-31").size();
  const auto time_ns = parse_time_ns(is_day ? expires + "T00:00:00Z" : expires, 0);
  return time_ns && *time_ns > 0
             ? Result<int64_t>(*time_ns)
             : with_hint(fail(ErrorCode::kInvalid, "expires is \"{}\", which is neither a date nor a time",
                              expires),
                         "write \"2027-12-31\" or \"2027-12-31T18:00:00Z\"");
}

Status check_tokens(const std::vector<AccessToken>& tokens) {
  std::set<std::string> seen;
  for (const AccessToken& token : tokens) {
    if (auto checked = check_token(token); !checked) {
      return checked;
    }
    if (!seen.insert(token.sha256).second) {
      return fail(ErrorCode::kInvalid, "the token of {} is listed twice", token.name);
    }
  }
  return {};
}

}  // namespace plimsoll::config
