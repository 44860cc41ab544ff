#include "server/http/principal.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

constexpr std::int64_t kNow = 1'800'000'000;

TokenRecord token(const std::string& name, const std::string& secret, Role role,
                  std::int64_t expires = 0) {
  return {name, role, *sha256_hex(secret), expires};
}

ServerRequest with_token(const std::string& authorization) {
  ServerRequest request;
  request.fields = {{"Authorization", authorization}};
  request.peer.listener = "tcp";
  return request;
}

ServerRequest of_user(std::uint32_t uid, std::uint32_t gid = 7000) {
  ServerRequest request;
  request.peer = {.listener = "local", .process = HttpPeer::Process{1, uid, gid}};
  return request;
}

ServerRequest at_open(const std::string& host) {
  ServerRequest request;
  request.fields = {{"Host", host}};
  request.peer.listener = "open";
  return request;
}

Gate gate() {
  return Gate(
      {.tokens = {token("a", "pj_a", Role::kRead), token("b", "pj_b", Role::kAdmin, kNow + 1),
                  token("old", "pj_old", Role::kAdmin, kNow)},
       .local = {.users = {{1001, Role::kControl}, {1002, Role::kNone}},
                 .groups = {{50, Role::kAdmin}},
                 .others = Role::kRead},
       .open_listeners = {"open"},
       .own_uid = 900});
}

TEST(PrincipalTest, Sha256IsThatOfTheStandard) {
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(*sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(PrincipalTest, ATokenHasItsRoleUntilItExpires) {
  const auto who = gate().admit(with_token("Bearer pj_a"), kNow);
  ASSERT_TRUE(who) << who.error().text();
  EXPECT_EQ(who->name, "token:a");
  EXPECT_EQ(who->role, Role::kRead);
  EXPECT_EQ(gate().admit(with_token("bearer pj_b"), kNow)->role, Role::kAdmin);
  for (const char* const wrong : {"Bearer pj_old", "Bearer pj_c", "Bearer ", "Bearer", "Basic pj_a",
                                  "pj_a", "Bearer pj_a ", "Bearer pj_a, Bearer pj_b"}) {
    const auto refused = gate().admit(with_token(wrong), kNow);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied) << wrong;
  }
}

TEST(PrincipalTest, AWrongTokenIsRefusedWhereNoneWouldBeNeeded) {
  ServerRequest request = of_user(0);
  request.fields = {{"Authorization", "Bearer wrong"}};
  EXPECT_FALSE(gate().admit(request, kNow));
}

TEST(PrincipalTest, UsersAndGroupsHaveTheirRoles) {
  EXPECT_EQ(gate().admit(of_user(0), kNow)->role, Role::kAdmin);
  EXPECT_EQ(gate().admit(of_user(900), kNow)->role, Role::kAdmin);
  EXPECT_EQ(gate().admit(of_user(1001), kNow)->role, Role::kControl);
  EXPECT_EQ(gate().admit(of_user(1002), kNow)->role, Role::kNone) << "what is said of him stands";
  EXPECT_EQ(gate().admit(of_user(1003, 50), kNow)->role, Role::kAdmin);
  EXPECT_EQ(gate().admit(of_user(1003), kNow)->name, "user:1003");
}

TEST(PrincipalTest, AnyoneReadsAtAnOpenListenerUnderThisMachinesName) {
  for (const char* const host :
       {"localhost", "LOCALHOST:8470", "127.0.0.1:8470", "[::1]:8470", "[::1]"}) {
    EXPECT_EQ(gate().admit(at_open(host), kNow)->role, Role::kRead) << host;
  }
  for (const char* const host : {"", "evil.example", "localhost.evil.example",
                                 "127.0.0.1.evil.example:8470", "evil.example:127.0.0.1"}) {
    EXPECT_EQ(gate().admit(at_open(host), kNow)->role, Role::kNone) << host;
  }
  ServerRequest elsewhere = at_open("localhost");
  elsewhere.peer.listener = "tcp";
  EXPECT_EQ(gate().admit(elsewhere, kNow)->role, Role::kNone);
}

TEST(PrincipalTest, RolesHaveNames) {
  for (const Role role : {Role::kNone, Role::kRead, Role::kControl, Role::kAdmin}) {
    EXPECT_EQ(*parse_role(name_of(role)), role);
  }
  EXPECT_FALSE(parse_role("root"));
}

}  // namespace
}  // namespace perjoule
