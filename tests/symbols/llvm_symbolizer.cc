#include "tests/symbols/llvm_symbolizer.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

namespace plimsoll::testing {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

struct CloseCommand {
  void operator()(std::FILE* command) const { ::pclose(command); }
};

// The lines that a command prints.
class CommandLines {
 public:
  explicit CommandLines(const std::string& command) : command_(::popen(command.c_str(), "r")) {}
  CommandLines(const CommandLines&) = delete;
  CommandLines& operator=(const CommandLines&) = delete;
  ~CommandLines() { std::free(line_); }

  // Without its end; nothing after the last. Valid until the next call.
  bool next(std::string_view& line) {
    const ssize_t length = command_ == nullptr ? -1 : ::getline(&line_, &capacity_, command_.get());
    if (length <= 0) {
      return false;
    }
    line = std::string_view(line_, static_cast<size_t>(length) - 1);
    return true;
  }
  // Its exit status, as wait() tells it; -1 where it never ran.
  int close() { return command_ == nullptr ? -1 : ::pclose(command_.release()); }

 private:
  std::unique_ptr<std::FILE, CloseCommand> command_;
  char* line_ = nullptr;
  size_t capacity_ = 0;
};

// What it knows nothing of has one frame without anything.
Chain chain_of(const nlohmann::json& answer) {
  Chain chain;
  for (const auto& symbol : answer.at("Symbol")) {
    chain.push_back({symbol.at("FunctionName"), symbol.at("FileName"), symbol.at("Line")});
  }
  return chain == Chain{ChainFrame()} ? Chain() : chain;
}

}  // namespace

Status ask_llvm_symbolizer(const std::string& binary, std::span<const uint64_t> addresses,
                           const std::function<void(uint64_t address, const Chain& chain)>& consume) {
  // Without a name; the command inherits it.
  const std::unique_ptr<std::FILE, CloseFile> questions(std::tmpfile());
  if (questions == nullptr) {
    return fail_errno(errno, "making a temporary file");
  }
  for (const uint64_t address : addresses) {
    fmt::print(questions.get(), "{:#x}\n", address);
  }
  std::fflush(questions.get());
  CommandLines answers(
      fmt::format("llvm-symbolizer-19 --output-style=JSON --inlines --no-demangle --obj='{}' </dev/fd/{}",
                  binary, ::fileno(questions.get())));
  size_t answered = 0;
  for (std::string_view line; answered < addresses.size() && answers.next(line); ++answered) {
    const auto answer = nlohmann::json::parse(line, nullptr, false);
    if (answer.is_discarded() || !answer.contains("Symbol")) {
      return fail(ErrorCode::kIo, "llvm-symbolizer-19 says of {:#x} in {}: {}", addresses[answered], binary,
                  line);
    }
    consume(addresses[answered], chain_of(answer));
  }
  const int status = answers.close();
  return status == 0 && answered == addresses.size()
             ? Status()
             : fail(ErrorCode::kIo, "llvm-symbolizer-19 answered {} of {} addresses of {} (status {})",
                    answered, addresses.size(), binary, status);
}

}  // namespace plimsoll::testing
