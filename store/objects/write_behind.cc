#include "store/objects/write_behind.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "base/file.h"
#include "base/hex.h"
#include "base/random.h"
#include "sqlite/database.h"
#include "store/catalogue/catalogue.h"
#include "store/catalogue/file_version.h"
#include "store/catalogue/segment_table.h"
#include "store/identity/directory_identity.h"
#include "store/objects/object_files.h"

namespace plimsoll::store {
namespace {

constexpr uint64_t kMaxSmallBytes = uint64_t{64} << 10;  // of FORMAT and identity
constexpr uint64_t kMaxCopiedBytes = uint64_t{1} << 40;
constexpr size_t kWriterBytes = 16;

bool is_file_there(const std::string& path) {
  struct stat file{};
  return ::stat(path.c_str(), &file) == 0;
}

int64_t version_of(const struct stat& file) {
  return file.st_mtim.tv_sec * kNsPerSecond + file.st_mtim.tv_nsec;
}

// The copy of a database, which goes with it.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) { remove(); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { remove(); }

  const std::string& path() const { return path_; }

 private:
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  std::string path_;
};

}  // namespace

WriteBehind::WriteBehind(std::string data_dir, std::unique_ptr<objects::ObjectStore> store,
                         WriteBehindOptions options)
    : data_dir_(std::move(data_dir)),
      store_(std::move(store)),
      options_(std::move(options)),
      writer_(random_bytes(kWriterBytes)) {}

Result<WriteBehindReport> WriteBehind::run() {
  report_ = {};
  if (const Status begun = begin(); !begun) {
    return propagate(begun);
  }
  draft_ = manifest_;
  // First, so that the packs have all that these blocks have rows of.
  const auto sealed = sealed_blocks();
  // Without these a manifest is of no use.
  if (const Status copied = copy_identity(); !copied) {
    return propagate(copied);
  }
  const Status packed = copy_packs();
  const Status named = copy_symbol_tables();
  // A profile that has rows is in the archive: a block comes after its packs.
  const Status kept = !packed ? Status() : sealed ? copy_blocks(*sealed) : propagate(sealed);
  const Status written = write_manifest();
  for (const Status& step : {written, packed, named, kept}) {
    if (!step) {
      return propagate(step, "copying {} to the object store", data_dir_);
    }
  }
  return report_;
}

Status WriteBehind::begin() {
  if (has_begun_) {
    return {};
  }
  const auto identity = read_identity(data_dir_);
  if (!identity || !identity->is_complete()) {
    return identity ? Status(fail(ErrorCode::kUnavailable, "{} is being made", data_dir_))
                    : propagate(identity);
  }
  const auto text = store_->get(kManifestKey, objects::kMaxObjectBytes);
  const bool is_new = !text && text.error().code == ErrorCode::kNotFound;
  if (!text && !is_new) {
    return propagate(text);
  }
  auto found = is_new ? Result<Manifest>(Manifest{.directory_id = identity->id}) : parse_manifest(*text);
  if (!found) {
    return propagate(found, "reading what the object store has");
  }
  if (found->directory_id != identity->id) {
    return with_hint(
        fail(ErrorCode::kConflict, "the object store has data directory {}, and this is {}",
             to_hex(found->directory_id), to_hex(identity->id)),
        "give this server another prefix in objects.address, or restore that directory from the store");
  }
  found_writer_ = found->writer;
  manifest_ = *std::move(found);
  has_begun_ = true;
  return {};
}

Result<std::vector<BlockFolder>> WriteBehind::sealed_blocks() {
  const auto blocks = list_blocks(data_dir_ + "/blocks");
  if (!blocks) {
    return propagate(blocks);
  }
  std::vector<BlockFolder> sealed;
  for (const BlockFolder& block : *blocks) {
    const auto state = known_blocks_.state_of(block);
    // One that is damaged stays in the store as it was when it could be read, and copy_block() says why it cannot.
    if (state && !state->is_sealed) {
      break;
    }
    const bool is_newest = &block == &blocks->back();
    if (state || !is_newest) {
      sealed.push_back(block);
    }
  }
  known_blocks_.forget_before(blocks->front().number);
  return sealed;
}

// The list of databases comes before the databases: it names none that is not copied.
Status WriteBehind::copy_identity() {
  const auto format = read_file(data_dir_ + "/FORMAT", kMaxSmallBytes);
  const auto text = format ? read_file(identity_path(data_dir_), kMaxSmallBytes) : propagate(format);
  const auto identity = text ? read_identity(data_dir_) : propagate(text);
  if (!identity) {
    return propagate(identity);
  }
  const bool is_due = options_.now_ns() >= next_databases_ns_;
  for (const std::string& name : identity->databases) {
    const bool is_copied = name == "archive.db" || (!is_due && draft_.files.contains(name));
    if (const Status copied = is_copied ? Status() : copy_database(name); !copied) {
      return propagate(copied, "copying {}/{} to the object store", data_dir_, name);
    }
  }
  next_databases_ns_ = is_due ? options_.now_ns() + options_.database_pause_ns : next_databases_ns_;
  const Status put_format = put("FORMAT", as_bytes(*format), 0);
  return put_format ? put("identity", as_bytes(*text), 0) : put_format;
}

