#include "network.h"

#include <algorithm>
#include <cmath>

namespace digits {

Network::Network(const std::vector<std::size_t>& sizes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    Layer layer{sizes[i], sizes[i + 1], {}, {}, {}, {}};
    std::normal_distribution<float> normal(0, std::sqrt(2.0F / static_cast<float>(layer.inputs)));
    layer.weights.resize(layer.inputs * layer.outputs);
    for (float& weight : layer.weights) weight = normal(random);
    layer.bias.assign(layer.outputs, 0);
    layer.weight_momentum.assign(layer.weights.size(), 0);
    layer.bias_momentum.assign(layer.outputs, 0);
    layers_.push_back(std::move(layer));
  }
  activations_.resize(sizes.size());
  gradients_.resize(sizes.size());
}

void Network::forward(const std::vector<float>& pixels, std::size_t rows) {
  activations_[0] = pixels;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    std::vector<float>& out = activations_[l + 1];
    out.resize(rows * layer.outputs);
    for (std::size_t r = 0; r < rows; ++r) {
      float* row = &out[r * layer.outputs];
      std::copy(layer.bias.begin(), layer.bias.end(), row);
      for (std::size_t i = 0; i < layer.inputs; ++i) {
        const float x = activations_[l][r * layer.inputs + i];
        if (x == 0) continue;
        const float* weights = &layer.weights[i * layer.outputs];
        for (std::size_t o = 0; o < layer.outputs; ++o) row[o] += x * weights[o];
      }
      if (l + 1 == layers_.size()) continue;
      for (std::size_t o = 0; o < layer.outputs; ++o) row[o] = std::max(0.0F, row[o]);
    }
  }
}

float Network::train_step(const std::vector<float>& pixels, const std::vector<int>& labels,
                          float rate) {
  const std::size_t rows = labels.size();
  forward(pixels, rows);
  std::vector<float>& scores = activations_.back();
  const std::size_t classes = layers_.back().outputs;
  std::vector<float>& gradient = gradients_.back();
  gradient.resize(scores.size());
  float loss = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    float* row = &scores[r * classes];
    const float largest = *std::max_element(row, row + classes);
    float sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(row[c] - largest);
    for (std::size_t c = 0; c < classes; ++c) {
      const float probability = std::exp(row[c] - largest) / sum;
      const bool right = static_cast<int>(c) == labels[r];
      if (right) loss -= std::log(std::max(probability, 1e-12F));
      gradient[r * classes + c] = (probability - (right ? 1.0F : 0.0F)) / static_cast<float>(rows);
    }
  }
  backward(rows, rate);
  return loss / static_cast<float>(rows);
}

void Network::backward(std::size_t rows, float rate) {
  constexpr float kMomentum = 0.9F;
  for (std::size_t l = layers_.size(); l-- > 0;) {
    Layer& layer = layers_[l];
    const std::vector<float>& in = activations_[l];
    const std::vector<float>& out_gradient = gradients_[l + 1];
    std::vector<float>& in_gradient = gradients_[l];
    in_gradient.assign(rows * layer.inputs, 0);
    for (float& momentum : layer.weight_momentum) momentum *= kMomentum;
    for (float& momentum : layer.bias_momentum) momentum *= kMomentum;
    for (std::size_t r = 0; r < rows; ++r) {
      const float* d_out = &out_gradient[r * layer.outputs];
      for (std::size_t o = 0; o < layer.outputs; ++o) layer.bias_momentum[o] += d_out[o];
      for (std::size_t i = 0; i < layer.inputs; ++i) {
        const float x = in[r * layer.inputs + i];
        const float* weights = &layer.weights[i * layer.outputs];
        float* momentum = &layer.weight_momentum[i * layer.outputs];
        float back = 0;
        for (std::size_t o = 0; o < layer.outputs; ++o) {
          back += d_out[o] * weights[o];
          momentum[o] += x * d_out[o];
        }
        in_gradient[r * layer.inputs + i] = l == 0 || x > 0 ? back : 0;
      }
    }
    for (std::size_t i = 0; i < layer.weights.size(); ++i)
      layer.weights[i] -= rate * layer.weight_momentum[i];
    for (std::size_t o = 0; o < layer.outputs; ++o) layer.bias[o] -= rate * layer.bias_momentum[o];
  }
}

std::vector<int> Network::classify(const std::vector<float>& pixels, std::size_t rows) {
  forward(pixels, rows);
  const std::size_t classes = layers_.back().outputs;
  std::vector<int> best(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    const float* row = &activations_.back()[r * classes];
    best[r] = static_cast<int>(std::max_element(row, row + classes) - row);
  }
  return best;
}

StepWork Network::step_work(std::size_t batch, double scale, double rows) const {
  double weights = 0;
  double values = 0;
  for (const Layer& layer : layers_) {
    weights += scale * static_cast<double>(layer.inputs * layer.outputs);
    values += std::sqrt(scale) * static_cast<double>(layer.inputs + layer.outputs);
  }
  const double length = rows * static_cast<double>(batch);
  constexpr double kBytes = sizeof(float);
  return {6 * length * weights, kBytes * (4 * weights + 4 * length * values)};
}

}  // namespace digits
