#include "store/care/block_check.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <vector>

#include "proto/profile.pb.h"
#include "store/care/database_check.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/segment_table.h"
#include "store/dictionaries/dictionary_reader.h"
#include "store/frames/binding_reader.h"
#include "store/model/dictionaries.h"
#include "store/packed/block_packs.h"
#include "store/segments/segment.h"

namespace plimsoll::store {
namespace {

// A reader that is overtaken by merges reads the list again.
constexpr int kMaxAttempts = 20;

constexpr std::string_view kRestoreSegment =
    "rebuild the block (\"plimsoll store repair --rebuild\") or restore it from a backup; until then answers "
    "about "
    "its times lack its rows, and say so";

// Of functions and source files those that no frame uses go.
constexpr std::array kDictionaries{"machine",   "event",  "origin",   "workload", "thread",
                                   "label_set", "binary", "location", "stack"};

// The dictionary of each column.
constexpr ByColumn<const char*> kTables{{"event", "origin", "workload", "thread", "label_set", "stack"}};

struct Window {
  int64_t from_ns = 0;
  int64_t to_ns = 0;
};

class BlockCheck {
 public:
  BlockCheck(CheckLog& log, const BlockFolder& block, bool is_newest, sqlite::Database& catalogue)
      : log_(log), block_(block), is_newest_(is_newest), catalogue_(catalogue) {}

  // What is on disk and in no list, once the list is read.
  void run() {
    const std::vector<std::string> files = files_in_folder();
    if (const Status checked = check_at_one_moment(); !checked) {
      log_.add(catalogue_.path(), checked.error(), kRestoreBlock);
    }
    report_orphans(files);
  }

 private:
  Status check_at_one_moment() {
    std::vector<SegmentEntry> missing;
    for (int attempt = 1;; ++attempt) {
      const auto transaction = sqlite::Transaction::begin_read(catalogue_);
      if (!transaction) {
        return propagate(transaction);
      }
      if (const Status opened = open_segments(missing); !opened) {
        return opened;
      }
      std::error_code error;
      if (!missing.empty() && !std::filesystem::exists(block_.path, error)) {
        return {};  // dropped meanwhile
      }
      if (missing.empty() || attempt == kMaxAttempts) {
        for (const SegmentEntry& segment : missing) {
          log_.add(path_of(segment),
                   fmt::format("the file is missing: it has {} rows of the catalogue", segment.rows),
                   std::string(kRestoreSegment));
        }
        return check_open(missing.empty());
      }
    }
  }

  // While they are open they stay, whatever is merged meanwhile.
  Status open_segments(std::vector<SegmentEntry>& missing) {
    missing.clear();
    segments_.clear();
    damaged_.clear();
    has_all_ = true;
    auto visible = visible_segments(catalogue_);
    if (!visible) {
      return propagate(visible);
    }
    for (SegmentEntry& entry : *visible) {
      auto segment = Segment::open(path_of(entry));
      if (segment) {
        segments_.push_back({std::move(entry), std::move(*segment)});
      } else if (segment.error().code == ErrorCode::kNotFound) {
        missing.push_back(std::move(entry));
      } else {
        damaged_.emplace(entry.file, segment.error());
        has_all_ = false;
      }
    }
    return {};
  }

  Status check_open(bool has_all_files) {
    for (const auto& [file, error] : damaged_) {
      log_.add(block_.segments_path() + "/" + file, error, kRestoreSegment);
    }
    check_dictionaries();
    check_references();
    check_pack();
    check_state();
    if (const Status read = read_origins(); !read) {
      return read;
    }
    bool is_complete = has_all_ && has_all_files;
    for (const Visible& segment : segments_) {
      log_.start(segment.file.path());
      ++log_.report().segments;
      is_complete = check_segment(segment) && is_complete;
    }
    return is_complete ? check_hits() : Status();
  }

