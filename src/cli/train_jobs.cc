#include "cli/train_jobs.h"

#include "base/file.h"
#include "client/api_client.h"
#include "net/http_target.h"
#include "store/sqlite_event_log.h"
#include "store/store.h"

namespace perjoule::cli {
namespace {

constexpr const char* kJobs = "/api/v1/jobs";

/// With all that it stands on.
class StoredJobCalls final : public JobCalls {
 public:
  explicit StoredJobCalls(std::unique_ptr<EventLog> log)
      : log_(std::move(log)),
        calls_({*log_, clock_, read_attribute("/proc/sys/kernel/random/boot_id").value_or("")}) {}

  Result<Json> create(const JobDefinition& definition) override {
    return calls_.create(definition);
  }
  Result<Json> ask(const std::string& job) override { return calls_.ask(job); }
  Result<Json> report(const std::string& job, const TrialReport& report) override {
    return calls_.report(job, report);
  }
  Result<Json> abandon(const std::string& job, std::int64_t trial) override {
    return calls_.abandon(job, trial);
  }
  Result<Json> show(const std::string& job) override { return calls_.show(job); }
  Result<Json> list() override { return calls_.list(); }
  Result<Json> remove(const std::string& job) override { return calls_.remove(job); }

 private:
  std::unique_ptr<EventLog> log_;
  RealClock clock_;
  ServedJobCalls calls_;
};

class RemoteJobCalls final : public JobCalls {
 public:
  Outcome connect(const std::string& address) {
    PJ_TRY(api_,
           ApiClient::connect(clock_, {.address = address, .token_variable = "PERJOULE_TOKEN"}));
    return {};
  }

  Result<Json> create(const JobDefinition& definition) override {
    return api_->put(path(definition.name), definition_document(definition));
  }
  Result<Json> ask(const std::string& job) override { return api_->post(path(job) + "/next"); }
  Result<Json> report(const std::string& job, const TrialReport& report) override {
    return api_->post(path(job) + "/report", report_document(report));
  }
  Result<Json> abandon(const std::string& job, std::int64_t trial) override {
    Json body = Json::object();
    body["trial"] = trial;
    return api_->post(path(job) + "/abandon", body);
  }
  Result<Json> show(const std::string& job) override { return api_->get(path(job)); }
  Result<Json> list() override { return api_->get(kJobs); }
  Result<Json> remove(const std::string& job) override { return api_->erase(path(job)); }

 private:
  static std::string path(const std::string& job) {
    return std::string(kJobs) + "/" + percent_encoded(job);
  }

  RealClock clock_;
  std::unique_ptr<ApiClient> api_;
};

}  // namespace

Result<std::unique_ptr<JobCalls>> open_jobs(const std::string& store) {
  PJ_TRY(auto log, SqliteEventLog::open(store));
  return std::unique_ptr<JobCalls>(std::make_unique<StoredJobCalls>(std::move(log)));
}

void add_daemon_option(std::vector<Option>& options) {
  options.push_back({"daemon", "ADDRESS",
                     "the jobs of a daemon (unix:/run/perjoule/perjoule.sock, https://node:8470) "
                     "instead of this user's; PERJOULE_TOKEN holds the token"});
}

Result<std::unique_ptr<JobCalls>> jobs_of(const Arguments& arguments) {
  if (!arguments.has("daemon")) return open_jobs(default_store_path());
  auto remote = std::make_unique<RemoteJobCalls>();
  PJ_CHECK(remote->connect(arguments.value("daemon")));
  return std::unique_ptr<JobCalls>(std::move(remote));
}

}  // namespace perjoule::cli
