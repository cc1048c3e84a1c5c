#include "engine/stop_matcher.hpp"

#include <gtest/gtest.h>

#include <random>

namespace moe::engine {
namespace {

TEST(StopMatcher, CutsBeforeTheStopStringHoweverThePiecesFall) {
  const std::string text = "one two STOP three";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    StopMatcher matcher({"STOP"}, false);
    std::string shown = matcher.push(text.substr(0, cut));
    shown += matcher.push(text.substr(cut));
    EXPECT_TRUE(matcher.matched());
    EXPECT_EQ(shown, "one two ") << cut;
  }
}

TEST(StopMatcher, TheEarliestMatchWinsAndCanBeKept) {
  StopMatcher matcher({"two", "one"}, true);
  EXPECT_EQ(matcher.push("zero one two"), "zero one");
  EXPECT_EQ(matcher.match(), "one");
  EXPECT_EQ(matcher.push("more"), "");
}

TEST(StopMatcher, HoldsBackOnlyWhatCouldBecomeAStop) {
  StopMatcher matcher({"\n\n", "END"}, false);
  EXPECT_EQ(matcher.push("a\n"), "a");
  EXPECT_EQ(matcher.push("b E"), "\nb ");
  EXPECT_EQ(matcher.push("N"), "");
  EXPECT_EQ(matcher.push("x"), "ENx");
  EXPECT_EQ(matcher.push("EN"), "");
  EXPECT_EQ(matcher.finish(), "EN");
}

TEST(StopMatcher, EqualsASearchInTheWholeTextOnRandomPieces) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 24; ++i) text += static_cast<char>('a' + random() % 2);
    const std::vector<std::string> stops = {"abab", "bba", "aaaaa"};
    StopMatcher matcher(stops, false);
    std::string shown;
    for (size_t at = 0; at < text.size() && !matcher.matched();) {
      const size_t size = 1 + random() % 3;
      shown += matcher.push(text.substr(at, size));
      at += size;
    }
    if (!matcher.matched()) shown += matcher.finish();
    // A stop string counts when it is complete, so the one that ends first is found first unless
    // one piece completes several: then the one that begins first.
    const size_t found = text.find(matcher.matched() ? matcher.match() : std::string("\x01"));
    EXPECT_EQ(shown, text.substr(0, found));
    EXPECT_EQ(matcher.matched(), text.find("abab") != std::string::npos ||
                                     text.find("bba") != std::string::npos ||
                                     text.find("aaaaa") != std::string::npos);
  }
}

}  // namespace
}  // namespace moe::engine
