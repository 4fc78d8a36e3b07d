#include "traces/bursts/joined/chrome_json.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "traces/bursts/joined/application_rpcs.h"
#include "traces/bursts/joined/request_times.h"

namespace plimsoll::traces {
namespace {

// Names of threads may hold any bytes. What is not printable ASCII becomes an escape of its byte.
std::string quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte > 0x7E) {
      quoted += fmt::format("\\u{:04x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

double us_of(int64_t ns) {
  return static_cast<double>(ns) / 1000;
}

constexpr size_t kPieceBytes = size_t{64} << 10;

class Document {
 public:
  Document(const BurstRecording& recording, const std::function<Status(std::string_view)>& write)
      : recording_(recording), write_(write) {}

  Status write() {
    text_ = "{";
    add_stack_frames();
    text_ += "\"traceEvents\": [";
    for (size_t i = 1; i < recording_.threads.size(); ++i) {
      const BurstThread& thread = recording_.threads[i];
      add(fmt::format(R"({{"ph": "M", "name": "thread_name", "pid": {}, "tid": {}, "args": {{"name": {}}}}})",
                      process_of(thread), thread.tid, quoted(thread.name)));
    }
    add(R"({"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "requests"}})");
    for (const Burst& burst : recording_.bursts) {
      if (!written_) {
        break;
      }
      add_burst(burst);
    }
    text_ += "\n]}\n";
    flush();
    return written_;
  }

 private:
  // Of samples: each with the one that called it.
  void add_stack_frames() {
    const BurstStacks& stacks = recording_.stacks;
    if (stacks.nodes.empty()) {
      return;
    }
    text_ += "\"stackFrames\": {";
    for (size_t i = 0; i < stacks.nodes.size() && written_; ++i) {
      const BurstStackNode& node = stacks.nodes[i];
      const BurstBinary& binary = stacks.binaries[stacks.frames[node.frame].binary];
      add(fmt::format(R"("{}": {{"name": {}, "category": {}{}}})", i + 1,
                      quoted(name_of_frame(stacks, node.frame)), quoted(binary.path),
                      node.caller == 0 ? "" : fmt::format(R"(, "parent": "{}")", node.caller)));
    }
    text_ += "\n}, ";
    is_first_ = true;
  }

  void add_sample(const JoinedSample& sample) {
    const BurstThread& thread = recording_.threads[sample.thread];
    add(fmt::format(
        R"({{"ph": "P", "name": "sample", "cat": "sample", "ts": {:.3f}, "pid": {}, "tid": {}, "sf": "{}"}})",
        us_of(sample.time_ns), process_of(thread), thread.tid, sample.stack));
  }

  static uint32_t process_of(const BurstThread& thread) { return thread.pid != 0 ? thread.pid : thread.tid; }

  void add(const std::string& event) {
    text_ += std::exchange(is_first_, false) ? "\n" : ",\n";
    text_ += event;
    if (text_.size() >= kPieceBytes) {
      flush();
    }
  }

  void flush() {
    if (written_) {
      written_ = write_(text_);
    }
    text_.clear();
  }

  void add_burst(const Burst& burst) {
    const JoinedBurst joined = join_burst(burst);
    for (const StateInterval& interval : joined.intervals) {
      const BurstThread& thread = recording_.threads[interval.thread];
      std::string details;
      if (interval.request != 0) {
        details += fmt::format(R"("request": "{:016x}")", interval.request);
      }
      if (interval.waker != kNoThread) {
        const BurstThread& waker = recording_.threads[interval.waker];
        details += fmt::format(R"({}"woken by": {}, "woken by tid": {})", details.empty() ? "" : ", ",
                               quoted(waker.name), waker.tid);
      }
      add(fmt::format(
          R"({{"ph": "X", "name": "{}", "cat": "thread", "ts": {:.3f}, "dur": {:.3f}, "pid": {}, "tid": {}, "args": {{{}}}}})",
          name_of(interval.state), us_of(interval.begin_ns), us_of(interval.end_ns - interval.begin_ns),
          process_of(thread), thread.tid, details));
    }
    for (const JoinedSample& sample : joined.samples) {
      if (sample.stack != 0) {
        add_sample(sample);
      }
    }
    for (const RequestTimes& request : request_times(burst, joined)) {
      // Asynchronous: requests overlap.
      for (const auto& [phase, time_ns] :
           {std::pair("b", request.begin_ns), std::pair("e", request.end_ns)}) {
        add(fmt::format(
            R"({{"ph": "{}", "name": "request {:016x}", "cat": "request", "id": "{:016x}", "ts": {:.3f}, "pid": 0, "tid": 0}})",
            phase, request.request, request.request, us_of(time_ns)));
      }
    }
    add_told(burst);
  }

  // What applications tell of, on their threads; RPCs overlap.
  void add_told(const Burst& burst) {
    for (const ApplicationRpc& rpc : application_rpcs(recording_, burst)) {
      const BurstThread& thread = recording_.threads[rpc.thread];
      const std::string name =
          fmt::format("{} {}", rpc.is_in ? "in" : "out", text_of_detail(recording_, rpc.detail));
      const std::string peer(peer_of_detail(recording_, rpc.detail));
      const uint64_t id = next_rpc_++;
      for (const auto& [phase, time_ns] : {std::pair("b", rpc.begin_ns), std::pair("e", rpc.end_ns)}) {
        add(fmt::format(
            R"({{"ph": "{}", "name": {}, "cat": "rpc", "id": "rpc {}", "ts": {:.3f}, "pid": {}, "tid": {}, "args": {{"request": "{:016x}", "peer": {}, "request bytes": {}, "answer bytes": {}}}}})",
            phase, quoted(name), id, us_of(time_ns), process_of(thread), thread.tid,
            recording_.details[rpc.detail].request, quoted(peer), rpc.request_bytes,
            rpc.is_whole ? fmt::format("{}", rpc.answer_bytes) : "null"));
      }
    }
    for (const BurstEvent& event : burst.events) {
      if (event.kind == BurstEventKind::kAnnotation || event.kind == BurstEventKind::kNamedPhase) {
        const BurstThread& thread = recording_.threads[event.thread];
        add(fmt::format(
            R"({{"ph": "i", "s": "t", "name": {}, "cat": "{}", "ts": {:.3f}, "pid": {}, "tid": {}, "args": {{"request": "{:016x}", "number": {}}}}})",
            quoted(text_of_detail(recording_, event.second)), name_of(event.kind), us_of(event.time_ns),
            process_of(thread), thread.tid, recording_.details[event.second].request, event.first));
      }
    }
  }

  const BurstRecording& recording_;
  const std::function<Status(std::string_view)>& write_;
  Status written_;    // the first failure
  std::string text_;  // that is not written yet
  bool is_first_ = true;
  uint64_t next_rpc_ = 0;
};

}  // namespace

Status write_chrome_json(const BurstRecording& recording,
                         const std::function<Status(std::string_view piece)>& write) {
  return Document(recording, write).write();
}

}  // namespace plimsoll::traces
