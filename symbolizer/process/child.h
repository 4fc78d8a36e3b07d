// What `plimsoll symtab worker` does: the process that parses ELF and DWARF, so that a bad file costs one symbol table and
// nothing else.
#pragma once

#include <string_view>

#include "base/result.h"
#include "proto/symbol_table.pb.h"

namespace plimsoll::symbolizer {

// Where the child finds the file that it writes the table to.
inline constexpr int kTableDescriptor = 3;

// Reads a request from standard input, confines itself, searches, builds, writes the table to kTableDescriptor and the reply to
// standard output. What goes wrong with the files is part of the reply; an error is that nothing could be said.
Status run_table_child();

// For every such process: to its standard output, and to a descriptor that it was given.
Status say(const wire::TableEvent& event);
Status say_error(const Error& error);
Status write_all(int fd, std::string_view content, const char* what);

}  // namespace plimsoll::symbolizer
