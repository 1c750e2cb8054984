#include "tensor/sim_places.h"

#include <quarry/tensor/sim_place.h>

namespace quarry::tensor_tests {

SimPlaces::SimPlaces(std::shared_ptr<sim::Device> made)
    : Places(Place::device(must(Allocator::open(made)), make_sim_executor(made))), sim(std::move(made)) {}

void SimPlaces::lag(void* stream, std::uint64_t random) {
  const std::uint64_t kind = random % 4;
  if (kind == 0) sim->hold(stream);
  if (kind == 1) sim->unhold(stream);
  if (kind == 2) sim->complete(stream);
  if (kind == 3) sim->advance(1000ull << random / 4 % 8);
}

std::string SimPlaces::hazard() {
  const std::vector<sim::Hazard> hazards = sim->take_hazards();
  return hazards.empty() ? std::string() : describe(hazards.front());
}

std::unique_ptr<Places> make_places() { return std::make_unique<SimPlaces>(); }

std::vector<const char*> place_names() { return {"host", "sim"}; }

}  // namespace quarry::tensor_tests
