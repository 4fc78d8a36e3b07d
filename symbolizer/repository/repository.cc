#include "symbolizer/repository/repository.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>

#include "base/hex.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/time.h"
#include "elf/build_id.h"
#include "symbolizer/repository/repository_files.h"

namespace plimsoll::symbolizer {
namespace {

std::string folder_of_entry(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

// Private, as all of the data directory.
Status make_private_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno(errno, "creating {}", path);
  }
  return {};
}

Status remove_file(const std::string& path, const FileCalls& calls) {
  return calls.unlink(path.c_str()) == 0 || errno == ENOENT ? Status()
                                                            : fail_errno(errno, "removing {}", path);
}

KeptFile kept_file(const BinaryFacts& facts, int64_t modified_ns, int64_t added_ns, std::string source) {
  return {.kind = facts.kind,
          .quality = facts.quality,
          .size_bytes = facts.size_bytes,
          .content_hash = facts.content_hash,
          .htl_hash = facts.htl_hash,
          .modified_ns = modified_ns,
          .added_ns = added_ns,
          .source = std::move(source),
          .is_part = facts.is_part};
}

// Nothing in sources says of which build they are: the last that were given are the right ones. Of files with as many symbols, one that
// nothing was left out of goes before a part.
bool is_better(const BinaryFacts& facts, const KeptFile& kept) {
  if (facts.kind == BinaryKind::kSources) {
    return facts.content_hash != kept.content_hash;
  }
  return facts.quality > kept.quality || (facts.quality == kept.quality && kept.is_part && !facts.is_part);
}

bool is_worse(const BinaryFacts& facts, const KeptFile& kept) {
  return facts.quality < kept.quality || (facts.quality == kept.quality && facts.is_part && !kept.is_part);
}

int64_t modified_ns_of(const struct stat& info) {
  return info.st_mtim.tv_sec * kNsPerSecond + info.st_mtim.tv_nsec;
}

bool is_same_state(const struct stat& info, const KeptFile& file) {
  return static_cast<uint64_t>(info.st_size) == file.size_bytes && modified_ns_of(info) == file.modified_ns;
}

// Of is_of_same_build().
constexpr std::string_view kContent = "content";

std::unexpected<Error> conflict(const BinaryFacts& facts, const KeptFile& kept) {
  auto failure = fail(ErrorCode::kConflict,
                      "the {} file of build ID {} is kept with other bytes and as many symbols ({}; hash "
                      "{}, this one {})",
                      name_of(facts.kind), to_hex(facts.build_id), store::name_of(facts.quality),
                      to_hex(kept.content_hash), to_hex(facts.content_hash));
  failure = with_field(std::move(failure), std::string(kContent));
  return with_hint(std::move(failure),
                   "two builds have one build ID: check how it is made; the file that came first is kept");
}

}  // namespace

bool is_of_same_build(const Error& error) {
  return error.code == ErrorCode::kConflict && error.field == kContent;
}

std::string_view name_of(AddOutcome outcome) {
  switch (outcome) {
    case AddOutcome::kAdded:
      return "added";
    case AddOutcome::kReplaced:
      return "replaced";
    case AddOutcome::kKnown:
      return "known";
    case AddOutcome::kWorse:
      return "worse";
  }
  return "";
}

Result<std::unique_ptr<BinaryRepository>> BinaryRepository::open(const std::string& data_dir,
                                                                 const RepositoryLimits& limits,
                                                                 const FileCalls& calls) {
  std::unique_ptr<BinaryRepository> repository(new BinaryRepository(data_dir, limits, calls));
  Status done = repository->make_folders();
  done = done ? repository->remove_leftovers() : done;
  done = done ? repository->recover() : done;
  if (!done) {
    return propagate(done, "opening the repository of binaries of {}", data_dir);
  }
  return repository;
}

Status BinaryRepository::make_folders() const {
  const std::string root = repository_path(data_dir_);
  for (const std::string& folder : {root, root + "/.build-id", incoming_path(data_dir_)}) {
    if (const Status made = make_private_folder(folder); !made) {
      return made;
    }
  }
  const Status synced = sync_folder(data_dir_, calls_);
  return synced ? sync_folder(root, calls_) : synced;
}

