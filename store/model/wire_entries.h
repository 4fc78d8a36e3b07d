// What a profile says of machines and binaries, as dictionaries and people have it.
#pragma once

#include <string>
#include <string_view>

#include "proto/machine.pb.h"
#include "proto/profile.pb.h"
#include "store/model/dictionaries.h"

namespace plimsoll::store {

// A machine's attributes as rows have them.
MachineEntry machine_entry(const wire::Machine& machine);

// How a binary's identity is shown and filtered: hexadecimal, a content hash with "xxh3:" before it.
std::string build_id_text(wire::IdentityKind kind, std::string_view identity);

}  // namespace plimsoll::store
