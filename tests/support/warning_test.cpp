#include <edgefx/support/warning.h>

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace edgefx {
namespace {

// Puts the handler that was there before back at the end of a test.
class WarningTest : public testing::Test {
 protected:
  WarningTest() : before_(setWarningHandler({})) {}
  ~WarningTest() override { setWarningHandler(before_); }

  WarningHandler before_;
};

TEST_F(WarningTest, GoesToTheHandler) {
  std::vector<std::string> seen;
  setWarningHandler(
      [&seen](const Warning& warning) { seen.push_back(warning.category + ": " + warning.message); });
  warn({"schema", "unknown field"});
  warn({"plugin", "old"});
  EXPECT_EQ(seen, (std::vector<std::string>{"schema: unknown field", "plugin: old"}));
}

TEST_F(WarningTest, SettingAHandlerReturnsTheOldOne) {
  int calls = 0;
  setWarningHandler([&calls](const Warning&) { ++calls; });
  WarningHandler old = setWarningHandler({});
  ASSERT_TRUE(old);
  old({"schema", "again"});
  EXPECT_EQ(calls, 1);
}

TEST_F(WarningTest, AnEmptyHandlerDropsWarnings) {
  testing::internal::CaptureStderr();
  warn({"schema", "unseen"});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(WarningTest, TheDefaultWritesALineToStderr) {
  setWarningHandler(before_);
  testing::internal::CaptureStderr();
  warn({"schema", "unknown field 'x'"});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "edgefx: warning: unknown field 'x' [schema]\n");
}

TEST_F(WarningTest, AHandlerMayCauseAWarning) {
  std::vector<std::string> seen;
  setWarningHandler([&seen](const Warning& warning) {
    seen.push_back(warning.message);
    if (seen.size() == 1) warn({"schema", "second"});
  });
  warn({"schema", "first"});
  EXPECT_EQ(seen, (std::vector<std::string>{"first", "second"}));
}

TEST_F(WarningTest, CallsComeOneAtATime) {
  int calls = 0;  // unguarded on purpose
  setWarningHandler([&calls](const Warning&) { ++calls; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int j = 0; j < 500; ++j) warn({"schema", "text"});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls, 2000);
}

}  // namespace
}  // namespace edgefx
