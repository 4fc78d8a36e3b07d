#include "sqlite/page_checksums.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>

#include "base/checksum.h"
#include "base/file.h"

namespace plimsoll::sqlite {
namespace {

constexpr int kHeaderBytes = 100;
constexpr int kReservedAt = 20;  // in the header
constexpr int kMinPageBytes = 512;
constexpr std::string_view kMagic{"SQLite format 3\0", 16};

struct Layer {
  sqlite3_vfs vfs;  // first: SQLite knows the layer by it
  sqlite3_vfs* base;
  std::string name;
};

// A database file; the base's own follows it in memory.
struct DatabaseFile {
  sqlite3_file file;
  enum class Checksums { kUnknown, kNone, kAll } checksums;
};

sqlite3_file* base_of(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<DatabaseFile*>(file) + 1);
}

// SQLite reads and writes whole pages, but for the header, and with its own offsets only those.
bool is_page(int bytes, sqlite3_int64 offset) {
  return bytes >= kMinPageBytes && (bytes & (bytes - 1)) == 0 && offset % bytes == 0;
}

uint64_t checksum_of(const std::byte* page, int bytes, sqlite3_int64 offset) {
  // A page in the place of another is as wrong as a flipped bit.
  const auto number = static_cast<uint64_t>(offset / bytes);
  return checksum64(Bytes(page, static_cast<size_t>(bytes - kPageChecksumBytes))) ^
         checksum64(std::as_bytes(std::span(&number, 1)));
}

// Space that SQLite has skipped has never been written.
bool is_unwritten(const std::byte* page, int bytes) {
  return std::all_of(page, page + bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

bool is_as_written(const std::byte* page, int bytes, sqlite3_int64 offset) {
  uint64_t stored = 0;
  std::memcpy(&stored, page + bytes - kPageChecksumBytes, sizeof stored);
  return stored == checksum_of(page, bytes, offset) || is_unwritten(page, bytes);
}

// From the beginning of a file. That of an empty one says nothing.
void learn(DatabaseFile& file, const std::byte* header) {
  if (std::memcmp(header, kMagic.data(), kMagic.size()) == 0) {
    file.checksums = header[kReservedAt] == std::byte{kPageChecksumBytes} ? DatabaseFile::Checksums::kAll
                                                                          : DatabaseFile::Checksums::kNone;
  }
}

int read(sqlite3_file* file, void* to, int bytes, sqlite3_int64 offset) {
  const int code = base_of(file)->pMethods->xRead(base_of(file), to, bytes, offset);
  if (code != SQLITE_OK) {
    return code;
  }
  auto& database = *reinterpret_cast<DatabaseFile*>(file);
  const auto* page = static_cast<const std::byte*>(to);
  if (offset == 0 && bytes >= kHeaderBytes) {
    learn(database, page);
  }
  const bool is_wrong = database.checksums == DatabaseFile::Checksums::kAll && is_page(bytes, offset) &&
                        !is_as_written(page, bytes, offset);
  return is_wrong ? SQLITE_CORRUPT : SQLITE_OK;
}

int write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 offset) {
  auto& database = *reinterpret_cast<DatabaseFile*>(file);
  const auto* content = static_cast<const std::byte*>(from);
  if (offset == 0 && bytes >= kHeaderBytes) {
    learn(database, content);
  } else if (database.checksums == DatabaseFile::Checksums::kUnknown) {
    // It was empty when it was opened, and another connection has made it since.
    std::byte header[kHeaderBytes];
    if (base_of(file)->pMethods->xRead(base_of(file), header, kHeaderBytes, 0) == SQLITE_OK) {
      learn(database, header);
    }
  }
  if (database.checksums != DatabaseFile::Checksums::kAll || !is_page(bytes, offset)) {
    return base_of(file)->pMethods->xWrite(base_of(file), from, bytes, offset);
  }
  // SQLite's own copy of the page is not ours to change. One of each write's own: connections are closed, and write, when a process ends, after
  // what threads keep is gone.
  const std::unique_ptr<std::byte[]> page(new (std::nothrow) std::byte[static_cast<size_t>(bytes)]);
  if (page == nullptr) {
    return SQLITE_NOMEM;
  }
  std::memcpy(page.get(), content, static_cast<size_t>(bytes));
  const uint64_t checksum = checksum_of(page.get(), bytes, offset);
  std::memcpy(page.get() + bytes - kPageChecksumBytes, &checksum, sizeof checksum);
  return base_of(file)->pMethods->xWrite(base_of(file), page.get(), bytes, offset);
}

// The methods that the base does alone.
template <auto Method, typename... Arguments>
int pass_on(sqlite3_file* file, Arguments... arguments) {
  return (base_of(file)->pMethods->*Method)(base_of(file), arguments...);
}

using Methods = sqlite3_io_methods;

int close(sqlite3_file* file) {
  const int code = pass_on<&Methods::xClose>(file);
  file->pMethods = nullptr;
  return code;
}

void shm_barrier(sqlite3_file* file) {
  base_of(file)->pMethods->xShmBarrier(base_of(file));
}

// Mapped pages would not be compared.
int fetch(sqlite3_file* /*file*/, sqlite3_int64 /*offset*/, int /*bytes*/, void** page) {
  *page = nullptr;
  return SQLITE_OK;
}

int unfetch(sqlite3_file* /*file*/, sqlite3_int64 /*offset*/, void* /*page*/) {
  return SQLITE_OK;
}

constexpr Methods make_methods(bool has_shared_memory) {
  Methods methods{};
  methods.iVersion = 3;
  methods.xClose = close;
  methods.xRead = read;
  methods.xWrite = write;
  methods.xTruncate = pass_on<&Methods::xTruncate, sqlite3_int64>;
  methods.xSync = pass_on<&Methods::xSync, int>;
  methods.xFileSize = pass_on<&Methods::xFileSize, sqlite3_int64*>;
  methods.xLock = pass_on<&Methods::xLock, int>;
  methods.xUnlock = pass_on<&Methods::xUnlock, int>;
  methods.xCheckReservedLock = pass_on<&Methods::xCheckReservedLock, int*>;
  methods.xFileControl = pass_on<&Methods::xFileControl, int, void*>;
  methods.xSectorSize = pass_on<&Methods::xSectorSize>;
  methods.xDeviceCharacteristics = pass_on<&Methods::xDeviceCharacteristics>;
  if (has_shared_memory) {
    methods.xShmMap = pass_on<&Methods::xShmMap, int, int, int, void volatile**>;
    methods.xShmLock = pass_on<&Methods::xShmLock, int, int, int>;
    methods.xShmBarrier = shm_barrier;
    methods.xShmUnmap = pass_on<&Methods::xShmUnmap, int>;
  }
  methods.xFetch = fetch;
  methods.xUnfetch = unfetch;
  return methods;
}

constexpr Methods kMethods = make_methods(true);
// By its absence SQLite knows that a way to files has none.
constexpr Methods kMethodsWithoutSharedMemory = make_methods(false);

int open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags, int* flags_out) {
  sqlite3_vfs* const base = reinterpret_cast<Layer*>(vfs)->base;
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) {
    return base->xOpen(base, name, file, flags, flags_out);
  }
  reinterpret_cast<DatabaseFile*>(file)->checksums = DatabaseFile::Checksums::kUnknown;
  file->pMethods = nullptr;
  const int code = base->xOpen(base, name, base_of(file), flags, flags_out);
  if (base_of(file)->pMethods != nullptr) {
    const Methods& methods = *base_of(file)->pMethods;
    const bool has_shared_memory = methods.iVersion >= 2 && methods.xShmMap != nullptr;
    file->pMethods = has_shared_memory ? &kMethods : &kMethodsWithoutSharedMemory;
  }
  return code;
}

}  // namespace