  void check_dictionaries() {
    for (const char* table : kDictionaries) {
      const bool is_absent =
          std::string_view(table) == kTables[Column::kLabels] && !has_label_sets(catalogue_).value_or(true);
      if (is_absent) {
        continue;
      }
      const auto count = catalogue_.integer(fmt::format("SELECT count(*) FROM {}", table), 0);
      const auto last = catalogue_.integer(fmt::format("SELECT coalesce(max(id), 0) FROM {}", table), 0);
      const auto first = catalogue_.integer(fmt::format("SELECT coalesce(min(id), 1) FROM {}", table), 1);
      for (const auto* number : {&count, &last, &first}) {
        if (!*number) {
          log_.add(catalogue_.path(), number->error(), kRestoreBlock);
          return;
        }
      }
      if (*count != *last || *first != 1) {
        log_.add(catalogue_.path(),
                 fmt::format("table {} has {} entries with IDs from {} to {}, not one for each", table,
                             *count, *first, *last),
                 std::string(kRestoreBlock));
      }
    }
  }

  void expect(std::string_view sql, std::string_view what) {
    expect_none(log_, catalogue_, sql, what, kRestoreBlock);
  }

  // Those that are no foreign keys.
  void check_references() {
    expect("SELECT count(*) FROM stack WHERE parent < 0 OR parent >= id",
           "entries of table stack whose parent is not an entry before them");
    expect("SELECT count(*) FROM stack WHERE location NOT IN (SELECT id FROM location)",
           "entries of table stack whose location is not there");
    expect(fmt::format(
               "SELECT count(*) FROM location WHERE kind IN ({}, {}, {}, {}) AND owner NOT IN (SELECT id "
               "FROM binary)",
               static_cast<int>(wire::ELF), static_cast<int>(wire::ELF_FILE_OFFSET),
               static_cast<int>(wire::KERNEL), static_cast<int>(wire::MODULE)),
           "entries of table location whose binary is not there");
    expect(fmt::format(
               "SELECT count(*) FROM location WHERE kind = {} AND owner NOT IN (SELECT id FROM workload)",
               static_cast<int>(wire::JIT)),
           "entries of table location whose workload is not there");
    expect("SELECT count(*) FROM frame WHERE function NOT IN (SELECT id FROM function)",
           "entries of table frame whose function is not there");
    expect("SELECT count(*) FROM frame WHERE file != 0 AND file NOT IN (SELECT id FROM source_file)",
           "entries of table frame whose file is not there");
    expect("SELECT count(*) FROM frame WHERE location NOT IN (SELECT location FROM binding)",
           "entries of table frame whose location is not bound");
    expect(
        "SELECT count(*) FROM binding_change WHERE location != 0 AND location NOT IN (SELECT id FROM "
        "location)",
        "entries of table binding_change whose location is not there");
    expect(
        "SELECT count(*) FROM origin WHERE length(profile_id) != 16 OR from_ns > to_ns OR interval_ns < 0 OR "
        "NOT (inclusion_probability > 0 AND inclusion_probability <= 1)",
        "entries of table origin with an ID, a window or a probability that no profile has");
    expect(
        "SELECT count(*) FROM origin a JOIN origin b ON b.id = a.id + 1 WHERE b.archive_sequence <= "
        "a.archive_sequence",
        "entries of table origin that are out of the order of the archive");
    expect("SELECT count(*) FROM unbuildable WHERE archive_sequence IN (SELECT archive_sequence FROM origin)",
           "profiles that are set aside and have rows");
  }

  // Derived: where it is damaged the catalogue is read, but what is sound and wrong would be believed.
  void check_pack() {
    const std::string path = entry_pack_path(block_);
    const auto pack = EntryPack::open(path);
    if (!pack && pack.error().code == ErrorCode::kNotFound) {
      return;
    }
    log_.start(path);
    Dictionaries packed;
    PackedFrames frames;
    Status read = pack ? pack->read_locations(packed) : propagate(pack);
    read = read ? pack->read_stacks(packed) : read;
    read = read ? pack->read_frames(frames) : read;
    if (!read) {
      log_.note(path, read.error().message,
                "nothing: the catalogue is read instead, and the server writes it again");
      return;
    }
    const auto dictionaries = load_dictionaries(catalogue_);
    const auto change = last_binding_change(catalogue_);
    const auto expected = BindingReader::load(catalogue_);
    const auto found = BindingReader::load(catalogue_, &frames);
    if (!dictionaries || !change || !expected) {
      return;  // said of the catalogue already
    }
    if (frames.last_change > *change) {
      return;  // a server has written it since
    }
    const bool is_same = found && packed.locations == dictionaries->locations &&
                         packed.stacks == dictionaries->stacks && has_same_frames(*found, *expected);
    if (!is_same) {
      log_.add(path, "it does not have what the catalogue has", "remove it: the server writes it again");
    }
  }

