#include "tests/store/simulated_disk.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/byte_reader.h"
#include "base/checksum.h"

namespace plimsoll::testing {
namespace {

constexpr size_t kSectorBytes = 512;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return std::move(content).str();
}

}  // namespace

FileTree read_tree(const std::string& folder) {
  FileTree tree;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().string().substr(folder.size() + 1);
    if (!name.ends_with("-shm")) {
      tree[name] =
          entry.is_directory() ? nullptr : std::make_shared<const std::string>(content_of(entry.path()));
    }
  }
  return tree;
}

void write_tree(const FileTree& tree, const std::string& folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const auto& [name, content] : tree) {
    const std::string path = folder + "/" + name;
    if (content == nullptr) {
      std::filesystem::create_directory(path);
    } else {
      std::ofstream(path, std::ios::binary) << *content;
    }
  }
}

uint64_t hash_of(const FileTree& tree) {
  std::string all;
  for (const auto& [name, content] : tree) {
    all += name;
    all += content == nullptr ? "/" : std::to_string(checksum64(as_bytes(*content)));
    all += '\n';
  }
  return checksum64(as_bytes(all));
}

SimulatedDisk::SimulatedDisk(const FileTree& tree) {
  add_node(/*is_folder=*/true);
  // Folders come before what is in them.
  for (const auto& [path, content] : tree) {
    const size_t node = add_node(content == nullptr);
    if (content != nullptr) {
      nodes_[node].content = content;
      nodes_[node].synced = content;
    }
    const Place place = place_of(path);
    folders_[place.folder][place.name] = node;
  }
  synced_folders_ = folders_;
}

size_t SimulatedDisk::add_node(bool is_folder) {
  nodes_.emplace_back();
  nodes_.back().is_folder = is_folder;
  if (is_folder) {
    folders_[nodes_.size() - 1];
    synced_folders_[nodes_.size() - 1];
  }
  return nodes_.size() - 1;
}

SimulatedDisk::Place SimulatedDisk::place_of(const std::string& path) const {
  Place place;
  size_t begin = 0;
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', begin)) {
    place.folder = folders_.at(place.folder).at(path.substr(begin, slash - begin));
    begin = slash + 1;
  }
  place.name = path.substr(begin);
  return place;
}

size_t SimulatedDisk::at(const Place& place) const {
  const Entries& entries = folders_.at(place.folder);
  const auto found = entries.find(place.name);
  return found == entries.end() ? kNone : found->second;
}

void SimulatedDisk::assign(Folders& folders, const NameChange& change) {
  for (const Assignment& assignment : change) {
    if (assignment.node == kNone) {
      folders[assignment.folder].erase(assignment.name);
    } else {
      folders[assignment.folder][assignment.name] = assignment.node;
    }
  }
}

void SimulatedDisk::change_names(NameChange change) {
  assign(folders_, change);
  unsynced_names_.push_back(std::move(change));
}

SimulatedDisk::Content SimulatedDisk::changed(const Content& content, const Change& change) {
  std::string after = *content;
  if (change.bytes == nullptr) {
    after.resize(change.offset);
  } else {
    after.resize(std::max(after.size(), change.offset + change.bytes->size()));
    after.replace(change.offset, change.bytes->size(), *change.bytes);
  }
  return std::make_shared<const std::string>(std::move(after));
}

void SimulatedDisk::sync(size_t node) {
  if (!nodes_[node].is_folder) {
    nodes_[node].synced = nodes_[node].content;
    nodes_[node].unsynced.clear();
    return;
  }
  // With what came before it in another folder that one of its changes is in too.
  std::set<size_t> folders{node};
  std::vector<bool> is_synced(unsynced_names_.size());
  for (size_t i = unsynced_names_.size(); i > 0; --i) {
    const NameChange& change = unsynced_names_[i - 1];
    const auto is_in = [&](const Assignment& assignment) { return folders.contains(assignment.folder); };
    if (std::ranges::any_of(change, is_in)) {
      is_synced[i - 1] = true;
      for (const Assignment& assignment : change) {
        folders.insert(assignment.folder);
      }
    }
  }
  std::vector<NameChange> left;
  for (size_t i = 0; i < unsynced_names_.size(); ++i) {
    if (is_synced[i]) {
      assign(synced_folders_, unsynced_names_[i]);
    } else {
      left.push_back(std::move(unsynced_names_[i]));
    }
  }
  unsynced_names_ = std::move(left);
}

