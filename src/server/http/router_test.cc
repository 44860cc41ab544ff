#include "server/http/router.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/file.h"
#include "server/http/event_hub.h"
#include "server/http/test_exchange.h"

namespace perjoule {
namespace {

class RouterTest : public testing::Test {
 protected:
  RouterTest()
      : gate_(std::make_shared<const Gate>(
            GateRules{.local = {.users = {{1001, Role::kControl}, {1003, Role::kAdmin}},
                                .others = Role::kRead},
                      .own_uid = 900})) {}

  void make(const Router::Limits& limits = {}, AuditLog audit = {}) {
    router_ = std::make_unique<Router>(gate_, clock_, limits, std::move(audit));
    std::vector<Route> routes;
    routes.push_back(
        {.pattern = "/open",
         .role = Role::kNone,
         .summary = "all",
         .handle = [](const Call&) -> Result<Reply> { return Reply{.body = "open"}; }});
    routes.push_back({.pattern = "/things/{id}/part/{part}",
                      .summary = "one",
                      .parameters = {{.name = "n", .kind = RouteParameter::Kind::kInteger},
                                     {.name = "x", .kind = RouteParameter::Kind::kNumber},
                                     {.name = "word"}},
                      .handle = [](const Call& call) -> Result<Reply> {
                        return Reply{.body = call.captured[0] + "|" + call.captured[1] + "|" +
                                             std::to_string(call.integer("n").value_or(-1)) + "|" +
                                             call.text("word").value_or("-") + "|" +
                                             call.principal.name};
                      }});
    routes.push_back({.method = "POST",
                      .pattern = "/things",
                      .role = Role::kControl,
                      .summary = "make one",
                      .body = "thing",
                      .handle = [](const Call& call) -> Result<Reply> {
                        return Reply{.status = 201, .body = *call.body.string("name")};
                      }});
    routes.push_back({.method = "DELETE",
                      .pattern = "/things",
                      .role = Role::kAdmin,
                      .summary = "all go",
                      .parameters = {{.name = "sure", .required = true}},
                      .handle = [](const Call&) -> Result<Reply> { return Reply{}; }});
    routes.push_back(
        {.pattern = "/fails", .summary = "never well", .handle = [](const Call&) -> Result<Reply> {
           return Error::conflict("it is held", "wait");
         }});
    routes.push_back({.pattern = "/slow",
                      .summary = "by a worker",
                      .is_slow = true,
                      .handle = [this](const Call& call) -> Result<Reply> {
                        worker_ = std::this_thread::get_id();
                        return Reply{.body = call.principal.name + " " + call.request.target};
                      }});
    routes.push_back({.pattern = "/live",
                      .summary = "events",
                      .stream =
                          [this](const Call&, std::shared_ptr<ServerExchange> exchange) {
                            return hub_.join(std::move(exchange), std::nullopt);
                          },
                      .owner = &hub_});
    router_->add(std::move(routes));
  }

  std::shared_ptr<TestExchange> ask(const std::string& method, const std::string& target,
                                    std::uint32_t uid = 1002, const std::string& body = "") {
    auto exchange = std::make_shared<TestExchange>();
    router_->handle({.method = method,
                     .target = target,
                     .body = body,
                     .peer = {.listener = "local", .process = HttpPeer::Process{1, uid, 7000}}},
                    exchange);
    return exchange;
  }

