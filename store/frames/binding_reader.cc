#include "store/frames/binding_reader.h"

#include <utility>

namespace plimsoll::store {
namespace {

// In which bindings changed; one location after the other, 0 where an account of a binary did. A catalogue of an older version lacks it
// until its writer has opened it.
constexpr std::string_view kChanges = "binding_change";

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

Result<Bindings> BindingReader::load(sqlite::Database& database, const PackedFrames* packed) {
  Bindings bindings;
  const auto change = last_binding_change(database);
  auto reasons = load_reasons(database);
  const Status named = extend_names(bindings, database);
  if (!change || !reasons || !named) {
    return !change ? propagate(change) : !reasons ? propagate(reasons) : propagate(named);
  }
  bindings.reasons_ = std::make_shared<const std::vector<std::string>>(std::move(*reasons));
  if (packed != nullptr) {
    const Status taken = take_frames(bindings, database, *packed);
    return taken ? Result<Bindings>(std::move(bindings)) : propagate(taken);
  }
  std::vector<Bindings::Place> places;
  const Status framed = add_frames(
      bindings, database.query("SELECT location, function, file, line FROM frame ORDER BY location, depth"),
      places);
  if (!framed) {
    return propagate(framed);
  }
  bindings.places_ = std::make_shared<const std::vector<Bindings::Place>>(std::move(places));
  bindings.last_change_ = *change;
  return bindings;
}

Status BindingReader::take_frames(Bindings& bindings, sqlite::Database& database,
                                  const PackedFrames& packed) {
  Places places(packed.locations.empty() ? 0 : size_t{packed.locations.back()} + 1);
  for (size_t i = 0; i < packed.frames.size(); ++i) {
    const Bindings::BoundFrame& frame = packed.frames[i];
    if (frame.function >= bindings.functions.size() || frame.file >= bindings.files.size()) {
      return fail(ErrorCode::kCorrupt, "{}: frames have been packed of functions that are not there",
                  database.path());
    }
    Bindings::Place& place = places[packed.locations[i]];
    place.first = place.count == 0 ? static_cast<uint32_t>(i) : place.first;
    ++place.count;
  }
  bindings.frames_.append(packed.frames);
  bindings.frames_in_use_ = packed.frames.size();
  bindings.places_ = std::make_shared<const std::vector<Bindings::Place>>(std::move(places));
  bindings.last_change_ = packed.last_change;
  const Status extended = extend(bindings, database);
  // What is known of them begins here.
  bindings.rebound = {};
  return extended;
}

Status BindingReader::extend(Bindings& bindings, sqlite::Database& database) {
  const auto change = last_binding_change(database);
  if (!change || *change == bindings.last_change_) {
    return change ? Status() : propagate(change);
  }
  auto places = bindings.places_ == nullptr ? std::vector<Bindings::Place>() : *bindings.places_;
  bool has_new_reasons = false;
  const Status listed =
      sqlite::for_each_row(database.query("SELECT DISTINCT location FROM binding_change WHERE sequence > ?",
                                          bindings.last_change_),
                           [&](const sqlite::Statement& row) {
                             const auto location = static_cast<uint32_t>(row.integer(0));
                             has_new_reasons = has_new_reasons || location == 0;
                             if (location == 0) {
                               return;
                             }
                             bindings.rebound.push_back(location);
                             if (location < places.size()) {
                               bindings.frames_in_use_ -= places[location].count;
                               places[location] = {};
                             }
                           });
  const Status named = listed ? extend_names(bindings, database) : listed;
  const Status framed =
      named ? add_frames(bindings,
                         database.query("SELECT location, function, file, line FROM frame WHERE location IN "
                                        "(SELECT location FROM binding_change WHERE sequence > ?) "
                                        "ORDER BY location, depth",
                                        bindings.last_change_),
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
    bindings.reasons_ = std::make_shared<const std::vector<std::string>>(std::move(*reasons));
  }
  bindings.drop_unused_frames(places);
  bindings.places_ = std::make_shared<const std::vector<Bindings::Place>>(std::move(places));
  bindings.last_change_ = *change;
  return {};
}

Status BindingReader::extend_names(Bindings& bindings, sqlite::Database& database) {
  for (const Status& status :
       {extend_texts(database, "SELECT id, name FROM function WHERE id >= ? ORDER BY id", bindings.functions),
        extend_texts(database, "SELECT id, linkage_name FROM function WHERE id >= ? ORDER BY id",
                     bindings.linkage_names),
        extend_texts(database, "SELECT id, path FROM source_file WHERE id >= ? ORDER BY id",
                     bindings.files)}) {
    if (!status) {
      return status;
    }
  }
  return {};
}

Status BindingReader::add_frames(Bindings& bindings, Result<sqlite::Statement> rows, Places& places) {
  return sqlite::for_each_row(std::move(rows), [&](const sqlite::Statement& row) {
    const auto location = static_cast<size_t>(row.integer(0));
    if (places.size() <= location) {
      places.resize(location + 1);
    }
    Bindings::Place& place = places[location];
    place.first = place.count == 0 ? static_cast<uint32_t>(bindings.frames_.size()) : place.first;
    ++place.count;
    ++bindings.frames_in_use_;
    bindings.frames_.push_back({static_cast<uint32_t>(row.integer(1)), static_cast<uint32_t>(row.integer(2)),
                                static_cast<uint32_t>(row.integer(3))});
  });
}

}  // namespace plimsoll::store
