#include "store/replica/copied_directory.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/durable_file.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/unique_fd.h"
#include "sqlite/database.h"
#include "store/blocks/block_folder.h"
#include "store/directory/data_directory.h"
#include "store/identity/directory_identity.h"
#include "store/identity/listed_database.h"

namespace plimsoll::store {
namespace {

constexpr size_t kIdBytes = 16;
constexpr size_t kHashBytes = 16;
constexpr size_t kMaxAddressBytes = 2048;
constexpr uint64_t kMaxFactsBytes = uint64_t{64} << 10;

// The last that a complete folder gets.
std::string facts_path(const std::string& folder) {
  return folder + "/copy";
}

bool is_id_text(std::string_view text) {
  const auto id = from_hex(text);
  return id && id->size() == kIdBytes && to_hex(*id) == text;
}

Status check_files(const std::string& folder, const wire::DirectoryCopy& facts) {
  for (const wire::DirectoryCopy::File& file : facts.files()) {
    const std::string path = fmt::format("{}/{}", folder, file.name());
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) {
      return fail_errno(errno, "opening {}", path);
    }
    const auto hash = content_hash_of_file(fd, path, file.size_bytes());
    if (!hash) {
      return propagate(hash);
    }
    if (*hash != file.content_hash()) {
      return fail(ErrorCode::kCorrupt, "the copy {} is damaged: its content is not what the server has sent",
                  path);
    }
  }
  return {};
}

// A block without rows, since a data directory has one.
Status make_block(const std::string& folder, std::string_view directory_id) {
  std::error_code error;
  std::filesystem::create_directories(folder + "/blocks", error);
  if (error) {
    return fail_errno(error.value(), "creating {}/blocks", folder);
  }
  const auto block = make_first_block(folder + "/blocks");
  auto catalogue = block ? sqlite::Database::open(block->catalogue_path(), sqlite::OpenMode::kReadWrite)
                         : propagate(block);
  return catalogue ? give_directory_id(*catalogue, directory_id) : propagate(catalogue);
}

Status make_directory_of(const std::string& folder, const wire::DirectoryCopy& facts) {
  Status made = make_block(folder, facts.directory_id());
  DirectoryIdentity identity{
      .id = facts.directory_id(),
      .rows = {.address = facts.rows_address(),
               .insert_quorum = int64_t{facts.rows_insert_quorum()},
               .shards = std::vector<std::string>(facts.rows_shards().begin(), facts.rows_shards().end())}};
  identity.databases.assign(kCopiedDatabases.begin(), kCopiedDatabases.end());
  made = made ? write_identity(folder, identity) : made;
  return made
             ? write_file_durably(folder + "/FORMAT", as_bytes(fmt::format("{}\n", facts.directory_format())))
             : made;
}

Status expect_directory(const std::string& folder, const wire::DirectoryCopy& facts) {
  const auto directory = DataDirectory::open_for_reading(folder);
  Status expected = directory ? Status() : propagate(directory);
  for (const std::string_view name : kCopiedDatabases) {
    expected = expected ? expect_database(folder, name, facts.directory_id()) : expected;
  }
  return expected;
}

}  // namespace

uint32_t copy_version_of(const wire::DirectoryCopy& facts) {
  return facts.rows_shards().empty() ? kDirectoryCopyVersion : kShardedCopyVersion;
}

Status check_copy(const wire::DirectoryCopy& facts) {
  if (facts.format_version() != copy_version_of(facts) ||
      facts.directory_format() != static_cast<uint32_t>(kDirectoryFormat)) {
    return with_hint(
        fail(ErrorCode::kUnsupported,
             "the copy of the directory has version {} and format {}; this program reads {} and {}",
             facts.format_version(), facts.directory_format(), copy_version_of(facts), kDirectoryFormat),
        "run the same version of Plimsoll on both machines");
  }
  const auto may_be_address = [](const std::string& text) {
    return text.size() <= kMaxAddressBytes &&
           std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
  };
  const bool has_addresses =
      may_be_address(facts.rows_address()) &&
      std::all_of(facts.rows_shards().begin(), facts.rows_shards().end(), may_be_address);
  if (!is_id_text(facts.id()) || facts.directory_id().size() != kIdBytes || !has_addresses) {
    return fail(ErrorCode::kCorrupt, "the copy of the directory has no valid ID or address of rows");
  }
  for (const std::string_view name : kCopiedDatabases) {
    const auto of_name = [name](const wire::DirectoryCopy::File& file) {
      return file.name() == name && file.content_hash().size() == kHashBytes;
    };
    if (std::count_if(facts.files().begin(), facts.files().end(), of_name) != 1) {
      return fail(ErrorCode::kCorrupt, "the copy of the directory does not have one {}", name);
    }
  }
  return facts.files().size() == static_cast<int>(kCopiedDatabases.size())
             ? Status()
             : fail(ErrorCode::kCorrupt, "the copy of the directory has files of other names");
}

Result<std::shared_ptr<CopiedDirectory>> CopiedDirectory::make(const std::string& folder,
                                                               wire::DirectoryCopy facts) {
  Status made = check_files(folder, facts);
  made = made ? make_directory_of(folder, facts) : made;
  made = made ? expect_directory(folder, facts) : made;
  made = made ? write_file_durably(facts_path(folder), as_bytes(facts.SerializeAsString())) : made;
  return made ? Result<std::shared_ptr<CopiedDirectory>>(
                    std::shared_ptr<CopiedDirectory>(new CopiedDirectory(folder, std::move(facts))))
              : propagate(made, "putting the copy of the directory into {}", folder);
}

Result<std::shared_ptr<CopiedDirectory>> CopiedDirectory::open(const std::string& folder) {
  const auto text = read_file(facts_path(folder), kMaxFactsBytes);
  if (!text) {
    return propagate(text);
  }
  wire::DirectoryCopy facts;
  if (!facts.ParseFromString(*text)) {
    return fail(ErrorCode::kCorrupt, "{} is damaged", facts_path(folder));
  }
  Status sound = check_copy(facts);
  sound = sound ? check_files(folder, facts) : sound;
  sound = sound ? expect_directory(folder, facts) : sound;
  return sound ? Result<std::shared_ptr<CopiedDirectory>>(
                     std::shared_ptr<CopiedDirectory>(new CopiedDirectory(folder, std::move(facts))))
               : propagate(sound, "opening the copy of the directory in {}", folder);
}

CopiedDirectory::CopiedDirectory(std::string folder, wire::DirectoryCopy facts)
    : folder_(std::move(folder)), facts_(std::move(facts)), fleet_(open_fleet(folder_)) {}

CopiedDirectory::~CopiedDirectory() {
  fleet_.reset();
  if (is_to_go_) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
}

}  // namespace plimsoll::store