Status BinaryRepository::make_folder_of(std::string_view build_id) const {
  const std::string folder = folder_of_entry(record_path(data_dir_, build_id));
  const Status made = make_private_folder(folder);
  return made ? sync_folder(folder_of_entry(folder), calls_) : made;
}

Status BinaryRepository::remove_leftovers() const {
  std::vector<std::string> paths;
  const Status listed = for_each_file(data_dir_, [&paths](const std::string& path) {
    if (path.ends_with(".tmp")) {
      paths.push_back(path);
    }
  });
  if (!listed) {
    return listed;
  }
  std::error_code error;
  std::filesystem::directory_iterator incoming(incoming_path(data_dir_), error);
  for (; !error && incoming != std::filesystem::directory_iterator(); incoming.increment(error)) {
    paths.push_back(incoming->path().string());
  }
  for (const std::string& path : paths) {
    if (const Status removed = remove_file(path, calls_); !removed) {
      return removed;
    }
  }
  return error ? fail_errno(error.value(), "listing {}", incoming_path(data_dir_)) : Status();
}

Status BinaryRepository::recover() {
  std::set<std::string> build_ids;
  const Status listed = for_each_file(data_dir_, [&build_ids](const std::string& path) {
    auto build_id = build_id_of_path(path, ".record");
    for (const BinaryKind kind : kBinaryKinds) {
      build_id = build_id ? std::move(build_id) : build_id_of_path(path, ending_of(kind));
    }
    if (build_id) {
      build_ids.insert(*std::move(build_id));
    }
  });
  if (!listed) {
    return listed;
  }
  for (const std::string& build_id : build_ids) {
    if (const Status recovered = recover_build(build_id); !recovered) {
      return recovered;
    }
  }
  return {};
}

// The files are the truth: a record that does not fit them was written before a crash, or is damaged. What cannot be read now is left as it is,
// and left out: the next start may find it well.
Status BinaryRepository::recover_build(const std::string& build_id) {
  const auto leave_out = [&build_id](const Error& error) {
    log_warning("leaving out the binaries of build ID {}: {}", to_hex(build_id), error.text());
    return Status();
  };
  auto read = read_record(data_dir_, build_id);
  if (!read && read.error().code != ErrorCode::kCorrupt && read.error().code != ErrorCode::kTooLarge) {
    return leave_out(read.error());
  }
  if (!read) {
    log_warning("{}: it is made again", read.error().text());
  }
  std::optional<BinaryRecord> noted = read ? *std::move(read) : std::nullopt;
  const bool had_record = noted.has_value();
  BinaryRecord record = noted ? *std::move(noted) : BinaryRecord{.build_id = build_id};
  bool is_changed = !had_record;
  for (const BinaryKind kind : kBinaryKinds) {
    const auto has_changed = recover_file(record, kind);
    if (!has_changed) {
      return leave_out(has_changed.error());
    }
    is_changed = is_changed || *has_changed;
  }
  if (record.files.empty()) {
    return remove_build(record);
  }
  link_by_cut_id(record);
  if (is_changed) {
    return keep_record(std::move(record));
  }
  const std::lock_guard lock(mutex_);
  room_->change_kept(0, record.size_bytes());
  records_.insert_or_assign(build_id, std::move(record));
  return {};
}

// Whether the record has changed.
Result<bool> BinaryRepository::recover_file(BinaryRecord& record, BinaryKind kind) const {
  const std::string path = kept_path(data_dir_, record.build_id, kind);
  const KeptFile* const noted = record.file(kind);
  struct stat info{};
  const bool is_there = ::stat(path.c_str(), &info) == 0;
  if (!is_there && errno != ENOENT) {
    return fail_errno(errno, "examining {}", path);
  }
  if (is_there ? noted != nullptr && is_same_state(info, *noted) : noted == nullptr) {
    return false;
  }
  auto file =
      is_there ? read_kept(record.build_id, kind, modified_ns_of(info)) : Result<std::optional<KeptFile>>();
  if (!file) {
    return propagate(file);
  }
  std::erase_if(record.files, [kind](const KeptFile& other) { return other.kind == kind; });
  if (auto kept = *std::move(file)) {
    record.set(*std::move(kept));
  }
  return true;
}

