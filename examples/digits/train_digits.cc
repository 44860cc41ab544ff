// Trains a small network on handwritten digits: the workload that `make demo` measures.
//
//   perjoule run --unit step -- train_digits --epochs 30 --batch 64
//   perjoule twin run --gpu h100 -- perjoule sweep --power-limit 200:700:100 --unit step --
//   train_digits
//
//   perjoule run --unit flop -- train_digits                    # FLOP per joule
//
// It really learns (it prints the accuracy on images it has not seen). It reports a unit of work a
// step through PERJOULE_UNIT_FD: an empty line is one step; where PERJOULE_UNIT says "flop" the
// line holds the step's FLOP instead, those posted to the twin when it runs there. On the twin it
// also posts each step's FLOP and bytes, times
// --scale (a network that many times as large), to the simulated GPU; a step then ends when both
// its own arithmetic and the simulated phase have ended.
#include <dlfcn.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "network.h"

namespace {

constexpr std::size_t kPixels = 64;

struct Options {
  std::string data = DIGITS_CSV;
  int epochs = 20;
  std::size_t batch = 64;
  std::size_t width = 256;
  float rate = 0.05F;
  double scale = 1e4;  ///< what is posted to the twin is a step of a network so many times as large
  double rows = 64;    ///< on a batch so many times as long
  unsigned device = 0;
};

[[noreturn]] void usage(const char* why) {
  std::fprintf(stderr,
               "train_digits: %s\nusage: train_digits [--data FILE] [--epochs N] [--batch N] "
               "[--width N] [--rate X] "
               "[--scale X] [--rows X] [--device N]\n",
               why);
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (i + 1 >= argc) usage(("no value for " + name).c_str());
    const char* value = argv[++i];
    if (name == "--data") {
      options.data = value;
      continue;
    }
    const double number = std::atof(value);
    if (!(number > 0) && name != "--device") usage((name + " must be above 0").c_str());
    if (name == "--epochs")
      options.epochs = static_cast<int>(number);
    else if (name == "--batch")
      options.batch = static_cast<std::size_t>(number);
    else if (name == "--width")
      options.width = static_cast<std::size_t>(number);
    else if (name == "--rate")
      options.rate = static_cast<float>(number);
    else if (name == "--scale")
      options.scale = number;
    else if (name == "--rows")
      options.rows = number;
    else if (name == "--device")
      options.device = static_cast<unsigned>(number);
    else
      usage(("unknown option " + name).c_str());
  }
  return options;
}

struct Images {
  std::vector<float> pixels;  ///< kPixels a row, 0 to 1
  std::vector<int> labels;
};

Images read_images(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    std::fprintf(stderr, "train_digits: cannot read %s\n", path.c_str());
    std::exit(1);
  }
  Images images;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] < '0' || line[0] > '9') continue;  // comment and header
    std::stringstream cells(line);
    std::string cell;
    for (std::size_t i = 0; i < kPixels && std::getline(cells, cell, ','); ++i) {
      images.pixels.push_back(std::strtof(cell.c_str(), nullptr) / 16);
    }
    std::getline(cells, cell, ',');
    images.labels.push_back(std::atoi(cell.c_str()));
  }
  return images;
}

/// The simulated GPU, when the process runs on the twin; otherwise nothing.
class SimulatedGpu {
 public:
  explicit SimulatedGpu(unsigned device) : device_(device) {
    if (std::getenv("PERJOULE_TWIN") == nullptr) return;
    if (void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
      run_ = reinterpret_cast<int (*)(unsigned, double, double, double)>(
          ::dlsym(library, "perjoule_twin_run"));
    }
  }
  bool present() const { return run_ != nullptr; }
  /// Starts the simulated step; the future is ready when it has ended.
  std::future<int> start(digits::StepWork work) const {
    return std::async(std::launch::async,
                      [this, work] { return run_(device_, work.flop, work.bytes, 1.0); });
  }

 private:
  unsigned device_;
  int (*run_)(unsigned, double, double, double) = nullptr;
};

/// Tells perjoule of each step, in the unit of work that it asks for.
class StepReport {
 public:
  explicit StepReport(double flop_per_step) {
    const char* fd = std::getenv("PERJOULE_UNIT_FD");
    if (fd != nullptr) fd_ = std::atoi(fd);
    const char* unit = std::getenv("PERJOULE_UNIT");
    if (unit == nullptr || ::strncasecmp(unit, "flop", 4) != 0) return;
    char number[32];
    std::snprintf(number, sizeof(number), "%.17g\n", flop_per_step);
    line_ = number;
  }
  void step() const {
    if (fd_ >= 0) (void)!::write(fd_, line_.data(), line_.size());
  }

 private:
  int fd_ = -1;
  std::string line_ = "\n";
};

double accuracy(digits::Network& network, const Images& images) {
  const std::vector<int> found = network.classify(images.pixels, images.labels.size());
  std::size_t right = 0;
  for (std::size_t i = 0; i < found.size(); ++i) right += found[i] == images.labels[i];
  return static_cast<double>(right) / static_cast<double>(found.size());
}

/// Every fifth image is kept for the test.
void split(const Images& all, Images& train, Images& test) {
  for (std::size_t i = 0; i < all.labels.size(); ++i) {
    Images& part = i % 5 == 0 ? test : train;
    part.pixels.insert(part.pixels.end(),
                       all.pixels.begin() + static_cast<std::ptrdiff_t>(i * kPixels),
                       all.pixels.begin() + static_cast<std::ptrdiff_t>((i + 1) * kPixels));
    part.labels.push_back(all.labels[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Images train;
  Images test;
  split(read_images(options.data), train, test);
  if (train.labels.size() < options.batch) usage("--batch is larger than the training set");

  digits::Network network({kPixels, options.width, options.width, 10}, 1);
  const SimulatedGpu gpu(options.device);
  const digits::StepWork work = network.step_work(options.batch, options.scale, options.rows);
  // Without a simulated GPU the work done is the small network's own.
  const StepReport report(gpu.present() ? work.flop : network.step_work(options.batch).flop);

  std::mt19937_64 random(7);
  std::vector<std::size_t> order(train.labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<float> pixels(options.batch * kPixels);
  std::vector<int> labels(options.batch);
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), random);
    float loss = 0;
    int steps = 0;
    for (std::size_t at = 0; at + options.batch <= order.size(); at += options.batch, ++steps) {
      std::future<int> simulated;
      if (gpu.present()) simulated = gpu.start(work);
      for (std::size_t i = 0; i < options.batch; ++i) {
        const std::size_t image = order[at + i];
        std::copy_n(&train.pixels[image * kPixels], kPixels, &pixels[i * kPixels]);
        labels[i] = train.labels[image];
      }
      loss += network.train_step(pixels, labels, options.rate);
      if (simulated.valid()) simulated.wait();
      report.step();
    }
    if (epoch == options.epochs || epoch % 5 == 0) {
      std::printf("epoch %d of %d: loss %.4f, accuracy on unseen images %.1f %%\n", epoch,
                  options.epochs, static_cast<double>(loss) / steps, 100 * accuracy(network, test));
      std::fflush(stdout);
    }
  }
  return 0;
}
