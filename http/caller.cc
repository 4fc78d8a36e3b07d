#include "http/caller.h"

namespace plimsoll::http {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::kRead:
      return "read";
    case Role::kUpload:
      return "upload";
    case Role::kEnrol:
      return "enrol";
    case Role::kFdo:
      return "fdo";
    case Role::kBinaries:
      return "binaries";
    case Role::kSymbolizer:
      return "symbolizer";
    case Role::kRelay:
      return "relay";
    case Role::kReplica:
      return "replica";
    case Role::kAdmin:
      return "admin";
    case Role::kMachine:
      return "machine";
    case Role::kUnasked:
    case Role::kStranger:
      break;
  }
  return "unauthenticated";
}

bool permits(Role role, Right right) {
  if (role == Role::kUnasked || right == Right::kNone) {
    return true;
  }
  switch (right) {
    case Right::kRead:
      return role == Role::kRead || role == Role::kAdmin;
    case Right::kOrder:
      return role == Role::kAdmin;
    case Right::kEnrol:
      return role == Role::kEnrol || role == Role::kMachine;
    case Right::kMachine:
      return role == Role::kMachine;
    case Right::kUpload:
      return role == Role::kUpload || role == Role::kMachine || role == Role::kAdmin;
    case Right::kPullProfile:
      return role == Role::kFdo || role == Role::kAdmin;
    case Right::kAddBinary:
      return role == Role::kBinaries || role == Role::kAdmin;
    case Right::kSymbolize:
      return role == Role::kSymbolizer;
    case Right::kRelay:
      return role == Role::kRelay;
    case Right::kCopyDirectory:
      return role == Role::kReplica || role == Role::kAdmin;
    case Right::kNone:
      break;
  }
  return false;
}

std::string text_of(const Caller& caller) {
  if (caller.name.empty()) {
    return "unauthenticated";
  }
  return caller.role == Role::kMachine ? "machine " + caller.name : caller.name;
}

Status may_speak_for(const Caller& caller, std::string_view machine_id) {
  return caller.role != Role::kMachine || caller.name == machine_id
             ? Status()
             : fail(ErrorCode::kDenied, "machine {} may not send for machine {}", caller.name, machine_id);
}

}  // namespace plimsoll::http