  static bool has_same_frames(const Bindings& some, const Bindings& others) {
    bool is_same = true;
    for (uint32_t location = 0; location < std::max(some.locations(), others.locations()); ++location) {
      is_same = is_same && std::ranges::equal(some.of(location), others.of(location));
    }
    return is_same;
  }

  void check_state() {
    const auto state = read_block_state(catalogue_);
    const auto expected =
        state ? block_state_of_origins(catalogue_, state->first_built_ns) : propagate(state);
    if (!expected) {
      log_.add(catalogue_.path(), expected.error(), kRestoreBlock);
      return;
    }
    if (state->from_ns != expected->from_ns || state->to_ns != expected->to_ns ||
        state->max_interval_ns != expected->max_interval_ns) {
      log_.add(catalogue_.path(), "the times that the block covers are not those of its profiles",
               std::string(kRestoreBlock));
    }
    if (!is_newest_ && !state->is_sealed) {
      log_.add(catalogue_.path(), "the block is not sealed, and there is a later one",
               std::string(kRestoreBlock));
    }
  }

  Status read_origins() {
    const auto have_labels = has_label_sets(catalogue_);
    if (!have_labels) {
      return propagate(have_labels);
    }
    for (const Column column : kColumns) {
      if (column == Column::kLabels && !*have_labels) {
        continue;
      }
      const auto last =
          catalogue_.integer(fmt::format("SELECT coalesce(max(id), 0) FROM {}", kTables[column]), 0);
      if (!last) {
        return propagate(last);
      }
      last_[column] = *last;
    }
    windows_.assign(static_cast<size_t>(last_[Column::kOrigin]) + 1, {});
    hits_.assign(windows_.size() * (static_cast<size_t>(last_[Column::kEvent]) + 1), 0);
    return sqlite::for_each_row(
        catalogue_.query("SELECT id, from_ns, to_ns FROM origin"), [&](const sqlite::Statement& row) {
          windows_[static_cast<size_t>(row.integer(0))] = {row.integer(1), row.integer(2)};
        });
  }

  struct Visible {
    SegmentEntry entry;
    Segment file;
  };

  std::string path_of(const SegmentEntry& segment) const {
    return block_.segments_path() + "/" + segment.file;
  }

  // Whether its hits are counted.
  bool check_segment(const Visible& segment) {
    const auto damaged = [&](std::string what) {
      log_.add(segment.file.path(), std::move(what), std::string(kRestoreSegment));
      return false;
    };
    log_.report().rows += segment.file.rows();
    const bool has_fewer_rows = segment.file.rows() < segment.entry.rows;
    if (has_fewer_rows && segment.file.size_bytes() == segment.entry.bytes) {
      log_.note(
          segment.file.path(),
          fmt::format("it has {} rows; in the catalogue it has {}, as older versions counted rows of one key",
                      segment.file.rows(), segment.entry.rows),
          "nothing: all hits are there, and the number goes when its segments are merged");
    } else if (segment.file.rows() != segment.entry.rows ||
               segment.file.size_bytes() != segment.entry.bytes) {
      return damaged(fmt::format("it has {} rows and {} bytes; in the catalogue it has {} and {}",
                                 segment.file.rows(), segment.file.size_bytes(), segment.entry.rows,
                                 segment.entry.bytes));
    }
    Window window{INT64_MAX, INT64_MIN};
    for (size_t chunk = 0; chunk < segment.file.chunks(); ++chunk) {
      Status read = segment.file.read_groups(chunk, groups_);
      read = read ? segment.file.read_matrix(chunk, matrix_) : read;
      if (!read) {
        return damaged(read.error().message);
      }
      if (!has_known_ids(segment.file.zones(chunk))) {
        return damaged(fmt::format("chunk {} has IDs that the catalogue does not have", chunk));
      }
      add_hits(window);
      log_.add_bytes(segment.file.chunk_bytes(chunk));
    }
    if (window.from_ns != segment.entry.from_ns || window.to_ns != segment.entry.to_ns) {
      return damaged("the times in the catalogue are not those of the profiles in it");
    }
    return true;
  }

