// Where the answers of commands that ask come from: a server, or a data directory of this machine.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/durable_file.h"
#include "base/result.h"

namespace plimsoll::cli {

struct AnswerSource {
  std::string server;  // address; empty: data_dir
  std::string data_dir;
  // For a server that asks who is there; files, empty: PLIMSOLL_TOKEN, and whom this machine trusts.
  std::string token_file;
  std::string server_ca;
  // A larger answer of a server is refused. By default room for a tree of two million nodes, or a profile of a day.
  size_t max_answer_bytes = size_t{1} << 30;
};

inline bool is_named(const AnswerSource& source) {
  return !source.server.empty() || !source.data_dir.empty();
}

// GET `path` with the parameters in its query: the body of the answer.
Result<std::string> ask_server(const AnswerSource& source, std::string_view path,
                               const std::vector<std::pair<std::string, std::string>>& parameters);

// The same as a POST, for what changes something. kInvalid where the source is no server.
Result<std::string> order_server(const AnswerSource& source, std::string_view path,
                                 const std::vector<std::pair<std::string, std::string>>& parameters);

// PUT a body, which may be as large as a file that is mapped: it may take an hour. The body of the answer.
Result<std::string> put_to_server(const AnswerSource& source, std::string_view path,
                                  const std::vector<std::pair<std::string, std::string>>& parameters,
                                  std::string_view body);

// PUT or DELETE of a path that is already encoded, with a body of JSON. kInvalid where the source is no server.
Result<std::string> change_server(const AnswerSource& source, std::string_view method,
                                  const std::string& path, std::string_view body);

// Writes all of `content` to a file, or to standard output where `path` is "-".
Status write_output(const std::string& path, std::string_view content);
// The same of content that is not in memory as a whole.
Status write_output_in_pieces(const std::string& path, const PiecesOfContent& content);

}  // namespace plimsoll::cli
