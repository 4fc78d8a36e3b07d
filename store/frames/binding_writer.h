// Names live in tables of a block's catalogue.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/model/bindings.h"

namespace plimsoll::store {

// Writes bindings. Used within the caller's transaction; drop_unused_names() (unused_names.h) may follow it, and ends its use.
class BindingWriter {
 public:
  explicit BindingWriter(sqlite::Database& database) : database_(database) {}

  // Replaces what the locations were bound to before.
  Status bind(std::span<const Binding> bindings, int64_t generation);

  // Keeps what a search for a binary's symbols came to.
  Status describe(int64_t binary, const BinaryAccount& account);

 private:
  Status bind(const Binding& binding, int64_t generation);
  Result<int64_t> function_id(const Frame& frame);
  Result<int64_t> file_id(const std::string& path);

  sqlite::Database& database_;
  std::unordered_map<std::string, int64_t> functions_;  // by linkage name, zero byte, name
  std::unordered_map<std::string, int64_t> files_;
  bool is_prepared_ = false;
};

}  // namespace plimsoll::store
