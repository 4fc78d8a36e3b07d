// `plimsoll binaries`: executables and debug files by build ID.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/views/answer_source.h"
#include "cli/views/commands.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"

namespace plimsoll::cli {

struct BinariesAddOptions {
  std::vector<std::string> paths;  // ELF files, .deb packages, folders of them
  AnswerSource source;             // a server, or a data directory that no server uses
  query::Parameters labels = {};   // revision, builder, compiler, source_url
  // Of the one build that `paths` are of, as pack_sources() takes them; empty: none.
  std::string sources = {};
  query::TableForm form = query::TableForm::kText;
};

// Prints what became of each file. Fails where one was not taken; the others were.
Status run_binaries_add(const BinariesAddOptions& options);

struct BinariesVerifyOptions {
  std::string data_dir;
  query::TableForm form = query::TableForm::kText;
};

// Reads every kept file; on standard error, where that is a terminal, how far it is. Fails where one is damaged.
Status run_binaries_verify(const BinariesVerifyOptions& options);

// A view of the registry, as a table.
Status run_binaries_view(std::string_view view, const TableOptions& options);

}  // namespace plimsoll::cli
