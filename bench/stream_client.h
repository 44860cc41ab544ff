// Those who read a round of a StreamSender: the least that a client can do, and ours.
#pragma once

#include <string>
#include <vector>

#include "serving/load/request_set.h"
#include "stream_sender.h"

namespace perjoule::bench {

/// What a round cost its reader, and by how much each chunk's stamp is behind its sending.
struct StreamReading {
  double cpu_us = 0;  ///< of the thread, for each chunk
  std::vector<double> skews_ms = {};

  double skew_ms(double share) const;  ///< the value that all but 1 - `share` do not exceed
};

/// As many descriptors as the system allows.
void allow_descriptors();
/// A request for each stream.
RequestSet stream_requests(std::size_t streams);
/// Wait and receive. With `stamps` it looks at the clock for each read, too, and knows from the
/// count of bytes which chunks that read completed.
StreamReading read_bare(const RequestSet& set, const StreamSender& sender, std::size_t round,
                        bool stamps);
/// The load generator.
StreamReading read_with_generator(const RequestSet& set, const StreamSender& sender,
                                  std::size_t round);

}  // namespace perjoule::bench
