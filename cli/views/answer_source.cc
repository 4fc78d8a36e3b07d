#include "cli/views/answer_source.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "http/client.h"
#include "http/token.h"

namespace plimsoll::cli {
namespace {

std::string with_query(std::string_view path,
                       const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string path_and_query(path);
  char separator = '?';
  for (const auto& [name, text] : parameters) {
    path_and_query += separator + http::url_encode(name) + "=" + http::url_encode(text);
    separator = '&';
  }
  return path_and_query;
}

Result<http::Credentials> credentials_of(const AnswerSource& source) {
  http::Credentials credentials{.ca = source.server_ca};
  if (!source.token_file.empty()) {
    auto token = http::read_token(source.token_file);
    if (!token) {
      return propagate(token);
    }
    credentials.token = *std::move(token);
  } else if (const char* const given = std::getenv("PLIMSOLL_TOKEN"); given != nullptr) {
    credentials.token = given;
  }
  return credentials;
}

constexpr int64_t kTimeoutMs = 60'000;
constexpr int64_t kUploadTimeoutMs = 3'600'000;

Result<http::Response> send(const AnswerSource& source, std::string_view method,
                            const std::string& path_and_query, std::string_view body = {},
                            std::string_view content_type = {}, int64_t timeout_ms = kTimeoutMs) {
  auto credentials = credentials_of(source);
  if (!credentials) {
    return propagate(credentials);
  }
  http::Client client({.base_url = source.server,
                       .timeout_ms = timeout_ms,
                       .max_response_bytes = source.max_answer_bytes,
                       .credentials = *std::move(credentials)});
  return client.send(method, path_and_query, body, content_type);
}

Result<std::string> body_of(Result<http::Response> response, const AnswerSource& source) {
  if (!response) {
    return propagate(response, "asking {}", source.server);
  }
  if (!response->ok()) {
    return std::unexpected(http::error_of(*response, "asking " + source.server));
  }
  return std::move(response->body);
}

}  // namespace

Result<std::string> ask_server(const AnswerSource& source, std::string_view path,
                               const std::vector<std::pair<std::string, std::string>>& parameters) {
  return body_of(send(source, "GET", with_query(path, parameters)), source);
}

Result<std::string> order_server(const AnswerSource& source, std::string_view path,
                                 const std::vector<std::pair<std::string, std::string>>& parameters) {
  return change_server(source, "POST", with_query(path, parameters), "{}");
}

Result<std::string> change_server(const AnswerSource& source, std::string_view method,
                                  const std::string& path, std::string_view body) {
  if (source.server.empty()) {
    return with_hint(
        fail(ErrorCode::kInvalid, "this command changes the state of a server, and requires its address"),
        "give --server ADDR");
  }
  // The server takes no orders of another type: those could come from a page of another site in a user's browser.
  return body_of(send(source, method, path, body, "application/json"), source);
}

Result<std::string> put_to_server(const AnswerSource& source, std::string_view path,
                                  const std::vector<std::pair<std::string, std::string>>& parameters,
                                  std::string_view body) {
  return body_of(
      send(source, "PUT", with_query(path, parameters), body, "application/octet-stream", kUploadTimeoutMs),
      source);
}

Status write_output(const std::string& path, std::string_view content) {
  return write_output_in_pieces(path, [&](const WritePiece& write) { return write(as_bytes(content)); });
}

Status write_output_in_pieces(const std::string& path, const PiecesOfContent& content) {
  if (path != "-") {
    return write_pieces_durably(path, content);
  }
  const Status written = content([](Bytes piece) {
    return std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size()
               ? Status()
               : fail_errno(errno, "writing to standard output");
  });
  return !written || std::fflush(stdout) == 0 ? written : fail_errno(errno, "writing to standard output");
}

}  // namespace plimsoll::cli
