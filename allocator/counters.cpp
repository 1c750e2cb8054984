#include <quarry/allocator/counters.h>

namespace quarry {

void Counters::reset_peak() {
  for_each_stat(*this, [](std::string_view, Stat& stat) { stat.reset_peak(); });
}

void Counters::reset_accumulated() {
  for_each_stat(*this, [](std::string_view, Stat& stat) { stat.reset_accumulated(); });
  tallies.fill(0);
}

}  // namespace quarry
