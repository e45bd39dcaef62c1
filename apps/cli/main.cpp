// SPDX-License-Identifier: Apache-2.0
// The program strata: finds the verb, reads its flags, runs it, and turns errors into exit codes.
#include <exception>
#include <iostream>
#include <new>

#include "flags.h"

#include "base/log.h"
#include "base/signals.h"
#include "base/text.h"
#include "strata/checkpoint.h"

namespace {

int run(const std::vector<std::string>& words) {
  using namespace strata;
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    (words.empty() ? std::cerr : std::cout) << help_of_all();
    return words.empty() ? 2 : 0;
  }
  const auto& verbs = parts<Verb>();
  if (!verbs.has(words[0]))
    throw UsageError(cat("strata has no verb '", words[0], "'", did_you_mean(words[0], verbs.names()), "; verbs are ",
                         listed(verbs.names())));
  const Schema& schema = verbs.schema(words[0]);
  for (const auto& word : words)
    if (word == "--help" || word == "-h") {
      std::cout << help_of(schema);
      return 0;
    }
  Verb verb;
  const Config flags = read_flags(schema, std::span(words).subspan(1));
  try {
    verb = verbs.make(words[0], flags);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  return verb->run(std::cout);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace strata;
  const auto say = [](const char* what) { std::cerr << coloured("error: ", Colour::red, 2) << what << "\n"; };
  ignore_file_size_signal();  // such a write fails instead, and is said
  try {
    return run({argv + 1, argv + argc});
  } catch (const UsageError& error) {
    say(error.what());
    return 2;
  } catch (const Stopped& stopped) {
    note(stopped.what());
    return 85;
  } catch (const RunFailed& error) {
    say(error.what());
    return 3;
  } catch (const Error& error) {
    say(error.what());
    return 1;
  } catch (const std::bad_alloc&) {
    say("the machine has no more memory");
    return 3;
  } catch (const std::exception& error) {
    say(error.what());
    return 70;
  }
}