Status WriteBehind::copy_database(const std::string& name) {
  const std::string path = fmt::format("{}/{}", data_dir_, name);
  const auto version = file_version(path);
  if (!version) {
    return propagate(version);
  }
  const auto known = draft_.files.find(name);
  if (known != draft_.files.end() && known->second.version == *version) {
    return {};
  }
  const TemporaryFile copy(temporary_path(name));
  auto database = sqlite::Database::open(path, sqlite::OpenMode::kRead);
  const auto transaction = database ? sqlite::Transaction::begin_read(*database) : propagate(database);
  const Status copied = transaction ? database->copy_to(copy.path()) : propagate(transaction);
  const auto content = copied ? MappedFile::open(copy.path(), kMaxCopiedBytes) : propagate(copied);
  return content ? put(name, content->bytes(), *version) : propagate(content);
}

// The last pack grows until it is large enough, while its profiles are all there.
Status WriteBehind::copy_packs() {
  const auto archive = Archive::open(data_dir_ + "/archive.db", sqlite::OpenMode::kRead);
  const auto oldest = archive ? (*archive)->oldest() : propagate(archive);
  if (!oldest) {
    return propagate(oldest);
  }
  const std::optional<ReceivedProfile> oldest_profile = *oldest;
  const int64_t oldest_sequence = oldest_profile.has_value() ? oldest_profile->sequence : INT64_MAX;
  const std::vector<std::string> packs = draft_.paths_below("packs/");
  // Without a pack: before the first profile.
  PackRange last = packs.empty() ? PackRange() : pack_at(packs.back()).value_or(PackRange());
  auto found = (*archive)->next_after(last.last);
  if (!found) {
    return propagate(found);
  }
  const std::optional<ArchivedProfile> new_one = std::move(*found);
  // Numbers have no gaps: retention has dropped profiles that were never packed. A restored archive must have none either.
  if (last.last != 0 && new_one.has_value() && new_one->sequence > last.last + 1) {
    for (const std::string& path : packs) {
      draft_.drop(path, options_.now_ns() + options_.keep_dropped_ns);
    }
    last = {};
  }
  bool grows = last.last != 0 && draft_.files.at(packs.back()).bytes < options_.pack_bytes &&
               oldest_sequence <= last.first;
  int64_t after = grows ? last.first - 1 : last.last;
  bool has_more = new_one.has_value();
  while (has_more && !is_over_budget()) {
    const auto pack = next_pack(**archive, after);
    if (!pack) {
      return propagate(pack);
    }
    if (pack->is_empty()) {
      break;
    }
    if (const Status stored = put(pack_path(pack->range()), as_bytes(pack->content()), 0); !stored) {
      return stored;
    }
    if (std::exchange(grows, false) && pack->range().last != last.last) {
      draft_.drop(packs.back(), options_.now_ns() + kNsPerHour);
    }
    after = pack->range().last;
    has_more = pack->content().size() >= options_.pack_bytes;
  }
  drop_packs(oldest_sequence);
  return {};
}

Result<ProfilePack> WriteBehind::next_pack(Archive& archive, int64_t after) const {
  ProfilePack pack;
  while (pack.content().size() < options_.pack_bytes) {
    auto found = archive.next_after(after);
    if (!found) {
      return propagate(found);
    }
    const std::optional<ArchivedProfile> profile = std::move(*found);
    if (!profile.has_value()) {
      break;
    }
    pack.add(*profile);
    after = profile->sequence;
  }
  return pack;
}

// What the directory has dropped, and a block in the store has rows of.
void WriteBehind::drop_packs(int64_t oldest_sequence) {
  for (const std::string& path : draft_.paths_below("packs/")) {
    const auto range = pack_at(path);
    if (range && range->last < oldest_sequence && range->last <= draft_.built_up_to()) {
      draft_.drop(path, options_.now_ns() + options_.keep_dropped_ns);
    }
  }
}