void SimulatedDisk::apply(const FileOperation& operation) {
  switch (operation.action) {
    case FileAction::kOpen:
      handles_[operation.handle] = operation.path.empty() ? 0 : at(place_of(operation.path));
      return;
    case FileAction::kCreate: {
      const Place place = place_of(operation.path);
      const size_t node = add_node(/*is_folder=*/false);
      handles_[operation.handle] = node;
      change_names({{place.folder, place.name, node}});
      return;
    }
    case FileAction::kWrite:
    case FileAction::kTruncate: {
      Node& node = nodes_[handles_.at(operation.handle)];
      const Change change{operation.offset, operation.action == FileAction::kWrite
                                                ? std::make_shared<const std::string>(operation.bytes)
                                                : nullptr};
      node.content = changed(node.content, change);
      node.unsynced.push_back(change);
      return;
    }
    case FileAction::kSync:
      sync(handles_.at(operation.handle));
      return;
    case FileAction::kRename:
    case FileAction::kExchange:
    case FileAction::kLink: {
      const Place from = place_of(operation.path);
      const Place to = place_of(operation.to);
      const size_t node = at(from);
      const size_t replaced = at(to);
      NameChange change{{to.folder, to.name, node}};
      if (operation.action != FileAction::kLink) {
        change.push_back(
            {from.folder, from.name, operation.action == FileAction::kExchange ? replaced : kNone});
      }
      change_names(std::move(change));
      return;
    }
    case FileAction::kUnlink:
    case FileAction::kRemoveFolder: {
      const Place place = place_of(operation.path);
      change_names({{place.folder, place.name, kNone}});
      return;
    }
    case FileAction::kMakeFolder: {
      const Place place = place_of(operation.path);
      change_names({{place.folder, place.name, add_node(/*is_folder=*/true)}});
      return;
    }
    case FileAction::kMark:
      return;
  }
}

void SimulatedDisk::add_tree(const Folders& folders, size_t folder, const std::string& path,
                             const std::map<size_t, Content>& contents, FileTree& tree) const {
  for (const auto& [name, node] : folders.at(folder)) {
    if (nodes_[node].is_folder) {
      tree[path + name] = nullptr;
      add_tree(folders, node, path + name + "/", contents, tree);
    } else {
      const auto found = contents.find(node);
      tree[path + name] = found == contents.end() ? nodes_[node].content : found->second;
    }
  }
}

FileTree SimulatedDisk::tree_of(const Folders& folders, const std::map<size_t, Content>& contents) const {
  FileTree tree;
  add_tree(folders, 0, "", contents, tree);
  return tree;
}

FileTree SimulatedDisk::now() const {
  return tree_of(folders_, {});
}

FileTree SimulatedDisk::torn(const FileOperation& write, size_t bytes) const {
  const size_t node = handles_.at(write.handle);
  const auto part = std::make_shared<const std::string>(write.bytes.substr(0, bytes));
  return tree_of(folders_, {{node, changed(nodes_[node].content, {write.offset, part})}});
}

FileTree SimulatedDisk::after_power_failure(Unsynced data, Unsynced names, std::mt19937_64& random) const {
  Folders folders = synced_folders_;
  std::map<size_t, size_t> kept;  // of each folder, how many of its changes
  for (const NameChange& change : unsynced_names_) {
    for (const Assignment& assignment : change) {
      ++kept[assignment.folder];
    }
  }
  for (auto& [folder, count] : kept) {
    count = names == Unsynced::kLost ? 0 : names == Unsynced::kKept ? count : random() % (count + 1);
  }
  for (const NameChange& change : unsynced_names_) {
    std::map<size_t, size_t> needed;
    for (const Assignment& assignment : change) {
      ++needed[assignment.folder];
    }
    const bool is_kept =
        std::ranges::all_of(needed, [&](const auto& folder) { return kept[folder.first] >= folder.second; });
    for (const auto& [folder, count] : needed) {
      kept[folder] = is_kept ? kept[folder] - count : 0;
    }
    if (is_kept) {
      assign(folders, change);
    }
  }
  std::map<size_t, Content> contents;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.unsynced.empty() || data == Unsynced::kKept) {
      continue;
    }
    Content content = node.synced;
    for (const Change& change : node.unsynced) {
      const uint64_t chance = data == Unsynced::kLost ? 0 : random() % 8;
      if (chance == 1 && change.bytes != nullptr) {
        const size_t sectors = random() % (change.bytes->size() / kSectorBytes + 1);
        content = changed(content, {change.offset, std::make_shared<const std::string>(
                                                       change.bytes->substr(0, sectors * kSectorBytes))});
      } else if (chance >= 4) {
        content = changed(content, change);
      }
    }
    contents[i] = content;
  }
  return tree_of(folders, contents);
}

}  // namespace plimsoll::testing
