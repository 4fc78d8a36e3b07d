// What answers over HTTP keep from those with a token of role read.
//
// Pure: no I/O; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/caller.h"
#include "query/registry/view.h"

namespace plimsoll::server {

// Why symbols are missing says which paths the server looked at and what it found there. A profile may name any path, so that its
// sender, with a token of role read, would learn which files the server has.
void withhold_reasons(query::Answer& answer);

// Errors and damage name files: those of the data directory become relative to it in notes and in what `store` and `status` say, and
// other absolute paths in these two "[path]". Rows and documents of other views are of the fleet, whose paths stay: the notes in a document of
// `regressions` are relative as they are made.
void withhold_paths(const query::View& view, std::string_view data_dir, query::Answer& answer);

// Of notes: paths below the data directory.
void withhold_paths(std::string_view data_dir, std::vector<std::string>& notes);

// In the message and the hint of an error.
void withhold_paths(std::string_view data_dir, Error& error);

// Of an error of a process that parses for a request (fdo::ProfileProcess, annotate::AnnotateProcess): the second line of its hint names
// paths of this machine, and is for administrators alone.
Error without_reasons(Error error, const http::Caller& caller);

}  // namespace plimsoll::server
