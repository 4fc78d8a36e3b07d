// The library that an application links, or LD_PRELOADs, to serve profiles of itself (docs/appprof.md):
//
//   namespace appprof = plimsoll::appprof;
//   const auto started = appprof::start({.listen = "127.0.0.1:6070", .labels = {{"job", "search"}}});
//   if (!started) log(started.error);
//   ...
//   appprof::Label scope("request", "search");  // in whatever this thread does until the end of the block
//
// C++17 and later. Only inline code over the C interface: the library may be built with another compiler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "appprof/appprof_c.h"

namespace plimsoll::appprof {

// The fields are described at plimsoll_appprof_options. Zero and empty: the default.
struct Options {
  std::string listen = {};
  std::string token = {};
  bool announce = false;
  std::string announce_dir = {};
  std::vector<std::pair<std::string, std::string>> labels = {};
  bool serve_children = false;
  uint64_t heap_period_bytes = 0;
  uint64_t lock_period_ns = 0;
  bool no_heap = false;
  bool no_locks = false;
  uint32_t max_seconds = 0;
  uint32_t max_requests_per_minute = 0;
  std::string dump_dir = {};
  uint32_t max_samples_per_second = 0;
  uint32_t socket_mode = 0;
};

struct Started {
  bool ok = false;
  std::string error;  // why not
  explicit operator bool() const { return ok; }
};

inline Started start(const Options& options) {
  std::vector<std::string> texts;
  texts.reserve(options.labels.size());
  std::vector<const char*> labels;
  for (const auto& [key, value] : options.labels) {
    texts.push_back(key + "=" + value);
    labels.push_back(texts.back().c_str());
  }
  labels.push_back(nullptr);
  const auto text_or_null = [](const std::string& text) { return text.empty() ? nullptr : text.c_str(); };
  plimsoll_appprof_options plain{};
  plain.size = sizeof(plain);
  plain.listen = text_or_null(options.listen);
  plain.token = text_or_null(options.token);
  plain.announce = options.announce ? 1 : 0;
  plain.announce_dir = text_or_null(options.announce_dir);
  plain.labels = labels.data();
  plain.serve_children = options.serve_children ? 1 : 0;
  plain.heap_period_bytes = options.heap_period_bytes;
  plain.lock_period_ns = options.lock_period_ns;
  plain.no_heap = options.no_heap ? 1 : 0;
  plain.no_locks = options.no_locks ? 1 : 0;
  plain.max_seconds = options.max_seconds;
  plain.max_requests_per_minute = options.max_requests_per_minute;
  plain.dump_dir = text_or_null(options.dump_dir);
  plain.max_samples_per_second = options.max_samples_per_second;
  plain.socket_mode = options.socket_mode;
  std::string error(512, '\0');
  Started started;
  started.ok = plimsoll_appprof_start(&plain, error.data(), error.size()) == 0;
  if (!started.ok) {
    started.error = error.c_str();
  }
  return started;
}

inline void stop() {
  plimsoll_appprof_stop();
}

inline std::string address() {
  std::string text(128, '\0');
  text.resize(plimsoll_appprof_address(text.data(), text.size()));
  return text;
}

// A label of this thread until the end of the block. Stays where it is: neither copied nor moved, nor handed to another thread.
class Label {
 public:
  Label(std::string_view key, std::string_view value) noexcept {
    plimsoll_appprof_label_push(&label_, key.data(), key.size(), value.data(), value.size());
  }
  Label(const Label&) = delete;
  Label& operator=(const Label&) = delete;
  ~Label() { plimsoll_appprof_label_pop(&label_); }

 private:
  plimsoll_appprof_label label_;
};

// When bursts are, and the ID of a request: see appprof_c.h.
inline bool set_bursts(const std::string& config) {
  return plimsoll_appprof_set_bursts(config.c_str()) == 0;
}
inline uint64_t request_id(const std::string& traceparent) {
  return plimsoll_appprof_request_id(traceparent.c_str());
}

// Events of bursts: see appprof_c.h.
inline uint64_t rpc_in(const std::string& method, const std::string& peer, uint64_t bytes) {
  return plimsoll_appprof_rpc_in(method.c_str(), peer.c_str(), bytes);
}
inline uint64_t rpc_out(const std::string& method, const std::string& peer, uint64_t bytes) {
  return plimsoll_appprof_rpc_out(method.c_str(), peer.c_str(), bytes);
}
inline void rpc_end(uint64_t call, uint64_t bytes) {
  plimsoll_appprof_rpc_end(call, bytes);
}
inline void annotate(const std::string& text, uint64_t value) {
  plimsoll_appprof_annotate(text.c_str(), value);
}

// A request from begin to end of the block, in one thread. What it is handed to has a WorksFor.
class RequestScope {
 public:
  explicit RequestScope(uint64_t id) noexcept : id_(id) { plimsoll_appprof_request_start(id_); }
  RequestScope(const RequestScope&) = delete;
  RequestScope& operator=(const RequestScope&) = delete;
  ~RequestScope() { plimsoll_appprof_request_stop(id_); }

 private:
  const uint64_t id_;
};

// This thread works for a request that began elsewhere, until the end of the block; then for none.
class WorksFor {
 public:
  explicit WorksFor(uint64_t id) noexcept { plimsoll_appprof_request_switch(id); }
  WorksFor(const WorksFor&) = delete;
  WorksFor& operator=(const WorksFor&) = delete;
  ~WorksFor() { plimsoll_appprof_request_switch(0); }
};

}  // namespace plimsoll::appprof
