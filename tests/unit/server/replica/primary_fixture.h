// A data directory as a primary server has it, and a server that hands out copies of it and can be made to fail.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "http/listener.h"
#include "server/doors/directory_door.h"
#include "store/directory/data_directory.h"
#include "store/replica/directory_copies.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/machine_to_register.h"

namespace plimsoll::server::replica_test {

inline constexpr int64_t kDrawTimeNs = 1'700'000'000'000'000'000;

// Of one machine, which is alone in its stratum.
inline store::DrawWithMachines draw_of(const std::string& id, const std::string& machine, double weight = 1) {
  store::DrawWithMachines draw;
  draw.draw.id = id;
  draw.draw.made_ns = kDrawTimeNs;
  draw.draw.strata = {{.name = "", .machines = 1, .expected = 1, .drawn = 1, .drawn_weight = weight}};
  draw.machines = {{.machine_id = machine, .stratum = 0, .inclusion_probability = 1 / weight}};
  return draw;
}

class PrimaryTest : public ::testing::Test {
 protected:
  // What the server does to an answer before it is sent.
  using Tamper = std::function<void(const http::Request& request, http::Response& response)>;

  PrimaryTest()
      : directory_(*store::DataDirectory::open_for_writing(folder_ / "data")),
        draws_(*directory_.open_draws()),
        machines_(*directory_.open_machines()) {}

  void register_machine(const std::string& id) {
    const Status registered =
        machines_.register_machine(store::machine(id, "boot"), kDrawTimeNs, 5'000'000'000);
    ASSERT_TRUE(registered) << registered.error().text();
  }
  void add_draw(const std::string& id, const std::string& machine, double weight = 1) {
    const Status added = draws_.add(draw_of(id, machine, weight));
    ASSERT_TRUE(added) << added.error().text();
  }

  void listen(bool has_rows_elsewhere = true) {
    std::vector<http::Route> routes = directory_routes(copies_, {.has_rows_elsewhere = has_rows_elsewhere});
    for (http::Route& route : routes) {
      route.handle = [this, handle = std::move(route.handle)](const http::Request& request) {
        ++requests_;
        http::Response response = handle(request);
        const std::lock_guard lock(mutex_);
        if (tamper_) {
          tamper_(request, response);
        }
        return response;
      };
    }
    http::ListenerOptions options;
    options.address = address_.empty() ? "127.0.0.1:0" : address_;
    auto listener = http::Listener::start(options, std::move(routes));
    ASSERT_TRUE(listener) << listener.error().text();
    listener_ = *std::move(listener);
    address_ = listener_->address();
  }
  void tamper(Tamper how) {
    const std::lock_guard lock(mutex_);
    tamper_ = std::move(how);
  }

  // The file of a response, in memory instead.
  static std::string& body_of(http::Response& response) {
    if (response.file) {
      response.body = read_at(*response.file->fd, "file", 0, response.file->bytes).value_or("");
      response.file.reset();
    }
    return response.body;
  }
  static bool is_file(const http::Request& request, const std::string& name) {
    return request.path.ends_with("/" + name);
  }

  plimsoll::testing::TemporaryDirectory folder_;
  const store::DataDirectory directory_;
  store::DrawStore draws_;
  store::LiveMachines machines_;
  store::DirectoryCopies copies_{directory_.path()};
  std::mutex mutex_;
  Tamper tamper_;  // protected by mutex_
  std::atomic<int> requests_ = 0;
  std::string address_;
  std::unique_ptr<http::Listener> listener_;
};

}  // namespace plimsoll::server::replica_test
