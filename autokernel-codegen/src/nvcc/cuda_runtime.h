// What stands before every kernel, in place of the toolkit's own header of this name.
//
// nvcc includes <cuda_runtime.h> in front of each source: the host's API, the C library and every overload of every
// mathematical function, 38000 lines that are a third of the time that a kernel takes to compile. Kernels need what is
// below; one that uses more does not compile, and it is added here. The PTX is the same to the byte, which a test holds.
#pragma once

#if __CUDACC_VER_MAJOR__ != 13
// Tried with CUDA 13 alone.
#include_next <cuda_runtime.h>
#else

#include <stddef.h>
#include <stdint.h>

// The files below include the API of the host, 14000 lines of which kernels use nothing.
#define __CUDA_RUNTIME_API_H__

// `__global__` and the other attributes, `uint4`, `threadIdx` and its like.
#define __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__
#include <crt/host_defines.h>
#include <vector_types.h>
#include <vector_functions.h>
#include <device_launch_parameters.h>

// Functions that the compiler knows ("CUDA Math API", single precision; "Type Casting Intrinsics").
#define AUTOKERNEL_BUILTIN extern "C" __attribute__((device)) __attribute__((device_builtin))
AUTOKERNEL_BUILTIN void __syncthreads();
AUTOKERNEL_BUILTIN float fabsf(float);
AUTOKERNEL_BUILTIN float fminf(float, float);
AUTOKERNEL_BUILTIN float fmaxf(float, float);
AUTOKERNEL_BUILTIN float fmaf(float, float, float);
AUTOKERNEL_BUILTIN float sqrtf(float);
AUTOKERNEL_BUILTIN float expf(float);
AUTOKERNEL_BUILTIN float logf(float);
AUTOKERNEL_BUILTIN float sinf(float);
AUTOKERNEL_BUILTIN float cosf(float);
AUTOKERNEL_BUILTIN float tanhf(float);
AUTOKERNEL_BUILTIN float erff(float);
AUTOKERNEL_BUILTIN double erf(double);
AUTOKERNEL_BUILTIN float __uint_as_float(unsigned int);
AUTOKERNEL_BUILTIN unsigned int __float_as_uint(float);
AUTOKERNEL_BUILTIN float __int_as_float(int);
AUTOKERNEL_BUILTIN int __float_as_int(float);
AUTOKERNEL_BUILTIN double __hiloint2double(int, int);
AUTOKERNEL_BUILTIN int __double2hiint(double);
AUTOKERNEL_BUILTIN int __double2loint(double);
AUTOKERNEL_BUILTIN double __longlong_as_double(long long);
AUTOKERNEL_BUILTIN long long __double_as_longlong(double);
#undef AUTOKERNEL_BUILTIN

// The only overload of `min` and `max` that kernels use on integers.
__device__ __forceinline__ int min(int x, int y) { return x < y ? x : y; }
__device__ __forceinline__ int max(int x, int y) { return x > y ? x : y; }

// Shuffles, votes, cached loads, funnel shifts, addresses of shared memory.
#include <sm_20_intrinsics.h>
#include <sm_30_intrinsics.h>
#include <sm_32_intrinsics.h>
#undef __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__

#endif
