#include "store/frames/bindings.h"

namespace plimsoll::store {
namespace {

Result<std::vector<std::string>> load_texts(sqlite::Database& database, std::string_view sql) {
  std::vector<std::string> texts{""};
  const auto loaded = sqlite::for_each_row(database.query(sql), [&](const sqlite::Statement& row) {
    texts.resize(static_cast<size_t>(row.integer(0)) + 1);
    texts.back() = row.text(1);
  });
  return loaded ? Result<std::vector<std::string>>(std::move(texts)) : propagate(loaded);
}

}  // namespace

std::string_view name_of(SymbolQuality quality) {
  switch (quality) {
    case SymbolQuality::kNone:
      return "none";
    case SymbolQuality::kDynsym:
      return "dynsym";
    case SymbolQuality::kSymtab:
      return "symtab";
    case SymbolQuality::kLines:
      return "line tables";
    case SymbolQuality::kFull:
      return "full DWARF";
  }
  return "";
}

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
  auto removed = database_.execute("DELETE FROM frame WHERE location = ?", binding.location);
  if (!removed) {
    return removed;
  }
  const auto marked = database_.execute("INSERT OR REPLACE INTO binding (location, generation) VALUES (?, ?)",
                                        binding.location, generation);
  if (!marked) {
    return marked;
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
  for (const Binding& binding : bindings) {
    if (auto bound = bind(binding, generation); !bound) {
      return bound;
    }
  }
  return {};
}

Result<Bindings> Bindings::load(sqlite::Database& database) {
  Bindings bindings;
  auto functions = load_texts(database, "SELECT id, name FROM function ORDER BY id");
  auto linkage_names = load_texts(database, "SELECT id, linkage_name FROM function ORDER BY id");
  auto files = load_texts(database, "SELECT id, path FROM source_file ORDER BY id");
  auto reasons = load_texts(database, "SELECT id, reasons FROM binary ORDER BY id");
  for (const auto* texts : {&functions, &linkage_names, &files, &reasons}) {
    if (!*texts) {
      return propagate(*texts);
    }
  }
  bindings.functions = std::move(*functions);
  bindings.linkage_names = std::move(*linkage_names);
  bindings.files = std::move(*files);
  bindings.reasons = std::move(*reasons);
  const auto loaded = sqlite::for_each_row(
      database.query("SELECT location, function, file, line FROM frame ORDER BY location, depth"),
      [&](const sqlite::Statement& row) {
        const auto location = static_cast<size_t>(row.integer(0));
        // Every location up to this one that has no entry yet begins, and ends, here.
        if (bindings.first_frame.size() <= location) {
          bindings.first_frame.resize(location + 1, static_cast<uint32_t>(bindings.frames.size()));
        }
        bindings.frames.push_back({static_cast<uint32_t>(row.integer(1)),
                                   static_cast<uint32_t>(row.integer(2)),
                                   static_cast<uint32_t>(row.integer(3))});
      });
  if (!loaded) {
    return propagate(loaded);
  }
  bindings.first_frame.push_back(static_cast<uint32_t>(bindings.frames.size()));
  return bindings;
}

}  // namespace plimsoll::store
