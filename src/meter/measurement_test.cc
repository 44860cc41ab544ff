#include "meter/measurement.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

SourceInfo source(const std::string& id, const std::string& overlaps = "",
                  Boundary boundary = Boundary::kDevice) {
  SourceInfo info;
  info.id = id;
  info.overlaps = overlaps;
  info.boundary = boundary;
  return info;
}

std::vector<std::string> summed(const std::vector<SourceInfo>& infos) {
  std::vector<const SourceInfo*> all;
  for (const SourceInfo& info : infos) all.push_back(&info);
  std::vector<std::string> ids;
  for (const SourceInfo& info : infos) {
    if (adds_up(info, all)) ids.push_back(info.id);
  }
  return ids;
}

using Ids = std::vector<std::string>;

TEST(AddsUp, WhatLiesWithinAnotherIsLeftOutWhereThatOneIsThere) {
  const SourceInfo package = source("cpu:0/package");
  const SourceInfo core = source("cpu:0/core", "cpu:0/package");
  EXPECT_EQ(summed({package, core}), Ids({"cpu:0/package"}));
  EXPECT_EQ(summed({core}), Ids({"cpu:0/core"}));
}

TEST(AddsUp, AMeterOfTheWholeIsNeverAddedToItsInside) {
  const SourceInfo node = source("node/redfish", "cpu:0/package", Boundary::kNode);
  const SourceInfo gpu = source("gpu:a");
  const SourceInfo estimate = source("cpu:0/estimate");
  EXPECT_EQ(summed({node, gpu}), Ids({"gpu:a"}));
  EXPECT_EQ(summed({estimate, gpu, node}), Ids({"cpu:0/estimate", "gpu:a"}));
  EXPECT_EQ(summed({node}), Ids({"node/redfish"}));
}

TEST(AddsUp, OfSeveralMetersOfTheWholeTheFirstCounts) {
  const SourceInfo dcmi = source("node/dcmi", "cpu:0/package", Boundary::kNode);
  const SourceInfo redfish = source("node/redfish", "cpu:0/package", Boundary::kNode);
  EXPECT_EQ(summed({dcmi, redfish}), Ids({"node/dcmi"}));
}

}  // namespace
}  // namespace perjoule
