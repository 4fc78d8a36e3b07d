// What a disk holds after a crash at any moment of a recorded run (file_layer.h).
//
// Killed, a process leaves all that it has done. When the power fails, only what was synced is sure, by the rules that SQLite and POSIX
// go by, which are stricter than what ext4 does:
//   - of a file that was written since its last fsync(), each write may be there, missing, or there up to the end of a sector, whatever
//     became of the others (SQLite's "powersafe overwrite": bytes beside those that are written do not change);
//   - of a folder, what was created, renamed and removed since its last fsync() may be there up to some moment, in order; a rename between
//     two folders is in both or in neither. To sync a file does not sync its name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/store/file_layer.h"

namespace plimsoll::testing {

// Files by their paths below a folder, and folders, which have no content.
using FileTree = std::map<std::string, std::shared_ptr<const std::string>>;

// All that is there, but for SQLite's "-shm" files.
FileTree read_tree(const std::string& folder);
// In place of what is there.
void write_tree(const FileTree& tree, const std::string& folder);
uint64_t hash_of(const FileTree& tree);

class SimulatedDisk {
 public:
  // All of it synced.
  explicit SimulatedDisk(const FileTree& tree);

  void apply(const FileOperation& operation);

  FileTree now() const;
  // With the first `bytes` of that write, which comes next.
  FileTree torn(const FileOperation& write, size_t bytes) const;

  enum class Unsynced : uint8_t { kLost, kKept, kRandom };
  FileTree after_power_failure(Unsynced data, Unsynced names, std::mt19937_64& random) const;

 private:
  using Content = std::shared_ptr<const std::string>;
  struct Change {
    uint64_t offset = 0;                       // of a truncation the size
    std::shared_ptr<const std::string> bytes;  // none: it is one
  };
  struct Node {
    bool is_folder = false;
    Content content = std::make_shared<const std::string>();
    Content synced = std::make_shared<const std::string>();
    std::vector<Change> unsynced;
  };
  using Entries = std::map<std::string, size_t>;  // nodes by name
  using Folders = std::map<size_t, Entries>;
  // Of one name in one folder; without a node it is gone.
  struct Assignment {
    size_t folder = 0;
    std::string name;
    size_t node = kNone;
  };
  using NameChange = std::vector<Assignment>;  // at one moment
  static constexpr size_t kNone = SIZE_MAX;

  struct Place {
    size_t folder = 0;
    std::string name;
  };
  size_t add_node(bool is_folder);
  Place place_of(const std::string& path) const;
  size_t at(const Place& place) const;
  void change_names(NameChange change);
  void sync(size_t node);
  static void assign(Folders& folders, const NameChange& change);
  static Content changed(const Content& content, const Change& change);
  void add_tree(const Folders& folders, size_t folder, const std::string& path,
                const std::map<size_t, Content>& contents, FileTree& tree) const;
  FileTree tree_of(const Folders& folders, const std::map<size_t, Content>& contents) const;

  std::vector<Node> nodes_;  // the folder itself first
  Folders folders_;
  Folders synced_folders_;
  std::vector<NameChange> unsynced_names_;
  std::map<uint32_t, size_t> handles_;
};

}  // namespace plimsoll::testing