// Each is immutable; one that goes is made again when it is needed.
Status WriteBehind::copy_symbol_tables() {
  const std::string folder = data_dir_ + "/symtab";
  std::set<std::string> there;
  std::error_code error;
  const bool has_tables = is_file_there(folder);
  for (std::filesystem::recursive_directory_iterator entry =
           has_tables ? std::filesystem::recursive_directory_iterator(folder, error)
                      : std::filesystem::recursive_directory_iterator();
       !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    struct stat file{};
    const std::string path = entry->path().string();
    if (entry->path().extension() != ".symtab" || ::stat(path.c_str(), &file) != 0) {
      continue;
    }
    const std::string name = "symtab/" + entry->path().lexically_relative(folder).string();
    there.insert(name);
    const auto known = draft_.files.find(name);
    const bool is_known = known != draft_.files.end() && known->second.version == version_of(file) &&
                          known->second.bytes == static_cast<uint64_t>(file.st_size);
    if (is_known || !objects::is_object_key(name) || is_over_budget()) {
      continue;
    }
    const auto content = MappedFile::open(path, kMaxCopiedBytes);
    if (!content && content.error().code == ErrorCode::kNotFound) {
      continue;
    }
    if (const Status stored = content ? put(name, content->bytes(), version_of(file)) : propagate(content);
        !stored) {
      return stored;
    }
  }
  if (error) {
    return fail_errno(error.value(), "listing {}", folder);
  }
  for (const std::string& path : draft_.paths_below("symtab/")) {
    if (!there.contains(path)) {
      draft_.drop(path, options_.now_ns() + options_.keep_dropped_ns);
    }
  }
  return {};
}

Status WriteBehind::copy_blocks(const std::vector<BlockFolder>& blocks) {
  // Those before the first are gone; where none is sealed, all are.
  drop_blocks_before(blocks.empty() ? INT64_MAX : blocks.front().number);
  Status all;
  for (const BlockFolder& block : blocks) {
    if (is_over_budget()) {
      break;
    }
    const Status copied = copy_block(block);
    all = all && !copied ? propagate(copied, "copying block {}", block.name()) : all;
    // One that the store has, and that is damaged here, keeps no other from being copied. There are no gaps.
    if (!copied &&
        (copied.error().code == ErrorCode::kUnavailable || !draft_.blocks.contains(block.number))) {
      break;
    }
  }
  return all;
}

Status WriteBehind::copy_block(const BlockFolder& block) {
  const auto version = file_version(block.catalogue_path());
  if (!version) {
    return propagate(version);
  }
  const auto known = draft_.blocks.find(block.number);
  if (known != draft_.blocks.end() && known->second.name == block.name() &&
      known->second.version == *version) {
    return {};
  }
  const TemporaryFile catalogue(temporary_path(block.name()));
  const auto copied = open_block(block, catalogue.path());
  const auto content = copied ? MappedFile::open(catalogue.path(), kMaxCopiedBytes) : propagate(copied);
  if (!content) {
    return propagate(content);
  }
  // A block that is not whole yet stands in no manifest.
  const Manifest before = draft_;
  Status stored;
  for (const OpenFile& file : copied->new_files) {
    const auto segment = stored ? MappedFile::map(file.file, file.path, kMaxCopiedBytes) : propagate(stored);
    stored = segment ? put(file.path, segment->bytes(), 0) : propagate(segment);
  }
  const std::string catalogue_name = fmt::format("blocks/{}/catalogue.db", block.name());
  stored = stored ? put(catalogue_name, content->bytes(), 0) : stored;
  if (!stored) {
    draft_ = before;
    return stored;
  }
  std::set<std::string> files(copied->paths.begin(), copied->paths.end());
  files.insert(catalogue_name);
  const std::string old_name = known != draft_.blocks.end() ? known->second.name : block.name();
  for (const std::string& name : {old_name, block.name()}) {
    for (const std::string& path : draft_.paths_below(fmt::format("blocks/{}/", name))) {
      if (!files.contains(path)) {
        draft_.drop(path, options_.now_ns() + kNsPerHour);
      }
    }
  }
  draft_.blocks[block.number] = {
      .name = block.name(), .version = *version, .built_up_to = copied->built_up_to};
  return {};
}

// As of one moment: the files are opened before the catalogue is copied, and stay while they are open.
Result<WriteBehind::CopiedBlock> WriteBehind::open_block(const BlockFolder& block,
                                                         const std::string& catalogue_copy) {
  auto catalogue = Catalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
  const auto transaction =
      catalogue ? sqlite::Transaction::begin_read(catalogue->database()) : propagate(catalogue);
  const auto visible = transaction ? visible_segments(catalogue->database()) : propagate(transaction);
  const auto built = visible ? last_built_sequence(catalogue->database()) : propagate(visible);
  if (!built) {
    return propagate(built);
  }
  CopiedBlock copied{.paths = {}, .new_files = {}, .built_up_to = *built};
  for (const SegmentEntry& segment : *visible) {
    copied.paths.push_back(fmt::format("blocks/{}/segments/{}", block.name(), segment.file));
    const auto known = draft_.files.find(copied.paths.back());
    if (known != draft_.files.end() && known->second.bytes == segment.bytes) {
      continue;
    }
    const std::string path = fmt::format("{}/{}", block.segments_path(), segment.file);
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) {
      return fail_errno(errno, "opening {}", path);
    }
    copied.new_files.push_back({copied.paths.back(), std::move(file)});
  }
  const Status made = catalogue->database().copy_to(catalogue_copy);
  return made ? Result<CopiedBlock>(std::move(copied)) : propagate(made);
}

