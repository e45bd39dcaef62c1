// SPDX-License-Identifier: Apache-2.0
// The program as a user runs it: exit codes, what goes to stdout, what to stderr.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/wait.h>

#include "support/temporary.h"

namespace {

struct Ran {
  int code;
  std::string out, err;
};

std::string contents(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Ran run(const strata::test::TemporaryFolder& folder, const std::string& words) {
  const std::string command = "cd '" + folder.path() + "' && '" STRATA_BINARY_DIR "/strata' " + words + " >out 2>err";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder / "out"), contents(folder / "err")};
}

const char* run_file = R"(version: 1
name: tiny
model:
  inputs: {x: {shape: [8]}}
  layers:
    - Dense: {units: 16, activation: relu}
    - Dense: {units: 3, name: logits}
compile:
  optimizer: {Adam: {learning_rate: 1e-2}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
data:
  train: {Synthetic: {rows: 256, shape: [8], classes: 3}}
  validation: {split: 0.25}
  test: {Synthetic: {rows: 100, shape: [8], classes: 3}}
fit: {batch_size: 32, epochs: 3}
)";

}  // namespace

TEST_CASE("train writes weights, log and configuration; evaluate says the same figures again") {
  const strata::test::TemporaryFolder folder;
  std::ofstream(folder / "run.yaml") << run_file;
  const Ran trained = run(folder, "train run.yaml");
  CAPTURE(trained.err);
  CHECK(trained.code == 0);
  CHECK(trained.out.find("test accuracy 0.") == 0);
  CHECK(trained.out.find("(100 rows)") != std::string::npos);
  CHECK(trained.err.find("Epoch 3/3") != std::string::npos);
  CHECK(std::filesystem::exists(folder / "runs/tiny/model.weights.h5"));
  const std::string log = contents(folder / "runs/tiny/log.csv");
  CHECK(log.find("epoch,accuracy,loss,val_accuracy,val_loss\n0,") == 0);
  CHECK(std::count(log.begin(), log.end(), '\n') == 4);
  const Ran evaluated = run(folder, "evaluate run.yaml");
  CHECK(evaluated.code == 0);
  CHECK(evaluated.out == trained.out);
  const Ran predicted = run(folder, "predict run.yaml --rows 5");
  CHECK(predicted.code == 0);
  CHECK(predicted.out.find("row,class,0,1,2\n0,") == 0);
  CHECK(std::count(predicted.out.begin(), predicted.out.end(), '\n') == 6);
  // The last line of the log holds the validation's figures as evaluate measures them.
  const Ran validated = run(folder, "evaluate run.yaml --data validation");
  CHECK(validated.code == 0);
  CHECK(validated.out.find("(64 rows)") != std::string::npos);
  const std::string loss = validated.out.substr(validated.out.find("loss ") + 5, 6);
  CHECK(std::stod(loss) == doctest::Approx(std::stod(log.substr(log.rfind(',') + 1))).epsilon(1e-3));
  // The written configuration is a run file itself.
  CHECK(run(folder, "check runs/tiny/config.yaml").code == 0);
}

TEST_CASE("the same run twice gives the same figures") {
  const strata::test::TemporaryFolder folder;
  std::ofstream(folder / "run.yaml") << run_file;
  const Ran first = run(folder, "train run.yaml"), second = run(folder, "train run.yaml");
  CHECK(first.out == second.out);
  const Ran other = run(folder, "train run.yaml --set seed=9");
  CHECK(other.out != first.out);
}

TEST_CASE("two replicas give one device's figures") {
  const strata::test::TemporaryFolder folder;
  std::ofstream(folder / "run.yaml") << run_file;
  const Ran one = run(folder, "train run.yaml --set compile.precision=float64");
  const Ran two = run(
      folder, "train run.yaml --set compile.precision=float64 --set 'strategy={MirroredStrategy: {devices: cpu:2}}'");
  CAPTURE(two.err);
  CHECK(two.code == 0);
  CHECK(two.out == one.out);
}

TEST_CASE("check, summary and plan look without training") {
  const strata::test::TemporaryFolder folder;
  std::ofstream(folder / "run.yaml") << run_file;
  CHECK(run(folder, "check run.yaml").out.find("run.yaml: good: 192 rows to train on, 64 to validate, 100 to test, ") ==
        0);
  CHECK(run(folder, "summary run.yaml").out.find("Parameters: 195 (780 bytes), trainable 195, not trainable 0") !=
        std::string::npos);
  const Ran plan = run(folder, "plan run.yaml --batch_size 8");
  CHECK(plan.code == 0);
  CHECK(plan.out.find("plan train 8 on cpu") == 0);
  CHECK(plan.out.find("Memory on one device: weights 780 bytes, optimizer 1.5 KiB") != std::string::npos);
  CHECK(run(folder, "plan run.yaml --mode evaluate").out.find("plan evaluate 32 on cpu") == 0);
  CHECK(run(folder, "plan run.yaml --mode predict").out.find("plan predict 32 on cpu") == 0);
  CHECK(run(folder, "plan run.yaml --mode guess").code == 2);
  CHECK(!std::filesystem::exists(folder / "runs"));
}