const char* with_page_checksums(const char* base) {
  static std::mutex mutex;
  // Never destroyed: SQLite knows the layers until the process has ended.
  static auto& layers = *new std::map<std::string, std::unique_ptr<Layer>>;
  const std::lock_guard lock(mutex);
  auto& layer = layers[base == nullptr ? "" : base];
  if (layer == nullptr) {
    sqlite3_vfs* const found = ::sqlite3_vfs_find(base);
    layer = std::make_unique<Layer>(Layer{*found, found, fmt::format("checksums-{}", found->zName)});
    layer->vfs.pNext = nullptr;
    layer->vfs.zName = layer->name.c_str();
    layer->vfs.szOsFile += static_cast<int>(sizeof(DatabaseFile));
    layer->vfs.xOpen = open;
    ::sqlite3_vfs_register(&layer->vfs, 0);
  }
  return layer->vfs.zName;
}

Result<bool> has_page_checksums(const std::string& path) {
  const auto header = read_beginning(path, kHeaderBytes);
  if (!header) {
    return propagate(header);
  }
  return header->size() == kHeaderBytes && header->starts_with(kMagic) &&
         static_cast<int>(static_cast<unsigned char>((*header)[kReservedAt])) == kPageChecksumBytes;
}

}  // namespace plimsoll::sqlite
