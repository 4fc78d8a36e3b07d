// A process of `plimsoll symtab worker --zygote`, which makes a process of itself for each table: that costs a tenth of starting the
// program. It reads no file of anybody's, so that whatever a binary does to the process that parses it ends with that one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll::symbolizer {

// What a process that parses is given: standard input, standard output and kTableDescriptor.
struct ChildDescriptors {
  const UniqueFd& request;
  const UniqueFd& said;
  const UniqueFd& table;
};

// One thread at a time.
class Zygote {
 public:
  static Result<Zygote> start(const std::vector<std::string>& argv);
  Zygote(Zygote&& other) noexcept;
  Zygote& operator=(Zygote&&) = delete;
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;
  // Ends it, and waits for that; processes that it has made go on.
  ~Zygote();

  // A new process, a child of this one, which is to wait for it. kUnavailable where the zygote is gone.
  Result<pid_t> make_child(const ChildDescriptors& descriptors);
  uint64_t children() const { return children_; }

 private:
  Zygote(pid_t pid, UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}

  pid_t pid_;
  UniqueFd socket_;
  uint64_t children_ = 0;
};

// What the zygote does: takes descriptors from standard input, a socket, makes a child with them that runs run_table_child(), and answers
// with its number; until there is nobody at the other end. No thread may have been made before.
Status run_zygote();

}  // namespace plimsoll::symbolizer