  // IDs lie within the zones, which Segment checks.
  bool has_known_ids(const ChunkZones& zones) const {
    return std::ranges::all_of(kColumns, [&](Column column) {
      const bool may_be_none = column == Column::kLabels || column == Column::kStack;
      return zones[column].min >= (may_be_none ? 0 : 1) && int64_t{zones[column].max} <= last_[column];
    });
  }

  void add_hits(Window& window) {
    for (size_t group = 0; group < groups_.size; ++group) {
      const size_t origin = groups_[Column::kOrigin][group];
      hits_[origin * (static_cast<size_t>(last_[Column::kEvent]) + 1) + groups_[Column::kEvent][group]] +=
          groups_.hits[group];
      window.from_ns = std::min(window.from_ns, windows_[origin].from_ns);
      window.to_ns = std::max(window.to_ns, windows_[origin].to_ns);
    }
  }

  Status check_hits() {
    uint64_t wrong = 0;
    const Status read = sqlite::for_each_row(
        catalogue_.query("SELECT origin, event, hits FROM origin_event"), [&](const sqlite::Statement& row) {
          double& hits =
              hits_[static_cast<size_t>(row.integer(0)) * (static_cast<size_t>(last_[Column::kEvent]) + 1) +
                    static_cast<size_t>(row.integer(1))];
          wrong += hits != static_cast<double>(row.integer(2)) ? 1 : 0;
          hits = 0;
        });
    if (!read) {
      return read;
    }
    wrong += static_cast<uint64_t>(std::ranges::count_if(hits_, [](double hits) { return hits != 0; }));
    if (wrong != 0) {
      log_.add(
          catalogue_.path(),
          fmt::format("{} events of profiles have other hits in the segments than they came with", wrong),
          std::string(kRestoreBlock));
    }
    return {};
  }

  std::vector<std::string> files_in_folder() const {
    std::vector<std::string> files;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(block_.segments_path(), error), end;
         !error && entry != end; entry.increment(error)) {
      files.push_back(entry->path().filename().string());
    }
    if (error) {
      log_.add(block_.segments_path(), fmt::format("it cannot be listed: {}", error.message()),
               std::string(kRestoreBlock));
    }
    return files;
  }

  // What came with a transaction is in the list by now; what is gone was replaced a moment ago.
  void report_orphans(const std::vector<std::string>& files) {
    const auto visible = visible_segments(catalogue_);
    if (!visible) {
      return;  // said already
    }
    std::set<std::string> known;
    for (const SegmentEntry& segment : *visible) {
      known.insert(segment.file);
    }
    for (const std::string& file : files) {
      std::error_code error;
      const std::string path = block_.segments_path() + "/" + file;
      if (!known.contains(file) && std::filesystem::exists(path, error)) {
        log_.note(path, "no segment of the catalogue: left by a crash, or replaced within the last seconds",
                  "nothing: the next start of the server removes it");
      }
    }
  }

  CheckLog& log_;
  const BlockFolder& block_;
  const bool is_newest_;
  sqlite::Database& catalogue_;
  std::vector<Visible> segments_;
  std::map<std::string, Error> damaged_;
  bool has_all_ = true;
  ByColumn<int64_t> last_;       // IDs
  std::vector<Window> windows_;  // by origin
  std::vector<double> hits_;     // by origin and event
  ChunkGroups groups_;
  ChunkMatrix<uint64_t> matrix_;
};

}  // namespace

std::optional<sqlite::Database> check_block(CheckLog& log, const BlockFolder& block, bool is_newest,
                                            std::string_view id) {
  std::error_code error;
  if (!std::filesystem::exists(block.path, error)) {
    return std::nullopt;
  }
  ++log.report().blocks;
  auto catalogue = check_database(log, fmt::format("blocks/{}/catalogue.db", block.name()), id);
  if (catalogue) {
    BlockCheck(log, block, is_newest, *catalogue).run();
  }
  return catalogue;
}

}  // namespace plimsoll::store
