// SPDX-License-Identifier: Apache-2.0
// doctest's main for every test executable. The last line it prints is what ./bootstrap adds up:
// "test cases: 12 passed, 0 failed, 1 skipped". Cases that only the filters left out are not counted.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <span>
#include <string_view>

#include "support/skip.h"

// A damaged file may make a library ask for more memory than there is: null, as without the sanitizer, not the end.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
// libhdf5 loses memory of its own when it turns a damaged file away.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace {

struct Counts {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  bool skip_asked = false;
};

Counts counts;
std::string_view file_ending;  // of the source file whose cases are asked for; empty for all

struct Counter : doctest::IReporter {
  explicit Counter(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override { counts.skip_asked = false; }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    if (!stats.testCaseSuccess) {
      ++counts.failed;
    } else if (counts.skip_asked) {
      ++counts.skipped;
    } else {
      ++counts.passed;
    }
  }
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData& test) override {
    if (test.m_skip && std::string_view(test.m_file.c_str()).ends_with(file_ending)) ++counts.skipped;
  }
};

DOCTEST_REGISTER_LISTENER("counter", 1, Counter);

}  // namespace

namespace strata::test {

void skip(const std::string& reason) {
  counts.skip_asked = true;
  MESSAGE("skipped: ", reason);
}

}  // namespace strata::test

int main(int argc, char** argv) {
  constexpr std::string_view filter = "--source-file=*";
  for (const std::string_view argument : std::span(argv, static_cast<std::size_t>(argc))) {
    if (argument.starts_with(filter)) file_ending = argument.substr(filter.size());
  }
  doctest::Context context(argc, argv);
  context.setOption("no-skipped-summary", true);
  const int result = context.run();
  if (context.shouldExit()) return result;
  std::fflush(stderr);
  std::printf("test cases: %d passed, %d failed, %d skipped\n", counts.passed, counts.failed, counts.skipped);
  if (counts.passed + counts.failed + counts.skipped == 0) {
    std::printf("no test case is called for\n");
    return 1;
  }
  return result;
}
