// Files that are either whole and on disk, or not there.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll {

// The system calls by which durable files change, as a seam: tests replace one by a function that fails.
struct FileCalls {
  ssize_t (*write)(int fd, const void* bytes, size_t size);
  int (*fsync)(int fd);
  int (*rename)(const char* from, const char* to);
  ssize_t (*pwrite)(int fd, const void* bytes, size_t size, off_t offset);
  int (*unlink)(const char* path);

  static const FileCalls& system();
};

// Writes `content` to `path` so that after a crash at any moment the path holds either its old content (or
// nothing) or the new one: temporary file ("PATH.PID.tmp"), fsync, rename, fsync of the folder. On failure the temporary
// file is removed and the path is as it was, unless it was the folder that could not be synced: then the new content is
// there, and may not survive a power failure. A full disk is kUnavailable. Costs two fsyncs.
//
// A file that is there keeps its mode, and its owner where this user may give files away; a symbolic link goes on pointing to it. What is no
// regular file (a device, a pipe, /dev/stdout) is written to as it is, and may hold a part of the content after a failure.
Status write_file_durably(const std::string& path, Bytes content,
                          const FileCalls& calls = FileCalls::system());

// Hands its content over in pieces, one after the other; returns what `write` failed with, or an error of its own.
using WritePiece = std::function<Status(Bytes piece)>;
using PiecesOfContent = std::function<Status(const WritePiece& write)>;

// The same of content that is not in memory as a whole. Where `content` fails, the path is as it was.
Status write_pieces_durably(const std::string& path, const PiecesOfContent& content,
                            const FileCalls& calls = FileCalls::system());

// "/dev/stdout", "/dev/fd/1" or "/proc/self/fd/1".
bool is_standard_output(std::string_view path);

// Makes what was created, renamed and removed in a folder so far survive a power failure.
Status sync_folder(const std::string& folder, const FileCalls& calls = FileCalls::system());

}  // namespace plimsoll
