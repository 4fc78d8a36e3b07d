// Documents that show commands with their output: what they show, compared with what is printed.
//
// In a block of code, a command stands behind "$ ", its output below it. A line "..." stands for any lines that the document leaves out.
#pragma once

#include <string>
#include <vector>

#include "tests/e2e/program.h"

namespace plimsoll::testing {

struct Shown {
  std::string command;
  std::vector<std::string> lines;
};

std::vector<std::string> lines_of(const std::string& text);

// A source file of docs/, such as "docs/first-hour.md".
std::string read_document(const std::string& name);
std::vector<Shown> shown_in(const std::string& document);

// Whether `real` is what is shown, with any lines for each "...".
bool matches(const std::vector<std::string>& shown, const std::vector<std::string>& real);

// The document with the lines below its commands replaced, in the order of shown_in().
std::string with_output(const std::string& document, const std::vector<Shown>& shown);

// Runs a command in `folder` as a reader does: our programs are found, the terminal has 110 columns, and no server is named elsewhere.
// `as`: a command that runs the shell, such as setpriv; empty: none.
Finished run_as_shown(const std::string& command, const std::string& folder,
                      const std::vector<std::string>& as = {});

}  // namespace plimsoll::testing