// Nothing where it is not what its name says: it is removed then. Files that came under a higher limit stay.
Result<std::optional<KeptFile>> BinaryRepository::read_kept(const std::string& build_id, BinaryKind kind,
                                                            int64_t modified_ns) const {
  const std::string path = kept_path(data_dir_, build_id, kind);
  const auto map = MappedFile::open(path, std::numeric_limits<uint64_t>::max());
  if (!map) {
    return propagate(map);
  }
  const auto facts = examine_file(map->bytes(), build_id, path);
  if (facts && facts->build_id == build_id && facts->kind == kind) {
    return std::optional(kept_file(*facts, modified_ns, wall_now_ns(), "found at the start of the server"));
  }
  log_warning("removing {}: {}", path,
              facts ? "it is a file of another build or kind" : facts.error().text().c_str());
  const Status removed = remove_file(path, calls_);
  return removed ? Result<std::optional<KeptFile>>() : propagate(removed);
}

Result<StagedBinary> BinaryRepository::stage(uint64_t declared_bytes) const {
  if (const Status room = room_->expect(declared_bytes); !room) {
    return propagate(room);
  }
  return StagedBinary::create(incoming_path(data_dir_), limits_.max_file_bytes, room_, calls_);
}

Result<AddedBinary> BinaryRepository::add(StagedBinary staged, const BinaryOrigin& origin) {
  const auto map = staged.map();
  const auto examine = [&origin](Bytes image) {
    return origin.may_be_sources ? examine_file(image, origin.build_id, "the file")
                                 : examine_binary(image, "the file");
  };
  const auto facts = map ? examine(map->bytes()) : Result<BinaryFacts>(propagate(map));
  if (!facts) {
    return propagate(facts);
  }
  if (!origin.build_id.empty() && origin.build_id != facts->build_id) {
    return fail(ErrorCode::kConflict, "the file has the build ID {}, not {}", to_hex(facts->build_id),
                to_hex(origin.build_id));
  }
  if (!origin.content_hash.empty() && origin.content_hash != facts->content_hash) {
    return with_hint(fail(ErrorCode::kCorrupt, "the content has the hash {}, not {} as stated",
                          to_hex(facts->content_hash), to_hex(origin.content_hash)),
                     "the file has changed on the way: send it from its start");
  }
  if (origin.kind && *origin.kind != facts->kind) {
    return fail(ErrorCode::kConflict, "the file is of the kind \"{}\", not \"{}\"", name_of(facts->kind),
                name_of(*origin.kind));
  }
  if (origin.must_be_part && !facts->is_part) {
    return fail(ErrorCode::kConflict, "the file is a debug file that no machine has made of an executable");
  }
  const std::lock_guard one(adding_);
  BinaryRecord record = find(facts->build_id).value_or(BinaryRecord{.build_id = facts->build_id});
  for (const auto& [key, text] : origin.labels) {
    if (const Status added = add_label(record.labels, key, text); !added) {
      return propagate(added);
    }
  }
  const KeptFile* const kept = record.file(facts->kind);
  if (kept == nullptr || is_better(*facts, *kept)) {
    return place(std::move(staged), *facts, std::move(record), origin);
  }
  const bool is_known = !is_worse(*facts, *kept);
  if (is_known && kept->content_hash != facts->content_hash) {
    return conflict(*facts, *kept);
  }
  AddedBinary added{.outcome = is_known ? AddOutcome::kKnown : AddOutcome::kWorse,
                    .build_id = facts->build_id,
                    .file = *kept};
  // The labels of a worse file may be those of another build with the same build ID.
  const Status noted = !is_known || origin.labels.empty() ? Status() : keep_record(std::move(record));
  return noted ? Result<AddedBinary>(std::move(added)) : propagate(noted);
}

// The record comes last: where it is not written, the next start makes it of the file.
Result<AddedBinary> BinaryRepository::place(StagedBinary staged, const BinaryFacts& facts,
                                            BinaryRecord record, const BinaryOrigin& origin) {
  if (record.files.empty() && builds() >= limits_.max_builds) {
    return with_hint(fail(ErrorCode::kUnavailable, "the repository of binaries has {} builds, its maximum",
                          limits_.max_builds),
                     "lower binaries.max_age of the server's configuration");
  }
  const KeptFile* const replaced = record.file(facts.kind);
  AddedBinary added{.outcome = replaced == nullptr ? AddOutcome::kAdded : AddOutcome::kReplaced,
                    .build_id = facts.build_id};
  const auto modified_ns = staged.modified_ns();
  if (!modified_ns) {
    return propagate(modified_ns);
  }
  added.file = kept_file(facts, *modified_ns, origin.now_ns,
                         printable(std::string_view(origin.source).substr(0, kMaxSourceBytes)));
  record.set(added.file);
  set_arriving(facts.build_id);
  Status done = make_folder_of(facts.build_id);
  done = done ? staged.move_to(kept_path(data_dir_, facts.build_id, facts.kind)) : done;
  done = done ? keep_record(std::move(record)) : done;
  set_arriving({});
  return done ? Result<AddedBinary>(std::move(added)) : propagate(done);
}

