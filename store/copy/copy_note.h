// What a data directory knows of a copy of its rows that has begun: the file `copying`.
//
//   copy 3f0c...                 16 hexadecimal digits: this copy
//   from clickhouse://...        no line: from the directory; from-password-file, from-ca
//   to clickhouse://...          no line: to the directory; to-password-file, to-ca
//   part 7 VERSION               is copied, as it was then
//   checksum 9a1e...             of the lines above
//
// It stays when the copy is complete, so that the old rows can be removed later.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "store/identity/directory_identity.h"

namespace plimsoll::store {

struct CopyNote {
  std::string id = {};  // empty: there is none
  RowsAddress from = {};
  RowsAddress to = {};
  std::map<int64_t, std::string> parts = {};  // PartState::version by number

  bool is_there() const { return !id.empty(); }
  bool operator==(const CopyNote&) const = default;
};

// With a new random ID.
CopyNote make_copy_note(RowsAddress from, RowsAddress to);

// Without an ID where there is no such file. kCorrupt where it is not what was written.
Result<CopyNote> read_copy_note(const std::string& data_dir);
// Durably.
Status write_copy_note(const std::string& data_dir, const CopyNote& note);
// Durably; nothing where it is not there.
Status remove_copy_note(const std::string& data_dir);

}  // namespace plimsoll::store
