#include "store/frames/bindings.h"

#include <utility>

namespace plimsoll::store {
namespace {

// In which bindings changed; one location after the other, 0 where an account of a binary did. A catalogue of an older version lacks it
// until its writer has opened it.
constexpr std::string_view kChanges = "binding_change";

constexpr size_t kFewFrames = 10'000;

// Texts by ID. Where IDs are missing, the texts are empty.
Status extend_texts(sqlite::Database& database, std::string_view sql, AppendOnlyList<std::string>& texts) {
  return sqlite::for_each_row(database.query(sql, texts.size()), [&](const sqlite::Statement& row) {
    while (texts.size() < static_cast<size_t>(row.integer(0))) {
      texts.push_back({});
    }
    texts.push_back(std::string(row.text(1)));
  });
}

Result<std::vector<std::string>> load_reasons(sqlite::Database& database) {
  std::vector<std::string> reasons;
  const Status read = sqlite::for_each_row(database.query("SELECT id, reasons FROM binary ORDER BY id"),
                                           [&](const sqlite::Statement& row) {
                                             reasons.resize(static_cast<size_t>(row.integer(0)) + 1);
                                             reasons.back() = row.text(1);
                                           });
  return read ? Result<std::vector<std::string>>(std::move(reasons)) : propagate(read);
}

}  // namespace

Result<int64_t> last_binding_change(sqlite::Database& database) {
  const auto has_changes = database.has_table(kChanges);
  if (!has_changes) {
    return propagate(has_changes);
  }
  return *has_changes ? database.integer("SELECT coalesce(max(sequence), 0) FROM binding_change", 0) : 0;
}

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

Result<Bindings> Bindings::load(sqlite::Database& database) {
  Bindings bindings;
  const auto change = last_binding_change(database);
  auto reasons = load_reasons(database);
  const Status named = bindings.extend_names(database);
  if (!change || !reasons || !named) {
    return !change ? propagate(change) : !reasons ? propagate(reasons) : propagate(named);
  }
  std::vector<Place> places;
  const Status framed = bindings.add_frames(
      database.query("SELECT location, function, file, line FROM frame ORDER BY location, depth"), places);
  if (!framed) {
    return propagate(framed);
  }
  bindings.places_ = std::make_shared<const std::vector<Place>>(std::move(places));
  bindings.reasons_ = std::make_shared<const std::vector<std::string>>(std::move(*reasons));
  bindings.last_change_ = *change;
  return bindings;
}

Status Bindings::extend(sqlite::Database& database) {
  const auto change = last_binding_change(database);
  if (!change || *change == last_change_) {
    return change ? Status() : propagate(change);
  }
  auto places = places_ == nullptr ? std::vector<Place>() : *places_;
  bool has_new_reasons = false;
  const Status listed = sqlite::for_each_row(
      database.query("SELECT DISTINCT location FROM binding_change WHERE sequence > ?", last_change_),
      [&](const sqlite::Statement& row) {
        const auto location = static_cast<uint32_t>(row.integer(0));
        has_new_reasons = has_new_reasons || location == 0;
        if (location == 0) {
          return;
        }
        rebound.push_back(location);
        if (location < places.size()) {
          frames_in_use_ -= places[location].count;
          places[location] = {};
        }
      });
  const Status named = listed ? extend_names(database) : listed;
  const Status framed =
      named ? add_frames(database.query("SELECT location, function, file, line FROM frame WHERE location IN "
                                        "(SELECT location FROM binding_change WHERE sequence > ?) "
                                        "ORDER BY location, depth",
                                        last_change_),
                         places)
            : named;
  if (!framed) {
    return framed;
  }
  if (has_new_reasons) {
    auto reasons = load_reasons(database);
    if (!reasons) {
      return propagate(reasons);
    }
    reasons_ = std::make_shared<const std::vector<std::string>>(std::move(*reasons));
  }
  drop_unused_frames(places);
  places_ = std::make_shared<const std::vector<Place>>(std::move(places));
  last_change_ = *change;
  return {};
}

Status Bindings::extend_names(sqlite::Database& database) {
  for (const Status& status :
       {extend_texts(database, "SELECT id, name FROM function WHERE id >= ? ORDER BY id", functions),
        extend_texts(database, "SELECT id, linkage_name FROM function WHERE id >= ? ORDER BY id",
                     linkage_names),
        extend_texts(database, "SELECT id, path FROM source_file WHERE id >= ? ORDER BY id", files)}) {
    if (!status) {
      return status;
    }
  }
  return {};
}

Status Bindings::add_frames(Result<sqlite::Statement> rows, std::vector<Place>& places) {
  return sqlite::for_each_row(std::move(rows), [&](const sqlite::Statement& row) {
    const auto location = static_cast<size_t>(row.integer(0));
    if (places.size() <= location) {
      places.resize(location + 1);
    }
    Place& place = places[location];
    place.first = place.count == 0 ? static_cast<uint32_t>(frames_.size()) : place.first;
    ++place.count;
    ++frames_in_use_;
    frames_.push_back({static_cast<uint32_t>(row.integer(1)), static_cast<uint32_t>(row.integer(2)),
                       static_cast<uint32_t>(row.integer(3))});
  });
}

void Bindings::drop_unused_frames(std::vector<Place>& places) {
  // So that it takes twice the memory at most, and dropping costs little for each frame that was added.
  if (frames_.size() <= 2 * frames_in_use_ + kFewFrames) {
    return;
  }
  AppendOnlyList<BoundFrame> frames;
  frames.reserve(frames_in_use_);
  for (Place& place : places) {
    const auto first = static_cast<uint32_t>(frames.size());
    frames.append(frames_.span().subspan(place.first, place.count));
    place.first = first;
  }
  frames_ = std::move(frames);
}

}  // namespace plimsoll::store
