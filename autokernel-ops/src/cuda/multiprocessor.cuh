// What a multiprocessor holds at once (CUDA C++ Programming Guide, "Compute Capabilities").
#pragma once

namespace autokernel {

#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ / 100 == 8 && __CUDA_ARCH__ != 800 || __CUDA_ARCH__ >= 1100)
constexpr int kThreadsOfMultiprocessor = 1536;
#else
constexpr int kThreadsOfMultiprocessor = 2048;
#endif

// Of `blocks` of so many threads those that fit, one at least: ptxas takes launch bounds of more for a mistake.
constexpr int resident_blocks(int threads, int blocks) {
  const int fit = kThreadsOfMultiprocessor / threads;
  return blocks < fit ? blocks : fit > 1 ? fit : 1;
}

}  // namespace autokernel
