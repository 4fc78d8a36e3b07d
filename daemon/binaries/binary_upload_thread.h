// Sends binaries in a thread of its own: no transfer delays profiles.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/unique_fd.h"
#include "daemon/binaries/binary_uploader.h"
#include "http/client.h"

namespace plimsoll::binaries {

// Any thread may call. Without paths there is no thread.
class BinaryUploadThread {
 public:
  // `client`: of the fleet listener; the timeout of transfers and what cancels them are set here.
  BinaryUploadThread(const BinaryUploadSettings& settings, http::ClientOptions client);
  BinaryUploadThread(const BinaryUploadThread&) = delete;
  BinaryUploadThread& operator=(const BinaryUploadThread&) = delete;
  ~BinaryUploadThread() { stop(); }

  void note(const wire::RawProfile& profile);

  // Gives up the transfer under way, within about a second. May be called again.
  void stop();

 private:
  void run();

  BinaryUploader uploader_;
  UniqueFd cancel_;
  http::Client asking_;
  http::Client sending_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // guarded by mutex_, as the next
  bool has_news_ = false;
  std::thread thread_;
};

}  // namespace plimsoll::binaries
