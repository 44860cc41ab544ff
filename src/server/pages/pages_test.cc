#include <gtest/gtest.h>

#include "server/http/router.h"
#include "server/http/test_exchange.h"
#include "server/pages/page_files.h"
#include "server/pages/page_routes.h"
#include "server/pages/report_page.h"

namespace perjoule {
namespace {

class PagesTest : public testing::Test {
 protected:
  PagesTest() { router_.add(page_routes()); }
  std::shared_ptr<TestExchange> get(const std::string& target) {
    auto exchange = std::make_shared<TestExchange>();
    router_.handle({.method = "GET", .target = target}, exchange);
    return exchange;
  }
  VirtualClock clock_;
  Router router_{std::make_shared<const Gate>(GateRules{}), clock_, {}};
};

TEST_F(PagesTest, ThePageAndAllItNamesAreThere) {
  const auto page = get("/");
  ASSERT_EQ(page->status(), 200);
  EXPECT_EQ(page->field("Cache-Control"), "no-cache");
  const std::string text = page->wait();
  std::size_t named = 0;
  for (std::size_t at = 0; (at = text.find("./assets/", at)) != std::string::npos; ++named) {
    const std::string name = text.substr(at + 1, text.find('"', at) - at - 1);
    const auto asset = get(name);
    EXPECT_EQ(asset->status(), 200) << name;
    EXPECT_NE(asset->field("Cache-Control").find("immutable"), std::string::npos);
    at += 9;
  }
  EXPECT_GE(named, 2U);
  EXPECT_EQ(text.find("http://"), text.find("http://www.w3.org")) << "nothing of another site";
  EXPECT_EQ(get("/assets/nothing.js")->status(), 404);
  EXPECT_EQ(get("/assets/..%2findex.html")->status(), 404);
}

TEST_F(PagesTest, AReportHasItsDocumentsInside) {
  Json document = Json::object();
  document["schema"] = "perjoule.frontier.v1";
  document["name"] = "</script><script>alert(1)</script><!--";
  const auto page = report_page({document, document});
  ASSERT_TRUE(page) << page.error().text();
  const std::size_t begin = page->find("id=\"documents\">") + 15;
  const std::size_t end = page->find("</script>", begin);
  const auto inside = parse_json(page->substr(begin, end - begin));
  ASSERT_TRUE(inside) << inside.error().text();
  ASSERT_EQ(inside->as_array()->size(), 2U);
  EXPECT_EQ((*inside->as_array())[1], document);
  EXPECT_TRUE(report_page({}));
}

TEST_F(PagesTest, TypesGoByTheEnding) {
  EXPECT_EQ(page_type("a.html"), "text/html; charset=utf-8");
  EXPECT_EQ(page_type("assets/x.js"), "text/javascript; charset=utf-8");
  EXPECT_EQ(page_type("x"), "application/octet-stream");
}

}  // namespace
}  // namespace perjoule
