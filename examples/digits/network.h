// A small multilayer perceptron with the loops written out: enough to really learn, small enough to
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace digits {

/// A dense layer: out = relu(in * weights + bias), without the relu on the last one.
struct Layer {
  std::size_t inputs;
  std::size_t outputs;
  std::vector<float> weights;  ///< inputs x outputs, row-major
  std::vector<float> bias;
  std::vector<float> weight_momentum;
  std::vector<float> bias_momentum;
};

/// Work of one training step, counted from the shapes: what a roofline model of the step needs.
struct StepWork {
  double flop;
  double bytes;
};

class Network {
 public:
  /// `sizes` are the widths of all layers, input first. Weights are drawn by He's rule.
  Network(const std::vector<std::size_t>& sizes, std::uint64_t seed);

  /// One step of stochastic gradient descent with momentum on `batch` rows of `pixels`; the mean
  /// cross entropy before it.
  float train_step(const std::vector<float>& pixels, const std::vector<int>& labels, float rate);
  /// The most likely class of each row.
  std::vector<int> classify(const std::vector<float>& pixels, std::size_t rows);
  /// Work of a step of a network `scale` times as many weights large (widths grow by its root) on a
  /// batch `rows` times as long: three products of 2 B W flop; weights, gradients and momenta move
  /// once, activations twice.
  StepWork step_work(std::size_t batch, double scale = 1, double rows = 1) const;

 private:
  void forward(const std::vector<float>& pixels, std::size_t rows);
  void backward(std::size_t rows, float rate);

  std::vector<Layer> layers_;
  std::vector<std::vector<float>> activations_;  ///< [0] is the input
  std::vector<std::vector<float>> gradients_;    ///< of the loss by each activation
};

}  // namespace digits
