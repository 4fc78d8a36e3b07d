#include "daemon/privileges/confinement.h"

#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "daemon/privileges/capabilities.h"
#include "daemon/privileges/resource_limits.h"
#include "daemon/privileges/system_call_filter.h"

namespace plimsoll {
namespace {

struct UserIds {
  uid_t user;
  gid_t group;
};

// A number need not be anybody's name: its group is then the one of the same number.
Result<UserIds> find_user(const std::string& name) {
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  uid_t number = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, number);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
  const int error_number = is_number
                               ? ::getpwuid_r(number, &entry, buffer.data(), buffer.size(), &found)
                               : ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) {
    return UserIds{found->pw_uid, found->pw_gid};
  }
  if (is_number && number != static_cast<uid_t>(-1)) {  // which means "as it is" to setresuid()
    return UserIds{number, number};
  }
  return error_number != 0 ? with_field(fail_errno(error_number, "looking up user {}", name), "user")
                           : with_field(fail(ErrorCode::kInvalid, "no such user: {}", name), "user");
}

Status become(const std::string& name) {
  const auto ids = find_user(name);
  if (!ids) {
    return propagate(ids);
  }
  if (ids->user == ::geteuid() && ids->user == ::getuid()) {
    return {};
  }
  const bool became = ::prctl(PR_SET_KEEPCAPS, 1) == 0 && ::setgroups(0, nullptr) == 0 &&
                      ::setresgid(ids->group, ids->group, ids->group) == 0 &&
                      ::setresuid(ids->user, ids->user, ids->user) == 0;
  if (!became) {
    return with_hint(with_field(fail_errno(errno, "switching to user {}", name), "user"),
                     "only root can switch users: remove --user (daemon.user)");
  }
  return {};
}

}  // namespace

Status confine(const ConfinementOptions& options) {
  if (auto limited = set_resource_limits(); !limited) {
    return limited;
  }
  if (!options.user.empty()) {
    if (auto became = become(options.user); !became) {
      return became;
    }
  }
  if (auto kept = keep_only_needed_capabilities(); !kept) {
    return kept;
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    return fail_errno(errno, "disabling core dumps and tracing of this process");
  }
  return options.filter_system_calls ? filter_system_calls() : Status();
}

}  // namespace plimsoll
