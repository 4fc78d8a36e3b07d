// Starting a program that parses, or makes those that do.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll::symbolizer {

// Above all those that a child has for a purpose, so that one can be put in the place of another.
Result<UniqueFd> out_of_the_way(UniqueFd fd);

// A descriptor of this process, out of the way, and the number that it is to have in the other.
struct FileAt {
  int fd;
  int number;
};

// With signals as they are by default. What it says is thrown away, but for standard output where that is among the files, and for what
// sanitizers say. The caller waits for it.
Result<pid_t> spawn(const std::vector<std::string>& argv, std::span<const FileAt> files);

}  // namespace plimsoll::symbolizer
