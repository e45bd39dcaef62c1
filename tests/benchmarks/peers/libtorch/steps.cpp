// SPDX-License-Identifier: Apache-2.0
// The models of tests/benchmarks/steps.cpp in libtorch, stepped and printed the same way.
// Arguments: [model [batch [seconds [nhwc]]]]. Images lie channels first, measured faster; nhwc: channels last.
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace nn = torch::nn;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Recurrent : nn::Module {
  nn::LSTM lstm{nn::LSTMOptions(28, 128).batch_first(true)};
  nn::Linear dense{128, 10};
  Recurrent() {
    register_module("lstm", lstm);
    register_module("dense", dense);
  }
  torch::Tensor forward(torch::Tensor x) { return dense(std::get<0>(lstm->forward(x)).select(1, 27)); }
};

template <class Net>
void measure(const std::string& name, Net net, torch::Tensor x, std::int64_t classes, double seconds) {
  const std::int64_t batch = x.size(0);
  const torch::Tensor y = torch::randint(classes, {batch}, torch::kLong);
  torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(1e-3));
  std::vector<double> times;
  for (const double start = now(); now() - start < seconds || times.size() < 5;) {
    const double before = now();
    optimizer.zero_grad();
    torch::Tensor loss = nn::functional::cross_entropy(net->forward(x), y);
    loss.backward();
    optimizer.step();
    times.push_back(now() - before);
  }
  std::sort(times.begin(), times.end());
  std::printf("%s %lld %.1f %.1f\n", name.c_str(), static_cast<long long>(batch), times[times.size() / 2] * 1e6,
              times[times.size() / 10] * 1e6);
}

nn::Sequential dense_net(std::int64_t in, std::int64_t width, std::int64_t out) {
  return nn::Sequential(nn::Linear(in, width), nn::ReLU(), nn::Linear(width, width), nn::ReLU(),
                        nn::Linear(width, out));
}

nn::Conv2d same(std::int64_t in, std::int64_t out) { return nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1)); }

}  // namespace

int main(int argc, char** argv) {
  const std::string model = argc > 1 ? argv[1] : "all";
  const std::int64_t only = argc > 2 ? std::stoll(argv[2]) : 0;
  const double seconds = argc > 3 ? std::stod(argv[3]) : 1;
  const bool channels_last = argc > 4 && std::string(argv[4]) == "nhwc";
  if (const char* threads = std::getenv("OMP_NUM_THREADS")) torch::set_num_threads(std::atoi(threads));
  at::globalContext().setFlushDenormal(true);
  torch::manual_seed(1);
  auto wanted = [&](const char* name, std::int64_t batch) {
    return (model == "all" || model == name) && (only == 0 || only == batch);
  };
  for (const std::int64_t batch : {64, 128})
    if (wanted("cnn", batch)) {
      nn::Sequential net(same(1, 32), nn::ReLU(), nn::MaxPool2d(2), same(32, 64), nn::ReLU(), nn::MaxPool2d(2),
                         nn::Flatten(), nn::Linear(3136, 128), nn::ReLU(), nn::Linear(128, 10));
      torch::Tensor x = torch::rand({batch, 1, 28, 28});
      if (channels_last) {
        x = x.contiguous(at::MemoryFormat::ChannelsLast);
        for (torch::Tensor& weight : net->parameters())
          if (weight.dim() == 4) weight.set_data(weight.contiguous(at::MemoryFormat::ChannelsLast));
      }
      measure("cnn", net, x, 10, seconds);
    }
  for (const std::int64_t batch : {32, 128})
    if (wanted("mlp", batch)) measure("mlp", dense_net(784, 512, 10), torch::rand({batch, 784}), 10, seconds);
  if (wanted("lstm", 64)) measure("lstm", std::make_shared<Recurrent>(), torch::rand({64, 28, 28}), 10, seconds);
  if (wanted("toy", 4)) measure("toy", dense_net(8, 8, 4), torch::rand({4, 8}), 4, seconds);
}