  VirtualClock clock_;
  std::shared_ptr<const Gate> gate_;
  EventHub hub_;
  std::thread::id worker_;
  std::unique_ptr<Router> router_;  // last: its workers use all else
};

TEST_F(RouterTest, FindsTheRouteAndHandsOnWhatWasAsked) {
  make();
  EXPECT_EQ(ask("GET", "/things/a%2Fb/part/2?n=7&word=x+y")->wait(), "a/b|2|7|x y|user:1002");
  EXPECT_EQ(ask("HEAD", "/things/a/part/2")->status(), 200)
      << "as GET: the server leaves the body out";
  EXPECT_EQ(ask("GET", "/open")->wait(), "open");
  for (const char* const target : {"/", "/things/a", "/things//part/2", "/things/a/part/2/",
                                   "/Open", "/open/x", "/things/a/part/"}) {
    EXPECT_EQ(ask("GET", target)->status(), 404) << target;
  }
  for (const char* const target : {"/../open", "/%2e%2e/open", "/open?a=%", "open", "*"}) {
    EXPECT_EQ(ask("GET", target)->status(), 400) << target;
  }
}

TEST_F(RouterTest, ALongerBodyIsForThoseAloneWhoMayAsk) {
  make();
  std::vector<Route> more;
  more.push_back({.method = "POST",
                  .pattern = "/long/{id}",
                  .role = Role::kControl,
                  .summary = "a long one",
                  .body = "thing",
                  .most_body = 5000,
                  .handle = [](const Call&) -> Result<Reply> { return Reply{}; }});
  router_->add(std::move(more));
  const auto most = [&](const std::string& method, const std::string& target, std::uint32_t uid) {
    return router_->most_body(
        {.method = method,
         .target = target,
         .peer = {.listener = "local", .process = HttpPeer::Process{1, uid, 7000}}});
  };
  EXPECT_EQ(most("POST", "/long/a", 1001), 5000U);
  EXPECT_EQ(most("POST", "/long/a", 1002), 0U) << "who only reads";
  EXPECT_EQ(most("GET", "/long/a", 1001), 0U);
  EXPECT_EQ(most("POST", "/things", 1001), 0U);
  EXPECT_EQ(most("POST", "/nothing", 1001), 0U);
}

TEST_F(RouterTest, SaysWhichMethodsAnAddressTakes) {
  make();
  const auto answer = ask("PUT", "/things", 0);
  EXPECT_EQ(answer->status(), 405);
  EXPECT_EQ(answer->field("Allow"), "POST, DELETE");
}

TEST_F(RouterTest, RefusesWhoMayNot) {
  make();
  const auto refused = ask("POST", "/things", 1002, R"({"name":"a"})");
  EXPECT_EQ(refused->status(), 403);
  EXPECT_EQ(refused->message(), "POST /things needs the role control; user:1002 has read");
  EXPECT_EQ(ask("POST", "/things", 1001, R"({"name":"a"})")->status(), 201);
  EXPECT_EQ(ask("DELETE", "/things?sure=1", 1001)->status(), 403);
  EXPECT_EQ(ask("DELETE", "/things?sure=1", 1003)->status(), 200);
  auto nobody = std::make_shared<TestExchange>();
  router_->handle({.method = "GET", .target = "/fails", .peer = {.listener = "tcp"}}, nobody);
  EXPECT_EQ(nobody->status(), 401);
  EXPECT_EQ(nobody->field("WWW-Authenticate"), "Bearer");
  auto wrong = std::make_shared<TestExchange>();
  router_->handle({.method = "GET",
                   .target = "/fails",
                   .fields = {{"Authorization", "Bearer x"}},
                   .peer = {.listener = "tcp"}},
                  wrong);
  EXPECT_EQ(wrong->status(), 401);
}

TEST_F(RouterTest, RefusesParametersAndBodiesThatAreNotAsTheRouteSays) {
  make();
  for (const char* const query :
       {"?m=1", "?n=1.5", "?n=", "?n=1&n=2", "?x=nan", "?x=1e", "?n=99999999999999999999"}) {
    EXPECT_EQ(ask("GET", std::string("/things/a/part/1") + query)->status(), 400) << query;
  }
  EXPECT_EQ(ask("GET", "/things/a/part/1?x=-1e3")->status(), 200);
  EXPECT_EQ(ask("DELETE", "/things", 0)->message(), "the parameter sure is missing");
  for (const char* const body : {"", "{", "[]", "null", "\"x\"", "{}{}"}) {
    EXPECT_EQ(ask("POST", "/things", 0, body)->status(), 400) << body;
  }
  EXPECT_EQ(ask("GET", "/fails", 0, "{}")->message(), "GET /fails takes no body");
}

TEST_F(RouterTest, AnErrorHasItsStatusAndWords) {
  make();
  const auto answer = ask("GET", "/fails");
  EXPECT_EQ(answer->status(), 409);
  EXPECT_EQ(
      answer->wait(),
      "{\"schema\":\"perjoule.error.v1\",\"error\":{\"code\":\"conflict\",\"message\":\"it is "
      "held\",\"remedy\":\"wait\"}}\n");
}

TEST_F(RouterTest, WhatIsSlowIsDoneByAWorker) {
  make();
  EXPECT_EQ(ask("GET", "/slow")->wait(), "user:1002 /slow");
  EXPECT_NE(worker_, std::this_thread::get_id());
}

TEST_F(RouterTest, TooManyRequestsAreToldWhenToComeAgain) {
  make({.reads = {.per_second = 1, .burst = 2}, .changes = {.per_second = 1, .burst = 1}});
  EXPECT_EQ(ask("GET", "/fails")->status(), 409);
  EXPECT_EQ(ask("GET", "/fails")->status(), 409);
  const auto third = ask("GET", "/fails");
  EXPECT_EQ(third->status(), 429);
  EXPECT_EQ(third->field("Retry-After"), "1");
  EXPECT_EQ(ask("GET", "/open")->status(), 200) << "what is open to all is not counted";
  EXPECT_EQ(ask("GET", "/fails", 1001)->status(), 409) << "another principal";
  EXPECT_EQ(ask("POST", "/things", 1001, R"({"name":"a"})")->status(), 201);
  EXPECT_EQ(ask("POST", "/things", 1001, R"({"name":"a"})")->status(), 429);
  clock_.advance(Seconds(1));
  EXPECT_EQ(ask("GET", "/fails")->status(), 409);
}

TEST_F(RouterTest, ChangesAndRefusalsAreAudited) {
  const std::string path = testing::TempDir() + "audit-" + std::to_string(::getpid());
  ::unlink(path.c_str());
  auto audit = AuditLog::open(path);
  ASSERT_TRUE(audit) << audit.error().text();
  make({}, std::move(*audit));
  ask("GET", "/fails");
  ask("POST", "/things", 1001, R"({"name":"a"})");
  ask("DELETE", "/things?sure=\"x\ny\"", 1002);  // no target: its path is told of to nobody
  ask("DELETE", "/things?sure=1", 1002);
  EXPECT_EQ(
      *read_file(path),
      "{\"at\":\"2023-11-14 22:13:20\",\"who\":\"user:1001\",\"role\":\"control\",\"by\":\"local\","
      "\"from\":\"pid 1\",\"request\":\"POST /things\",\"status\":201}\n"
      "{\"at\":\"2023-11-14 22:13:20\",\"who\":\"user:1002\",\"role\":\"read\",\"by\":\"local\","
      "\"from\":\"pid 1\",\"request\":\"DELETE /things?sure=1\",\"status\":403}\n");
  ::unlink(path.c_str());
}

TEST_F(RouterTest, WhoIsRefusedAgainAndAgainFillsNoAuditLog) {
  const std::string path = testing::TempDir() + "refused-" + std::to_string(::getpid());
  ::unlink(path.c_str());
  auto audit = AuditLog::open(path);
  ASSERT_TRUE(audit) << audit.error().text();
  make({}, std::move(*audit));
  int told = 0;
  for (int i = 0; i < 1000; ++i) {
    if (ask("DELETE", "/things?sure=1", 1002)->status() == 403) ++told;
  }
  EXPECT_EQ(told, 100);
  const std::string log = *read_file(path);
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 100);
  EXPECT_EQ(ask("GET", "/open", 1002)->status(), 200);
  EXPECT_EQ(ask("DELETE", "/things?sure=1", 1001)->status(), 403) << "another user";
  clock_.advance(Seconds(1));
  EXPECT_EQ(ask("DELETE", "/things?sure=1", 1002)->status(), 403);
  ::unlink(path.c_str());
}

TEST_F(RouterTest, AStreamWhoseTokenIsTakenBackEnds) {
  make();
  const auto stream = ask("GET", "/live");
  router_->end_streams_of_others();
  EXPECT_FALSE(stream->is_over());
  router_->change_gate(
      std::make_shared<const Gate>(GateRules{.local = {.others = Role::kNone}, .own_uid = 900}));
  router_->end_streams_of_others();
  EXPECT_TRUE(stream->is_over());
}

TEST_F(RouterTest, AStreamsEndIsToldToItsOwner) {
  make();
  const auto stream = ask("GET", "/live");
  EXPECT_EQ(hub_.listeners(), 1U);
  router_->ended(*stream);
  EXPECT_EQ(hub_.listeners(), 0U);
  router_->ended(*stream);  // one that is not known
  hub_.close();
  EXPECT_EQ(ask("GET", "/live")->status(), 503);
}

TEST_F(RouterTest, CountsItsAnswersAndTakesAnotherGate) {
  make();
  ask("GET", "/open");
  ask("GET", "/fails");
  ask("GET", "/nowhere");
  EXPECT_EQ(router_->answers(), (std::map<int, std::uint64_t>{{200, 1}, {404, 1}, {409, 1}}));
  router_->change_gate(
      std::make_shared<const Gate>(GateRules{.local = {.others = Role::kNone}, .own_uid = 900}));
  EXPECT_EQ(ask("GET", "/fails")->status(), 401);
}

}  // namespace
}  // namespace perjoule