void BinaryRepository::set_arriving(std::string_view build_id) {
  const std::lock_guard lock(mutex_);
  arriving_ = build_id;
}

bool BinaryRepository::is_arriving(std::string_view build_id) const {
  const std::lock_guard lock(mutex_);
  return !arriving_.empty() && arriving_ == build_id;
}

// Names from perf's rows are all that depends on it: a full disk, or one without links, keeps nothing else from being found.
void BinaryRepository::link_by_cut_id(const BinaryRecord& record) const {
  for (const KeptFile& file : record.files) {
    if (const Status linked = link_cut_build_id(data_dir_, record.build_id, file.kind); !linked) {
      log_warning("rows of perf get no names from build ID {}: {}", to_hex(record.build_id),
                  linked.error().text());
    }
  }
}

Status BinaryRepository::keep_record(BinaryRecord record) {
  link_by_cut_id(record);
  const Status written =
      write_file_durably(record_path(data_dir_, record.build_id), as_bytes(encode_record(record)), calls_);
  if (!written) {
    return written;
  }
  const std::lock_guard lock(mutex_);
  const auto before = records_.find(record.build_id);
  room_->change_kept(before == records_.end() ? 0 : before->second.size_bytes(), record.size_bytes());
  std::string build_id = record.build_id;
  records_.insert_or_assign(std::move(build_id), std::move(record));
  return {};
}

// The record goes last: a file without one would be noted again.
Status BinaryRepository::remove_build(const BinaryRecord& record) {
  for (const BinaryKind kind : kBinaryKinds) {
    unlink_cut_build_id(data_dir_, record.build_id, kind);
    if (const Status removed = remove_file(kept_path(data_dir_, record.build_id, kind), calls_); !removed) {
      return removed;
    }
  }
  if (const Status removed = remove_file(record_path(data_dir_, record.build_id), calls_); !removed) {
    return removed;
  }
  const std::lock_guard lock(mutex_);
  const auto known = records_.find(record.build_id);
  if (known != records_.end()) {
    room_->change_kept(known->second.size_bytes(), 0);
    records_.erase(known);
  }
  return {};
}

std::optional<BinaryRecord> BinaryRepository::find(std::string_view build_id) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(build_id);
  return found == records_.end() ? std::nullopt : std::optional(found->second);
}

size_t BinaryRepository::builds() const {
  const std::lock_guard lock(mutex_);
  return records_.size();
}

bool BinaryRepository::is_used(std::string_view build_id, const std::set<std::string>& used) {
  return used.contains(std::string(build_id)) ||
         used.contains(std::string(build_id.substr(0, elf::kCutBuildIdBytes)));
}

bool BinaryRepository::has_surplus(int64_t now_ns) const {
  if (is_nearly_full()) {
    return true;
  }
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      records_, [&](const auto& entry) { return entry.second.added_ns() < now_ns - limits_.max_age_ns; });
}

Result<TrimReport> BinaryRepository::trim(const std::set<std::string>& used, int64_t now_ns) {
  const std::lock_guard one(adding_);
  std::vector<BinaryRecord> unused;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [build_id, record] : records_) {
      if (!is_used(build_id, used)) {
        unused.push_back(record);
      }
    }
  }
  std::ranges::sort(unused, {}, &BinaryRecord::added_ns);
  TrimReport report;
  for (const BinaryRecord& record : unused) {
    if (record.added_ns() >= now_ns - limits_.max_age_ns && !is_nearly_full()) {
      break;
    }
    if (const Status removed = remove_build(record); !removed) {
      return propagate(removed);
    }
    ++report.builds;
    report.bytes += record.size_bytes();
  }
  return report;
}

}  // namespace plimsoll::symbolizer
