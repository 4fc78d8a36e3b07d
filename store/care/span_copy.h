// Spans of request traces in a backup.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace plimsoll::store {

// Copies the blocks of spans of one data directory into another that has none, each as of one moment, while they are written and dropped.
// What is dropped meanwhile is not in the copy. `copied` is called with bytes as they are copied. The caller syncs the folders.
Status copy_spans(const std::string& from, const std::string& to,
                  const std::function<void(uint64_t bytes)>& copied);

}  // namespace plimsoll::store
