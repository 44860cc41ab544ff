// What GPUs of other machines have drawn, by what a Prometheus server has kept of NVIDIA's
// dcgm-exporter: the energy counter where it is exported, else the power.
//
//   const Prometheus server({.url = url}, clock);
//   PJ_TRY(const RemoteEnergy drawn, remote_gpu_energy(server, {.selector = "Hostname=\"n1\"",
//                                                               .from = from, .until = until}));
//   drawn.total ...  drawn.gpus[0].energy ...
//
// A window's edges lie between two scrapes, and a scrape tells what the exporter collected up to
// `collected_every` before. So at each edge the counter is taken on the straight line between the
// scrapes around it, and is uncertain (one sigma) by
//
//   (C_after - C_before) / sqrt(12)        anywhere between the two, as a counter only rises
//   P x collected_every / sqrt(12)         its age, P being the line's slope
//
// and, as a bound, it is no less than C_before and no more than C_after. Power is summed by
// trapezoids; between two samples it may have changed at any time: |P2 - P1| dt / sqrt(12) for
// each.
//
// A counter that falls has begun anew: what it counted up to the reset since the scrape before is
// lost, and the energy a lower bound. So is one of power with a gap of more than three of its usual
// steps, or where samples on a side of an edge are missing.
//
// Series of one GPU (one UUID) are one, as the exporter begins another when a pod comes or goes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/energy.h"
#include "base/result.h"
#include "base/units.h"
#include "net/promql.h"

namespace perjoule {

struct RemoteWindow {
  std::string selector = {};  ///< labels as in PromQL, without braces; empty for every GPU
  Seconds from;               ///< since 1970, on the Prometheus server's clock
  Seconds until;
  Seconds reach = Seconds(300);  ///< how far beyond the edges samples are looked for
  Seconds collected_every =
      Seconds(30);  ///< the exporter's own interval (its -c, 30 s unless told)
};

struct RemoteGpu {
  std::string uuid;
  std::string host;  ///< the exporter's `Hostname`
  std::string model;
  Energy energy;            ///< of the board; measured, B0
  Watts power;              ///< mean over the window
  std::size_t samples = 0;  ///< within reach
  Seconds step;             ///< the usual one between two of them
  std::size_t resets = 0;   ///< of the counter, in the window
};

struct RemoteEnergy {
  Energy total;
  std::vector<RemoteGpu> gpus;     ///< by host and UUID
  std::vector<std::string> notes;  ///< what is to be known of them, the server's warnings too
};

/// A counter's energy in [from, until], its points being joules that rise with time. Missing where
/// fewer than two points are to be had, or none lies on a side of the window. O(points).
RemoteGpu energy_of_counter(const std::vector<PromPoint>& points, const RemoteWindow& window);
/// The same of power, in watts.
RemoteGpu energy_of_power(const std::vector<PromPoint>& points, const RemoteWindow& window);

/// Asks for both metrics. invalid_argument for a window that does not go forward, not_found where
/// no GPU fits the selector; else Prometheus::instant()'s errors.
Result<RemoteEnergy> remote_gpu_energy(const Prometheus& server, const RemoteWindow& window);
/// The same of two answers: of the counter (mJ) and of the power (W).
Result<RemoteEnergy> remote_gpu_energy(const PromAnswer& counters, const PromAnswer& powers,
                                       const RemoteWindow& window);

}  // namespace perjoule
