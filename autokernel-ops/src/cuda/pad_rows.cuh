// The kernel that realigns operands of elements of 16 bits, or of wider ones as several: copy_rows.cuh.
#pragma once

#include "copy_rows.cuh"

extern "C" __global__ void __launch_bounds__(autokernel::pad_rows::kThreads)
    autokernel_pad_rows(const __grid_constant__ autokernel::PadRowsArgs args) {
  autokernel::ptx::wait_for_previous_grids();  // one of them may write a source, or read the memory of a target
  autokernel::pad_rows::run<uint16_t>(args.matrices[blockIdx.z]);
}
