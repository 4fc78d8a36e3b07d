// The dimensions that are a machine's attributes.
#pragma once

#include <optional>
#include <string_view>

#include "store/model/dictionaries.h"

namespace plimsoll::query {

// What the machine has there; nothing where the dimension is no attribute of machines. Borrows the entry.
std::optional<std::string_view> machine_value(const store::MachineEntry& machine, std::string_view dimension);

bool is_machine_attribute(std::string_view dimension);

}  // namespace plimsoll::query
