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

Result<int64_t> BindingWriter::intern(std::string_view table, std::string_view column, std::string_view text,
                                      std::unordered_map<std::string, int64_t>& known) {
  const auto [entry, is_new] = known.try_emplace(std::string(text), 0);
  if (!is_new) {
    return entry->second;
  }
  const auto inserted =
      database_.execute(fmt::format("INSERT OR IGNORE INTO {} ({}) VALUES (?)", table, column), text);
  if (!inserted) {
    return propagate(inserted);
  }
  const auto id = database_.integer(fmt::format("SELECT id FROM {} WHERE {} = ?", table, column), 0, text);
  if (!id) {
    return id;
  }
  return entry->second = *id;
}

Status BindingWriter::bind(std::span<const Binding> bindings, int64_t generation) {
  for (const Binding& binding : bindings) {
    if (auto removed = database_.execute("DELETE FROM frame WHERE location = ?", binding.location);
        !removed) {
      return removed;
    }
    const auto marked = database_.execute(
        "INSERT OR REPLACE INTO binding (location, generation) VALUES (?, ?)", binding.location, generation);
    if (!marked) {
      return marked;
    }
    for (size_t depth = 0; depth < binding.frames.size(); ++depth) {
      const Frame& frame = binding.frames[depth];
      const auto function = intern("function", "name", frame.function, functions_);
      if (!function) {
        return propagate(function);
      }
      const auto file =
          frame.file.empty() ? Result<int64_t>(0) : intern("source_file", "path", frame.file, files_);
      if (!file) {
        return propagate(file);
      }
      const auto inserted = database_.execute(
          "INSERT INTO frame (location, depth, function, file, line) VALUES (?, ?, ?, ?, ?)",
          binding.location, depth, *function, *file, frame.line);
      if (!inserted) {
        return inserted;
      }
    }
  }
  return {};
}

Result<Bindings> Bindings::load(sqlite::Database& database) {
  Bindings bindings;
  auto functions = load_texts(database, "SELECT id, name FROM function ORDER BY id");
  auto files = load_texts(database, "SELECT id, path FROM source_file ORDER BY id");
  auto reasons = load_texts(database, "SELECT id, reasons FROM binary ORDER BY id");
  for (const auto* texts : {&functions, &files, &reasons}) {
    if (!*texts) {
      return propagate(*texts);
    }
  }
  bindings.functions = std::move(*functions);
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
