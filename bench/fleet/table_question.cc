#include "bench/fleet/table_question.h"

#include <fmt/format.h>

#include <cstdint>

#include "http/client.h"

namespace plimsoll::bench {

Result<query::Table> ask_for_table(const std::string& address, std::string_view view_and_parameters) {
  constexpr int64_t kMaxAnswerMs = 300'000;
  http::Client client({.base_url = address, .timeout_ms = kMaxAnswerMs});
  const auto answer = client.send("GET", fmt::format("/api/v1/{}", view_and_parameters));
  if (!answer) {
    return propagate(answer);
  }
  if (!answer->ok()) {
    return std::unexpected(http::error_of(*answer, fmt::format("asking for {}", view_and_parameters)));
  }
  return query::from_json(answer->body);
}

}  // namespace plimsoll::bench
