#include "store/ingest.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <set>

#include "base/durable_file.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/no_exceptions.h"
#include "base/time.h"
#include "base/trial_process.h"
#include "store/blocks/block_damage.h"
#include "store/building/row_builder.h"
#include "store/catalogue/segment_table.h"
#include "store/directory/disk_usage.h"
#include "store/frames/binding_writer.h"
#include "store/model/bindings.h"
#include "store/segments/segment.h"
#include "symbolizer/names/demangle.h"

namespace plimsoll::store {
namespace {

// That a profile may throw while it is built.
constexpr int kMaxTimes = 2;
// Of the trial of one profile, which takes a second at most. It is no reason to set a profile aside, but keeps a start from waiting for
// one that takes forever.
constexpr uint32_t kTrialCpuSeconds = 60;

// A batch becomes one segment and one transaction; it ends when either bound is reached.
constexpr uint64_t kMaxBatchProfiles = 256;
constexpr size_t kMaxBatchRows = 4'000'000;

// A function that an application calls by its linkage name is to be the one that symbols have: the same name, the same row.
Frame frame_of(const wire::NamedFrame& named) {
  const bool is_mangled = symbolizer::is_mangled(named.function());
  const bool is_as_linked = is_mangled || named.function() == named.linkage_name();
  const bool lacks_linkage_name = named.linkage_name().empty() && is_mangled;
  return {.function = is_as_linked ? symbolizer::display_name(named.function()) : named.function(),
          .file = named.file(),
          .line = named.line(),
          .linkage_name = lacks_linkage_name ? named.function() : named.linkage_name(),
          .column = named.column(),
          .is_inlined = named.inlined_into_next()};
}

Status bind_named(sqlite::Database& database, const std::vector<NamedLocation>& named) {
  std::vector<Binding> bindings;
  for (const NamedLocation& location : named) {
    Binding binding{location.location, {}};
    for (const wire::NamedFrame& frame : location.frames) {
      binding.frames.push_back(frame_of(frame));
    }
    bindings.push_back(std::move(binding));
  }
  return BindingWriter(database).bind(bindings, 1);
}

Status keep_kernel_symbols(sqlite::Database& database, const wire::RawProfile& profile,
                           const std::vector<uint32_t>& binaries) {
  for (const wire::KernelImage& image : profile.kernel_symbols().images()) {
    const std::string content = image.SerializeAsString();
    const auto kept = database.execute("INSERT OR IGNORE INTO kernel_symbols (binary, content) VALUES (?, ?)",
                                       binaries[image.binary()], as_bytes(content));
    if (!kept) {
      return kept;
    }
  }
  return {};
}

// Symbols are looked up in turns by machine (store/frames/pending.h).
Status keep_machine(sqlite::Database& database, const std::string& machine_id, size_t first_new, size_t end) {
  for (size_t binary = first_new; binary < end; ++binary) {
    const auto kept =
        database.execute("INSERT OR IGNORE INTO binary_machine VALUES (?, ?)", binary, machine_id);
    if (!kept) {
      return kept;
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Ingest>> Ingest::open(const std::string& data_dir, const IngestOptions& options) {
  auto directory = DataDirectory::open_for_writing(data_dir);
  if (!directory) {
    return propagate(directory);
  }
  auto mark = BuildingMark::open(directory->building_path());
  if (!mark) {
    return propagate(mark);
  }
  EndedAt ended_at{mark->left(), std::nullopt};
  if (ended_at.sequence != 0) {
    log_info("the process before this one ended while it built profile number {}, which is tried alone first",
             ended_at.sequence);
    ended_at.why_set_aside = why_it_ends_processes(
        ended_at.sequence, [&] { return open_files(std::move(*directory), std::move(*mark), options); },
        options);
  }
  auto opened = open_files(std::move(*directory), std::move(*mark), options);
  if (!opened) {
    return propagate(opened);
  }
  const std::string blocks_path = (*opened)->directory().blocks_path();
  for (const Status& removed : {remove_dropped(blocks_path), remove_replaced(blocks_path)}) {
    if (!removed) {
      return propagate(removed);
    }
  }
  (*opened)->mark_.set(0);
  (*opened)->ended_at_ = std::move(ended_at);
  const auto blocks = (*opened)->blocks();
  if (!blocks) {
    return propagate(blocks);
  }
  for (const BlockFolder& block : *blocks) {
    const auto why = why_unreadable(block);
    if (!why) {
      return propagate(why, "looking at block {}", block.number);
    }
    // Without its catalogue nothing tells which of its files are needed.
    if (const std::optional<std::string>& damage = *why; damage && block.number < blocks->back().number) {
      log_error("block {} is left out, and stays as it is: {}; see \"plimsoll store repair --help\"",
                block.number, *damage);
      continue;
    }
    if (auto removed = remove_orphans(block); !removed) {
      if (block.number == blocks->back().number) {
        return propagate(removed);
      }
      // It costs rows of that block alone, which questions say.
      log_error("{}; see \"plimsoll store check\"", removed.error().text());
    }
  }
  return opened;
}

Result<std::unique_ptr<Ingest>> Ingest::open_for_rebuilding(const DataDirectory& directory,
                                                            const BlockFolder& block, int64_t up_to,
                                                            const IngestOptions& options) {
  IngestOptions unbounded = options;
  unbounded.block_limits = {.max_bytes = UINT64_MAX,
                            .max_entries = UINT64_MAX,
                            .max_profiles = UINT64_MAX,
                            .max_age_ns = INT64_MAX};
  auto mark = BuildingMark::open(directory.building_path());
  if (!mark) {
    return propagate(mark);
  }
  EndedAt ended_at{mark->left(), std::nullopt};
  const auto open = [&]() -> Result<std::unique_ptr<Ingest>> {
    auto own_mark = BuildingMark::open(directory.building_path());
    return own_mark ? open_files(directory.without_lock(), std::move(*own_mark), unbounded, &block)
                    : propagate(own_mark);
  };
  if (ended_at.sequence != 0 && ended_at.sequence <= up_to) {
    ended_at.why_set_aside = why_it_ends_processes(ended_at.sequence, open, unbounded);
  }
  auto opened = open();
  if (opened) {
    (*opened)->build_up_to_ = up_to;
    (*opened)->mark_.set(0);
    (*opened)->ended_at_ = std::move(ended_at);
  }
  return opened;
}

Result<std::unique_ptr<Ingest>> Ingest::open_files(DataDirectory directory, BuildingMark mark,
                                                   const IngestOptions& options, const BlockFolder* only) {
  auto archive = Archive::open(directory.archive_path(), sqlite::OpenMode::kReadWriteShrinking);
  if (!archive) {
    return propagate(archive);
  }
  auto accepted = Archive::open(directory.archive_path(), sqlite::OpenMode::kRead);
  if (!accepted) {
    return propagate(accepted);
  }
  const auto blocks =
      only != nullptr ? Result<std::vector<BlockFolder>>({*only}) : list_blocks(directory.blocks_path());
  if (!blocks) {
    return propagate(blocks);
  }
  auto newest = open_newest(blocks->back());
  if (!newest) {
    return propagate(newest);
  }
  auto machines = LiveMachines::open(directory.live_path(), sqlite::OpenMode::kReadWrite);
  if (!machines) {
    return propagate(machines);
  }
  std::unique_ptr<Ingest> ingest(new Ingest(std::move(directory), options, std::move(mark),
                                            std::move(*archive), std::move(*accepted), std::move(*newest),
                                            std::move(*machines)));
  const Status found = ingest->find_last_built(*blocks);
  return found ? Result<std::unique_ptr<Ingest>>(std::move(ingest)) : propagate(found);
}

Result<Ingest::NewestBlock> Ingest::open_newest(const BlockFolder& folder) {
  auto catalogue = Catalogue::open(folder.catalogue_path(), sqlite::OpenMode::kReadWrite);
  if (!catalogue) {
    return propagate(catalogue);
  }
  const auto state = read_block_state(catalogue->database());
  return state ? Result<NewestBlock>(NewestBlock{folder, std::move(*catalogue), *state, nullptr, {}})
               : propagate(state);
}

// In the newest block, or where nothing has been built in that yet, and it does not know itself, in the one before it.
Status Ingest::find_last_built(const std::vector<BlockFolder>& blocks) {
  for (auto block = blocks.rbegin(); block != blocks.rend() && last_built_ == 0; ++block) {
    auto catalogue = Catalogue::open(block->catalogue_path(), sqlite::OpenMode::kRead);
    const auto last_built = catalogue ? last_built_sequence(catalogue->database()) : propagate(catalogue);
    if (!last_built) {
      return propagate(last_built);
    }
    last_built_ = *last_built;
  }
  built_up_to_ = last_built_;
  return {};
}

// In a fork of this process, which opens the files by itself: no connection is open yet. All that it takes is its own, and goes with it.
std::optional<std::string> Ingest::why_it_ends_processes(int64_t sequence, const Opening& open,
                                                         const IngestOptions& options) {
  std::unique_ptr<Ingest> ingest;
  const auto load = [&] {
    auto opened = open();
    if (opened && (*opened)->load_dictionaries()) {
      ingest = std::move(*opened);
    }
  };
  const auto build = [&] {
    if (ingest != nullptr) {
      ingest->build_without_keeping(sequence);
    }
  };
  const auto killed = dies_alone(load, build, {options.trial_memory_bytes, kTrialCpuSeconds});
  if (!killed) {
    log_warning("cannot check whether profile number {} was the cause: {}", sequence, killed.error().text());
    return std::nullopt;
  }
  const std::optional<std::string>& why = *killed;
  return why ? std::optional("a process ended while it was built, and so did one that did nothing else: " +
                             *why)
             : std::nullopt;
}

Status Ingest::load_dictionaries() {
  if (block_.dictionaries != nullptr) {
    return {};
  }
  auto loaded = DictionaryWriter::open(block_.catalogue.database());
  if (!loaded) {
    return propagate(loaded);
  }
  block_.dictionaries = std::make_unique<DictionaryWriter>(std::move(*loaded));
  return {};
}

// Seals a block that is too old for what comes, and goes on with a new one where the newest is sealed.
Status Ingest::make_room() {
  const auto is_due = is_due_by_age();
  if (!is_due) {
    return propagate(is_due);
  }
  if (*is_due) {
    BlockState sealed = block_.state;
    sealed.is_sealed = true;
    if (const Status written = write_block_state(block_.catalogue.database(), sealed); !written) {
      return written;
    }
    block_.state = sealed;
  }
  if (!block_.state.is_sealed) {
    return {};
  }
  const auto next =
      make_block(directory_.blocks_path(), block_.folder.number + 1, block_.catalogue.database());
  auto opened = next ? open_newest(*next) : propagate(next);
  if (!opened) {
    return propagate(opened);
  }
  log_info("block {} is sealed; profiles go to block {} now", block_.folder.number, next->number);
  block_ = std::move(*opened);
  newest_ = block_.folder.number;
  return {};
}

// A block goes on while nothing comes.
Result<bool> Ingest::is_due_by_age() {
  const bool is_old = block_.state.first_built_ns != 0 && !block_.state.is_sealed &&
                      now_ns_() - block_.state.first_built_ns >= block_limits_.max_age_ns;
  if (!is_old) {
    return false;
  }
  const auto next = accepted_->next_after(last_built_);
  return next ? Result<bool>(next->has_value()) : propagate(next);
}

Status Ingest::write_catalogue(const BlockFolder& block, const CatalogueWork& work) {
  const auto write = [&](sqlite::Database& catalogue) -> Status {
    auto transaction = sqlite::Transaction::begin(catalogue);
    if (!transaction) {
      return propagate(transaction);
    }
    const Status done = work(catalogue);
    return done ? transaction->commit() : done;
  };
  // What is sealed does not wait for a batch.
  if (block.number >= newest_) {
    const std::lock_guard lock(catalogue_mutex_);
    if (block.number == block_.folder.number) {
      return write(block_.catalogue.database());
    }
  }
  const std::lock_guard lock(sealed_mutex_);
  // What were written to a folder that is only still there would be lost.
  if (const Status current = expect_current(block); !current) {
    return current;
  }
  // One that is missing is not made again with nothing in it.
  std::error_code ignored;
  if (std::filesystem::exists(block.path, ignored) && is_unreadable(block)) {
    return fail(ErrorCode::kCorrupt, "block {} cannot be read", block.number);
  }
  auto catalogue = sqlite::Database::open(block.catalogue_path(), sqlite::OpenMode::kReadWrite);
  return catalogue ? write(*catalogue) : propagate(catalogue);
}

Status Ingest::drop_block(const BlockFolder& block) {
  const std::lock_guard lock(sealed_mutex_);
  if (block.number >= newest_) {
    return fail(ErrorCode::kInvalid, "block {} takes rows and cannot be dropped", block.number);
  }
  const Status current = expect_current(block);
  return current ? store::drop_block(directory_.blocks_path(), block) : current;
}

bool Ingest::is_dropped(const BlockFolder& block) const {
  const auto blocks = this->blocks();
  return blocks && std::ranges::find(*blocks, block) == blocks->end();
}

Status Ingest::expect_current(const BlockFolder& block) {
  const auto replaced = is_replaced(block);
  if (!replaced) {
    return propagate(replaced);
  }
  return *replaced ? fail(ErrorCode::kNotFound, "{} has been replaced", block.path) : Status();
}

Result<BlockFolder> Ingest::replace_block(const BlockFolder& block, const Completion& complete) {
  const std::lock_guard lock(sealed_mutex_);
  if (block.number >= newest_) {
    return fail(ErrorCode::kInvalid, "block {} takes rows and cannot be replaced", block.number);
  }
  if (is_dropped(block)) {
    return fail(ErrorCode::kNotFound, "{} has been dropped or replaced", block.path);
  }
  const Status completed = complete(replacement_of(block));
  return completed ? publish_replacement(directory_.blocks_path(), block) : propagate(completed);
}

// All that build_batch() does with it, but for the disk.
void Ingest::build_without_keeping(int64_t sequence) {
  auto next = accepted_->next_after(sequence - 1);
  const auto transaction = sqlite::Transaction::begin(block_.catalogue.database());
  if (sequence <= last_built_ || !next || !transaction) {
    return;
  }
  const std::optional<ArchivedProfile> archived = std::move(*next);
  std::vector<Row> rows;
  BuildReport report;
  if (archived && archived->sequence == sequence && build_profile(*archived, rows, report)) {
    encode_rows(std::move(rows));
  }
}

Status Ingest::remove_orphans(const BlockFolder& block) {
  auto catalogue = Catalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
  const auto segments = catalogue ? visible_segments(catalogue->database()) : propagate(catalogue);
  if (!segments) {
    return propagate(segments);
  }
  std::set<std::string> visible;
  for (const SegmentEntry& segment : *segments) {
    visible.insert(segment.file);
  }
  Status removed;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(block.segments_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::filesystem::path& path = entry->path();
    if (visible.contains(path.filename().string())) {
      continue;
    }
    log_info("removing {}, which is not visible", path.string());
    std::error_code remove_error;
    std::filesystem::remove(path, remove_error);
    if (remove_error && removed) {
      removed =
          fail_errno(remove_error.value(), "removing {}, which is not a visible segment", path.string());
    }
  }
  return error ? Status(fail_errno(error.value(), "listing {}", block.segments_path())) : removed;
}

Result<Accepted> Ingest::accept(Bytes encoded, const wire::ProfileLimits& limits, const Check& check) {
  return accept_as(Arrival::kImported, encoded, limits, check);
}

Result<Accepted> Ingest::accept_upload(Bytes encoded, const wire::ProfileLimits& limits, const Check& check) {
  // Before the profile is decoded: it takes no room in memory while there is none on the disk.
  if (const Status room = check_room(); !room) {
    return propagate(room);
  }
  return accept_as(Arrival::kUploaded, encoded, limits, [&](const wire::RawProfile& profile) -> Status {
    const Status checked = check ? check(profile) : Status();
    return checked ? check_age(profile) : checked;
  });
}

Status Ingest::check_room() {
  if (upload_limits_.min_free_bytes > 0) {
    const auto free = free_bytes(directory_.path());
    if (free && *free < upload_limits_.min_free_bytes) {
      return with_hint(
          fail(ErrorCode::kUnavailable, "{} bytes are free on the disk of {}, under the minimum of {}", *free,
               directory_.path(), upload_limits_.min_free_bytes),
          "free some, or lower retention.min_free_bytes");
    }
  }
  if (upload_limits_.max_archive_bytes < INT64_MAX) {
    const auto used = archive_->used_bytes();
    if (used && *used > upload_limits_.max_archive_bytes) {
      return with_hint(fail(ErrorCode::kUnavailable,
                            "raw profiles take {} bytes, over the limit of {}: no rows are built from them",
                            *used, upload_limits_.max_archive_bytes),
                       "see what \"plimsoll status\" says of rows");
    }
  }
  return {};
}

Status Ingest::check_age(const wire::RawProfile& profile) const {
  const wire::Window& window = profile.window();
  const int64_t end_ns =
      window.start().wall_ns() + window.end().monotonic_ns() - window.start().monotonic_ns();
  const int64_t age_ns = now_ns_() - end_ns;
  if (age_ns <= upload_limits_.max_age_ns) {
    return {};
  }
  // A clock that was set ahead makes every profile too old, and daemons drop what is refused. Where nothing has come lately either, it may
  // be the clock: what comes next, if it is right, ends the doubt.
  const auto newest_ns = archive_->newest_received_ns();
  if (newest_ns && *newest_ns != 0 && now_ns_() - *newest_ns > upload_limits_.max_age_ns) {
    return with_hint(
        fail(ErrorCode::kUnavailable,
             "profile {} is of {} ago, and so is the newest that came before: the clock may be wrong",
             to_hex(profile.profile_id()), format_duration(age_ns)),
        "check the server's clock; profiles of now are taken");
  }
  return with_hint(with_field(fail(ErrorCode::kInvalid, "profile {} is of {} ago, over the maximum age of {}",
                                   to_hex(profile.profile_id()), format_duration(age_ns),
                                   format_duration(upload_limits_.max_age_ns)),
                              "window"),
                   "keep limits.max_spool_age of daemons below retention.max_upload_age of the server");
}

Result<Accepted> Ingest::accept_as(Arrival arrival, Bytes encoded, const wire::ProfileLimits& limits,
                                   const Check& check) {
  MemoryShare memory(memory_);
  const auto profile =
      wire::decode(encoded, limits, [&memory](uint64_t bytes) { return memory.try_take(bytes); });
  if (!profile) {
    return propagate(profile);
  }
  if (const Status checked = check ? check(*profile) : Status(); !checked) {
    return propagate(checked);
  }
  const auto acceptance = archive_->accept(profile->profile_id(), encoded, now_ns_(), arrival);
  if (!acceptance) {
    auto failure = propagate(acceptance);
    if (failure.error().code != ErrorCode::kConflict) {
      failure.error().code =
          ErrorCode::kUnavailable;  // our trouble, not the profile's: keep it, and try again
    }
    return failure;
  }
  uint64_t hits = 0;
  for (const wire::Event& event : profile->events()) {
    hits += event.kind() == wire::SQUARES ? 0 : event.hits();
  }
  return Accepted{*acceptance, profile->profile_id(), hits};
}

Result<BuildReport> Ingest::build_pending() {
  const std::lock_guard lock(catalogue_mutex_);
  Status ready = make_room();
  ready = ready ? load_dictionaries() : ready;
  if (!ready) {
    return propagate(ready);
  }
  const int64_t last_built_before = last_built_;
  const DictionaryWriter::Mark dictionaries_before = block_.dictionaries->mark();
  std::string segment_path;
  auto report = build_without_exceptions(segment_path);
  mark_.set(0);
  if (!report) {
    // Nothing was committed: memory must forget what the database has rolled back. To load all of it again would take memory, for want
    // of which most builds fail.
    block_.dictionaries->roll_back(dictionaries_before);
    block_.order = {};
    last_built_ = last_built_before;
    if (!segment_path.empty()) {
      ::unlink(segment_path.c_str());
    }
  }
  built_up_to_ = last_built_;
  return report;
}

Result<BuildReport> Ingest::build_without_exceptions(std::string& segment_path) {
  try {
    return build_batch(segment_path);
  } catch (const std::exception& exception) {
    // A small one for which there is no memory is not to blame: other work has it.
    const bool lacks_memory = dynamic_cast<const std::bad_alloc*>(&exception) != nullptr;
    const bool is_to_blame = building_is_large_ || !lacks_memory;
    trouble_.times = (trouble_.sequence == building_ ? trouble_.times : 0) + (is_to_blame ? 1 : 0);
    trouble_.sequence = building_;
    trouble_.what = exception.what();
    // Whoever called has to undo what was begun: nothing may be thrown from here.
    return failure_without_exceptions([&] {
      return fail(ErrorCode::kTooLarge, "building the rows of profile number {}: {}", building_,
                  exception.what());
    });
  }
}

Result<BuildReport> Ingest::build_batch(std::string& segment_path) {
  BuildReport report;
  std::vector<Row> rows;
  auto transaction = sqlite::Transaction::begin(block_.catalogue.database());
  if (!transaction) {
    return propagate(transaction);
  }
  const size_t first_new_origin = block_.dictionaries->entries().origins.size();
  // Where one made trouble the others before it may have taken the memory: they go first, by themselves.
  // Where a process ended, one by one shows which it was if it comes to that again.
  const int64_t one_by_one = std::max(trouble_.sequence, ended_at_.sequence);
  const uint64_t room =
      block_limits_.max_profiles - std::min(block_limits_.max_profiles, first_new_origin - 1);
  const uint64_t max_profiles =
      last_built_ < one_by_one ? 1 : std::clamp<uint64_t>(room, 1, kMaxBatchProfiles);
  while (report.profiles + report.unbuildable < max_profiles && rows.size() < kMaxBatchRows) {
    auto next = accepted_->next_after(last_built_);
    if (!next) {
      return propagate(next);
    }
    const std::optional<ArchivedProfile> archived = std::move(*next);
    if (!archived.has_value() || archived->sequence > build_up_to_) {
      break;
    }
    if (auto built = build_profile(*archived, rows, report); !built) {
      return propagate(built);
    }
    last_built_ = archived->sequence;
  }
  if (report.profiles + report.unbuildable == 0) {
    return report;
  }
  report.rows = rows.size();
  BlockState state = block_.state;
  Status written = write_segment(std::move(rows), segment_path);
  written = written ? write_state(first_new_origin, state) : written;
  written = written ? transaction->commit() : written;
  if (!written) {
    return propagate(written);
  }
  block_.state = state;
  return report;
}

// What the block covers with the origins that have come, and whether they were its last.
Status Ingest::write_state(size_t first_new_origin, BlockState& state) {
  const AppendOnlyList<OriginEntry>& origins = block_.dictionaries->entries().origins;
  for (const OriginEntry& origin : origins.span().subspan(first_new_origin)) {
    state.from_ns = std::min(state.from_ns, origin.from_ns);
    state.to_ns = std::max(state.to_ns, origin.to_ns);
    state.max_interval_ns = std::max(state.max_interval_ns, origin.interval_ns);
  }
  state.first_built_ns = state.first_built_ns == 0 ? now_ns_() : state.first_built_ns;
  const auto bytes = bytes_of_block();
  if (!bytes) {
    return propagate(bytes);
  }
  state.is_sealed = *bytes >= block_limits_.max_bytes || origins.size() - 1 >= block_limits_.max_profiles ||
                    entries_of_block() >= block_limits_.max_entries;
  return write_block_state(block_.catalogue.database(), state);
}

uint64_t Ingest::entries_of_block() const {
  const Dictionaries& entries = block_.dictionaries->entries();
  return entries.machines.size() + entries.workloads.size() + entries.threads.size() +
         entries.label_sets.size() + entries.binaries.size() + entries.locations.size() +
         entries.stacks.size();
}

// Of its catalogue, and the segments in it.
Result<uint64_t> Ingest::bytes_of_block() {
  sqlite::Database& catalogue = block_.catalogue.database();
  const auto pages = catalogue.integer("PRAGMA page_count", 0);
  const auto page_bytes = catalogue.integer("PRAGMA page_size", 0);
  const auto segment_bytes = catalogue.integer("SELECT coalesce(sum(bytes), 0) FROM segment", 0);
  for (const auto* number : {&pages, &page_bytes, &segment_bytes}) {
    if (!*number) {
      return propagate(*number, "measuring a block");
    }
  }
  return static_cast<uint64_t>(*pages * *page_bytes + *segment_bytes);
}

Status Ingest::build_profile(const ArchivedProfile& archived, std::vector<Row>& rows, BuildReport& report) {
  sqlite::Database& database = block_.catalogue.database();
  const auto set_aside = [&](const Error& error) {
    log_warning("no rows can be built from profile {}: {}", to_hex(archived.id), error.text());
    ++report.unbuildable;
    return database.execute("INSERT OR REPLACE INTO unbuildable VALUES (?, ?)", archived.sequence,
                            error.text());
  };
  if (trouble_.sequence == archived.sequence && trouble_.times >= kMaxTimes) {
    return set_aside(Error{ErrorCode::kTooLarge, "it failed twice: " + trouble_.what, {}, {}});
  }
  if (ended_at_.sequence == archived.sequence && ended_at_.why_set_aside) {
    return set_aside(Error{ErrorCode::kTooLarge, *ended_at_.why_set_aside, {}, {}});
  }
  building_ = archived.sequence;
  building_is_large_ = true;
  mark_.set(building_);
  // It was checked when it was accepted, with the limits of then.
  uint64_t decoded_bytes = 0;
  MemoryShare memory(memory_);
  const auto profile = wire::decode(as_bytes(archived.encoded), {UINT64_MAX, INT32_MAX}, [&](uint64_t bytes) {
    decoded_bytes += bytes;
    building_is_large_ = decoded_bytes > kUncountedBytes;
    memory.take(bytes);
    return Status();
  });
  if (!profile && profile.error().code == ErrorCode::kExhausted) {
    return propagate(profile, "building the rows of profile number {}", building_);
  }
  if (!profile) {
    return set_aside(profile.error());
  }
  if (on_building) {
    on_building(archived);
  }
  const size_t binaries_before = block_.dictionaries->entries().binaries.size();
  const auto built = build_rows(*profile, archived.sequence, database, *block_.dictionaries);
  if (!built) {
    return built.error().code == ErrorCode::kConflict ? set_aside(built.error()) : propagate(built);
  }
  if (auto bound = bind_named(database, built->named); !bound) {
    return bound;
  }
  if (auto kept = keep_kernel_symbols(database, *profile, built->binaries); !kept) {
    return kept;
  }
  if (auto kept = keep_machine(database, profile->machine().id(), binaries_before,
                               block_.dictionaries->entries().binaries.size());
      !kept) {
    return kept;
  }
  rows.insert(rows.end(), built->rows.begin(), built->rows.end());
  ++report.profiles;
  return {};
}

std::string Ingest::encode_rows(std::vector<Row> rows) {
  const AppendOnlyList<WorkloadEntry>& workloads = block_.dictionaries->entries().workloads;
  for (size_t id = block_.order.workloads(); id < workloads.size(); ++id) {
    block_.order.add_workload(workloads[id].job);
  }
  return encode_segment(std::move(rows), block_.order);
}

Status Ingest::write_segment(std::vector<Row> rows, std::string& segment_path) {
  if (rows.empty()) {
    return {};
  }
  SegmentEntry segment{.file = fmt::format("{:012}.rows", last_built_),
                       .rows = rows.size(),
                       .from_ns = INT64_MAX,
                       .to_ns = INT64_MIN};
  for (const Row& row : rows) {
    const OriginEntry& origin = block_.dictionaries->entries().origins[row[Column::kOrigin]];
    segment.from_ns = std::min(segment.from_ns, origin.from_ns);
    segment.to_ns = std::max(segment.to_ns, origin.to_ns);
  }
  const std::string content = encode_rows(std::move(rows));
  segment.bytes = content.size();
  segment_path = block_.folder.segments_path() + "/" + segment.file;
  if (auto written = write_file_durably(segment_path, as_bytes(content)); !written) {
    return written;
  }
  return insert_segment(block_.catalogue.database(), segment);
}

}  // namespace plimsoll::store
