#include "http/later_answer.h"

#include <exception>

namespace plimsoll::http {
namespace {

Response unanswered() noexcept {
  try {
    return error_response(
        Error{ErrorCode::kIo, "serving the request: it was given no answer", {}, "see the server's log"});
  } catch (const std::exception&) {
    return Response{.status = 500, .content_type = {}, .body = {}, .headers = {}};
  }
}

}  // namespace

LaterAnswer::~LaterAnswer() {
  if (give_) {
    give(unanswered());
  }
}

}  // namespace plimsoll::http
