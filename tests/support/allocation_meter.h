#pragma once

#include <cstddef>

namespace edgefx::test {

// Counts what operator new hands out in this program, to find allocations that a damaged file asks for.
class AllocationMeter {
 public:
  // Starts at zero above what is held now.
  AllocationMeter();
  // The most bytes held at once since then, above what was held at the start.
  size_t peak() const;

 private:
  size_t base_;
};

// Bytes of memory that the process has in use now, from the kernel.
size_t residentBytes();

}  // namespace edgefx::test
