#include "traces/bursts/search/query_tokens.h"

#include "base/printable.h"

namespace plimsoll::traces {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool continues_word(char c) {
  return begins_word(c) || is_digit(c) || c == '.' || c == '-';
}

bool continues_number(char c) {
  return is_digit(c) || begins_word(c) || c == '.' || c == '%';
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> run() {
    while (true) {
      skip_spaces();
      Token token{.kind = TokenKind::kEnd, .text = {}, .column = at_ + 1};
      if (at_ == text_.size()) {
        tokens_.push_back(std::move(token));
        return std::move(tokens_);
      }
      if (auto taken = take(token); !taken) {
        return propagate(taken);
      }
      tokens_.push_back(std::move(token));
    }
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  Status take(Token& token) {
    const char c = text_[at_];
    if (c == '"') {
      return take_text(token);
    }
    if (begins_word(c) || is_digit(c)) {
      token.kind = is_digit(c) ? TokenKind::kNumber : TokenKind::kWord;
      const size_t begin = at_;
      while (at_ < text_.size() &&
             (token.kind == TokenKind::kWord ? continues_word(text_[at_]) : continues_number(text_[at_]))) {
        ++at_;
      }
      token.text = text_.substr(begin, at_ - begin);
      return {};
    }
    token.kind = TokenKind::kSign;
    const bool has_equals = at_ + 1 < text_.size() && text_[at_ + 1] == '=';
    const size_t length = has_equals && (c == '!' || c == '<' || c == '>') ? 2 : 1;
    if (length == 1 && std::string_view("{}(),=<>~|").find(c) == std::string_view::npos) {
      return fail(ErrorCode::kInvalid, "column {}: unexpected character \"{}\"; write texts in double quotes",
                  at_ + 1, printable(text_.substr(at_, 1)));
    }
    token.text = text_.substr(at_, length);
    at_ += length;
    return {};
  }

  Status take_text(Token& token) {
    token.kind = TokenKind::kText;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
      }
      token.text += text_[at_];
    }
    if (at_ == text_.size()) {
      return fail(ErrorCode::kInvalid, "column {}: the text has no closing quote", token.column);
    }
    ++at_;
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokens_of(std::string_view text) {
  return Tokenizer(text).run();
}

std::string shown(const Token& token) {
  constexpr size_t kMaxShown = 40;
  return token.kind == TokenKind::kEnd
             ? "the end"
             : fmt::format("\"{}\"", printable(std::string_view(token.text).substr(0, kMaxShown)));
}

}  // namespace plimsoll::traces