void WriteBehind::drop_blocks_before(int64_t number) {
  while (!draft_.blocks.empty() && draft_.blocks.begin()->first < number) {
    const std::string folder = fmt::format("blocks/{}/", draft_.blocks.begin()->second.name);
    for (const std::string& path : draft_.paths_below(folder)) {
      draft_.drop(path, options_.now_ns() + options_.keep_dropped_ns);
    }
    draft_.blocks.erase(draft_.blocks.begin());
  }
}

Status WriteBehind::put(const std::string& path, Bytes content, int64_t version) {
  const StoredFile file = described(content, version);
  const auto known = draft_.files.find(path);
  if (known == draft_.files.end() || known->second.hash != file.hash) {
    put_.emplace_back(path, file);
    if (const Status stored = put_file(*store_, path, file, content); !stored) {
      return stored;
    }
    ++report_.files;
    report_.bytes += file.bytes;
  }
  draft_.set(path, file, options_.now_ns());
  return {};
}

bool WriteBehind::is_over_budget() {
  const bool is_over = report_.bytes >= options_.pass_bytes;
  report_.is_complete = report_.is_complete && !is_over;
  return is_over;
}

// Two processes that write the same directory, after it was restored say, would each remove what the other one has put.
Status WriteBehind::expect_own_manifest() {
  const auto text = store_->get(kManifestKey, objects::kMaxObjectBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) {
    return {};
  }
  const auto found = text ? parse_manifest(*text) : propagate(text);
  if (!found) {
    return propagate(found);
  }
  const bool is_own = found->directory_id == manifest_.directory_id &&
                      (found->writer == writer_ || found->writer == found_writer_);
  return is_own ? Status()
                : with_hint(fail(ErrorCode::kConflict, "another server writes to objects.address by now"),
                            "stop one of the two; the other goes on after its next start");
}

Status WriteBehind::write_manifest() {
  std::vector<LeavingFile> due;
  std::erase_if(draft_.leaving, [&](const LeavingFile& leaving) {
    const bool is_due = leaving.remove_at_ns <= options_.now_ns();
    if (is_due) {
      due.push_back(leaving);
    }
    return is_due;
  });
  draft_.writer = writer_;
  if (draft_ != manifest_) {
    draft_.written_ns = options_.now_ns();
    Status written = expect_own_manifest();
    written = written ? store_->put(kManifestKey, as_bytes(to_text(draft_))) : written;
    if (!written) {
      return propagate(written, "writing the manifest");
    }
    manifest_ = draft_;
    // A writer that takes over from now on has another ID.
    found_writer_ = writer_;
  }
  Status removed;
  for (const LeavingFile& leaving : due) {
    removed = removed ? remove_file(*store_, leaving.path, leaving.file) : removed;
  }
  // Of passes that failed.
  for (const auto& [path, file] : put_) {
    const auto listed = manifest_.files.find(path);
    const bool is_listed = listed != manifest_.files.end() && listed->second.hash == file.hash;
    removed = removed && !is_listed ? remove_file(*store_, path, file) : removed;
  }
  put_.clear();
  removed = removed && !has_removed_unlisted_ ? remove_unlisted() : removed;
  has_removed_unlisted_ = has_removed_unlisted_ || removed;
  return removed ? Status() : propagate(removed, "removing old objects");
}

Status WriteBehind::remove_unlisted() {
  std::set<std::string> listed;
  for (const auto& [path, file] : manifest_.files) {
    const std::vector<std::string> keys = object_keys(path, file);
    listed.insert(keys.begin(), keys.end());
  }
  for (const LeavingFile& leaving : manifest_.leaving) {
    const std::vector<std::string> keys = object_keys(leaving.path, leaving.file);
    listed.insert(keys.begin(), keys.end());
  }
  const auto there = store_->list(kFilesPrefix);
  if (!there) {
    return propagate(there);
  }
  for (const objects::ObjectInfo& object : *there) {
    const Status removed = listed.contains(object.key) ? Status() : store_->remove(object.key);
    if (!removed) {
      return removed;
    }
  }
  return {};
}

std::string WriteBehind::temporary_path(const std::string& name) const {
  return fmt::format("{}/copied.{}", data_dir_, name);
}

}  // namespace plimsoll::store
