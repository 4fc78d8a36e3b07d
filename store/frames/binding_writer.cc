#include "store/frames/binding_writer.h"

#include "store/frames/unused_names.h"

namespace plimsoll::store {

Result<int64_t> BindingWriter::function_id(const Frame& frame) {
  const auto [known, is_new] = functions_.try_emplace(frame.linkage_name + '\0' + frame.function, 0);
  if (!is_new) {
    return known->second;
  }
  const auto inserted = database_.execute("INSERT OR IGNORE INTO function (linkage_name, name) VALUES (?, ?)",
                                          frame.linkage_name, frame.function);
  if (!inserted) {
    return propagate(inserted);
  }
  auto id = database_.integer("SELECT id FROM function WHERE linkage_name = ? AND name = ?", 0,
                              frame.linkage_name, frame.function);
  known->second = id.value_or(0);
  return id;
}

Result<int64_t> BindingWriter::file_id(const std::string& path) {
  if (path.empty()) {
    return 0;
  }
  const auto [known, is_new] = files_.try_emplace(path, 0);
  if (!is_new) {
    return known->second;
  }
  const auto inserted = database_.execute("INSERT OR IGNORE INTO source_file (path) VALUES (?)", path);
  if (!inserted) {
    return propagate(inserted);
  }
  auto id = database_.integer("SELECT id FROM source_file WHERE path = ?", 0, path);
  known->second = id.value_or(0);
  return id;
}

Status BindingWriter::bind(const Binding& binding, int64_t generation) {
  const Status counted = count_rebinding(database_, binding.location);
  if (!counted) {
    return counted;
  }
  auto removed = database_.execute("DELETE FROM frame WHERE location = ?", binding.location);
  if (!removed) {
    return removed;
  }
  const auto marked = database_.execute("INSERT OR REPLACE INTO binding (location, generation) VALUES (?, ?)",
                                        binding.location, generation);
  if (!marked) {
    return marked;
  }
  const auto noted = database_.execute("INSERT INTO binding_change (location) VALUES (?)", binding.location);
  if (!noted) {
    return noted;
  }
  for (size_t depth = 0; depth < binding.frames.size(); ++depth) {
    const Frame& frame = binding.frames[depth];
    const auto function = function_id(frame);
    const auto file = file_id(frame.file);
    if (!function || !file) {
      return !function ? propagate(function) : propagate(file);
    }
    const auto inserted = database_.execute(
        "INSERT INTO frame (location, depth, function, file, line, source_column, discriminator, start_line, "
        "is_inlined) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        binding.location, depth, *function, *file, frame.line, frame.column, frame.discriminator,
        frame.start_line, frame.is_inlined);
    if (!inserted) {
      return inserted;
    }
  }
  return {};
}

Status BindingWriter::bind(std::span<const Binding> bindings, int64_t generation) {
  if (!is_prepared_) {
    if (const Status prepared = prepare_rebinding(database_); !prepared) {
      return prepared;
    }
    is_prepared_ = true;
  }
  for (const Binding& binding : bindings) {
    if (auto bound = bind(binding, generation); !bound) {
      return bound;
    }
  }
  return {};
}

Status BindingWriter::describe(int64_t binary, const BinaryAccount& account) {
  const Status noted = database_.execute(
      "INSERT INTO binding_change (location) SELECT 0 FROM binary WHERE id = ? AND reasons != ?", binary,
      account.reasons);
  return noted ? database_.execute(
                     "UPDATE binary SET quality = ?, generation = ?, reasons = ?, looked_at = ? WHERE id = ?",
                     static_cast<int>(account.quality), account.generation, account.reasons,
                     account.looked_at, binary)
               : noted;
}

}  // namespace plimsoll::store
