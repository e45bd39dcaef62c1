// SPDX-License-Identifier: Apache-2.0
// The run file of the README, in an empty folder with the data beside it, as a reader of that page would have it.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "support/temporary.h"

TEST_CASE("the README's run file trains where it lies") {
  using namespace strata;
  const std::string page = read_file(STRATA_SOURCE_DIR "/README.md"), fence = "```yaml\n";
  const auto begin = page.find(fence) + fence.size();
  const test::TemporaryFolder folder;
  write_file(folder / "run.yaml", page.substr(begin, page.find("```", begin) - begin));
  for (const char* name : {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"})
    std::filesystem::create_symlink(std::string("/usr/share/datasets/fashion-mnist/") + name, folder / name);
  const std::string command = "cd '" + folder.path() + "' && '" STRATA_BINARY_DIR "/strata' train run.yaml" +
                              " --set fit.epochs=1 --set fit.steps_per_epoch=2 >said.txt 2>&1";
  const int status = std::system(command.c_str());
  INFO(read_file(folder / "said.txt"));
  CHECK(status == 0);
  CHECK(exists(folder / "runs/fashion_mnist_mlp/model.weights.h5"));
}