TEST_CASE("exit codes: 1 for wrong input, 2 for a wrong command line") {
  const strata::test::TemporaryFolder folder;
  std::ofstream(folder / "bad.yaml") << "version: 1\nmodle: 3\n";
  const Ran bad = run(folder, "train bad.yaml");
  CHECK(bad.code == 1);
  CHECK(bad.out.empty());
  CHECK(bad.err.find("bad.yaml:2:1: run file has no argument 'modle'; did you mean 'model'?") != std::string::npos);
  CHECK(run(folder, "train none.yaml").code == 1);
  CHECK(run(folder, "trian x.yaml").code == 2);
  CHECK(run(folder, "trian x.yaml").err.find("did you mean 'train'?") != std::string::npos);
  CHECK(run(folder, "train").code == 2);
  CHECK(run(folder, "train bad.yaml --sett a=b").code == 2);
  CHECK(run(folder, "train bad.yaml --sett a=b").err.find("did you mean '--set'?") != std::string::npos);
  CHECK(run(folder, "").code == 2);
}

TEST_CASE("exit code 3: the input was right, but the run failed") {
  const strata::test::TemporaryFolder folder;
  std::ofstream(folder / "run.yaml") << run_file;
  const Ran diverged =
      run(folder, "train run.yaml --set compile.optimizer=SGD --set compile.optimizer.SGD.learning_rate=1e38");
  CHECK(diverged.code == 3);
  CHECK(diverged.out.empty());
  CHECK(diverged.err.find("a smaller learning_rate, or clipnorm, usually cures this") != std::string::npos);
  // Without weights there is nothing to evaluate.
  const Ran early = run(folder, "evaluate run.yaml");
  CHECK(early.code == 1);
  CHECK(early.err.find("runs/tiny/model.weights.h5: there is no such file; strata train run.yaml writes it") !=
        std::string::npos);
}

TEST_CASE("help and the manual come from the schemas") {
  const strata::test::TemporaryFolder folder;
  CHECK(run(folder, "--help").out.find("train") != std::string::npos);
  CHECK(run(folder, "train --help").out.find("--set") != std::string::npos);
  const Ran page = run(folder, "describe layer Conv2D");
  CHECK(page.code == 0);
  CHECK(page.out.find("kernel_size") != std::string::npos);
  CHECK(page.out.find("trainable") != std::string::npos);
  CHECK(run(folder, "describe layer Conv3").code == 1);
  CHECK(run(folder, "describe optimizer").out.find("Adam") != std::string::npos);
  CHECK(run(folder, "devices").out.find("cpu:0") == 0);
}

TEST_CASE("a run goes on by itself, begins anew with --fresh, and inspect says what it left") {
  const strata::test::TemporaryFolder folder;
  std::ofstream(folder / "run.yaml") << run_file;
  CHECK(run(folder, "train run.yaml").code == 0);
  const Ran again = run(folder, "train run.yaml");
  CHECK(again.code == 0);
  CHECK(again.err.find("finished already: 3 of 3 epochs in runs/tiny/checkpoint-18.h5") != std::string::npos);
  CHECK(again.err.ends_with("\nweights in runs/tiny/model.weights.h5\n"));
  const Ran changed = run(folder, "train run.yaml --set compile.optimizer.Adam.learning_rate=0.5");
  CHECK(changed.code == 1);
  CHECK(changed.err.find(
            "was made by a run with other settings:\n  compile.optimizer.Adam.learning_rate: 1e-2 -> 0.5\n") !=
        std::string::npos);
  const Ran whole = run(folder, "inspect runs/tiny/checkpoint-18.h5");
  CHECK(whole.code == 0);
  CHECK(whole.out.find("  step 18, epoch 4 (0 steps done), 192 rows, seed 0\n") != std::string::npos);
  CHECK(run(folder, "inspect runs/tiny/checkpoint-18.h5 runs/tiny/checkpoint-18.h5").code == 0);
  CHECK(run(folder, "inspect runs/tiny/checkpoint-18.h5 runs/tiny/checkpoint-6.h5").code == 1);
  const Ran replayed = run(folder, "train run.yaml --replay-step 8");
  CHECK(replayed.code == 0);
  CHECK(replayed.out.starts_with("step 8 (epoch 2): loss is "));
  CHECK(replayed.out.ends_with("; every array of the step is finite\n"));
  CHECK(run(folder, "train run.yaml --fresh").code == 0);
  CHECK(std::filesystem::exists(folder / "runs/tiny/replaced/checkpoint-18.h5"));
}
