#include "server/http/openapi.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

Json schemas() {
  Json all = Json::object();
  all["thing"] = Json::object();
  all["perjoule.error.v1"] = Json::object();
  return all;
}

TEST(OpenapiTest, SaysWhatTheRoutesSay) {
  const std::vector<Route> routes = {
      {.method = "POST",
       .pattern = "/things/{id}",
       .role = Role::kControl,
       .summary = "change one",
       .parameters = {{"n", RouteParameter::Kind::kInteger, "how many", true}},
       .body = "thing",
       .answer = "thing"},
      {.pattern = "/things/{id}", .role = Role::kNone, .summary = "one", .answer = "thing"}};
  const auto document = openapi_document(routes, schemas(), "1.2.3");
  ASSERT_TRUE(document) << document.error().text();
  const Json* const paths = document->find("paths");
  const Json* const post = paths->find("/things/{id}")->find("post");
  EXPECT_EQ(post->string("x-role"), "control");
  EXPECT_EQ(post->find("parameters")->dump(),
            "[{\"name\":\"id\",\"in\":\"path\",\"required\":true,\"schema\":{\"type\":\"string\"}},"
            "{\"name\":\"n\",\"in\":\"query\",\"required\":true,\"description\":\"how many\","
            "\"schema\":{\"type\":\"integer\"}}]");
  EXPECT_EQ(post->find("requestBody")->find("content")->dump(),
            "{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/thing\"}}}");
  EXPECT_EQ(post->find("security")->dump(), "[{\"token\":[]}]");
  EXPECT_EQ(paths->find("/things/{id}")->find("get")->find("security")->dump(), "[]");
  EXPECT_EQ(document->find("info")->string("version"), "1.2.3");
}

TEST(OpenapiTest, RefusesASchemaThatIsNotThereAndARouteThatIsThereTwice) {
  EXPECT_FALSE(openapi_document({{.pattern = "/a", .answer = "other"}}, schemas(), "1"));
  EXPECT_FALSE(openapi_document({{.pattern = "/a"}, {.pattern = "/a"}}, schemas(), "1"));
  EXPECT_TRUE(
      openapi_document({{.pattern = "/a"}, {.method = "PUT", .pattern = "/a"}}, schemas(), "1"));
}

TEST(OpenapiTest, TheDaemonsSchemasAreThere) {
  EXPECT_NE(document_schemas().find("perjoule.error.v1"), nullptr);
  EXPECT_NE(document_schemas().find("perjoule.picture.v1"), nullptr);
}

}  // namespace
}  // namespace perjoule
